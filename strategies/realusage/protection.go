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

// protection returns which checks of the DefaultEvictor a pod fails, in the
// DefaultEvictor's words; empty where it does not say. The DefaultEvictor tells
// them to its log alone, so one of its own is asked that logs to here.
func protection(ctx context.Context, args runtime.Object, handle frameworktypes.Handle, pod *v1.Pod) string {
	given, ok := args.(*defaultevictor.DefaultEvictorArgs)
	if !ok {
		return ""
	}
	given = given.DeepCopy()
	given.NamespaceLabelSelector = nil // no check of Filter's, and it would add an index to the watch
	var heard struct{ Checks string }
	logger := funcr.NewJSON(func(line string) { _ = json.Unmarshal([]byte(line), &heard) }, funcr.Options{Verbosity: math.MaxInt})
	built, err := defaultevictor.New(klog.NewContext(ctx, logger), given, handle)
	if err != nil {
		return ""
	}
	filter, ok := built.(frameworktypes.EvictorPlugin)
	if !ok || filter.Filter(pod) {
		return ""
	}
	return strings.Trim(heard.Checks, "[]")
}
