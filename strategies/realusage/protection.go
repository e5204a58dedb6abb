package realusage

import (
	"context"
	"encoding/json"
	"math"
	"strings"

	"github.com/go-logr/logr/funcr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/defaultevictor"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"
)

// protection returns the DefaultEvictor checks that a pod fails, in the
// DefaultEvictor's words; empty if unknown. The DefaultEvictor only logs them,
// so this builds one whose log it can read.
func protection(ctx context.Context, args runtime.Object, handle frameworktypes.Handle, pod *v1.Pod) string {
	given, ok := args.(*defaultevictor.DefaultEvictorArgs)
	if !ok {
		return ""
	}
	given = given.DeepCopy()
	given.NamespaceLabelSelector = nil // Filter does not check it, and it would add an index to the watch
	var logged struct{ Checks string }
	logger := funcr.NewJSON(func(line string) { _ = json.Unmarshal([]byte(line), &logged) }, funcr.Options{Verbosity: math.MaxInt})
	built, err := defaultevictor.New(klog.NewContext(ctx, logger), given, handle)
	if err != nil {
		return ""
	}
	filter, ok := built.(frameworktypes.EvictorPlugin)
	if !ok || filter.Filter(pod) {
		return ""
	}
	return strings.Trim(logged.Checks, "[]")
}
