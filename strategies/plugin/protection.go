package plugin

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

	"github.com/evenkeel/evenkeel/reasons"
)

// namespaceRefused is the DefaultEvictor's message when its namespaceLabelSelector
// refuses a pod.
const namespaceRefused = "pod namespace do not match the namespaceLabelSelector filter in the policy parameter"

// protection returns the DefaultEvictor checks that refused a pod, as the DefaultEvictor
// words them; empty if unknown.
func (p *Plugin) protection(ctx context.Context, refused reasons.Reason, args runtime.Object, pod *v1.Pod) string {
	given, ok := args.(*defaultevictor.DefaultEvictorArgs)
	if !ok || refused != reasons.ProtectedByDefaultEvictor && refused != reasons.PreEvictionFilter {
		return ""
	}
	var said words
	filter := listen(ctx, given, p.handle, &said)
	switch {
	case filter == nil:
		return ""
	case refused == reasons.ProtectedByDefaultEvictor && !filter.Filter(pod):
		return strings.Trim(said.Checks, "[]")
	case refused == reasons.PreEvictionFilter && !filter.PreEvictionFilter(pod):
		return said.Msg
	case refused == reasons.PreEvictionFilter && given.NamespaceLabelSelector != nil:
		return namespaceRefused // listen leaves out only this check
	}
	return ""
}

// words holds the DefaultEvictor's last log message.
type words struct{ Checks, Msg string }

// listen builds a DefaultEvictor and captures its log, because the log is the only place
// where it states why it refuses a pod. This DefaultEvictor does not check namespaces,
// because that would add an index to the watch. listen returns nil if it cannot build
// one.
func listen(ctx context.Context, args *defaultevictor.DefaultEvictorArgs, handle frameworktypes.Handle, said *words) frameworktypes.EvictorPlugin {
	args = args.DeepCopy()
	args.NamespaceLabelSelector = nil
	logger := funcr.NewJSON(func(line string) { _ = json.Unmarshal([]byte(line), said) }, funcr.Options{Verbosity: math.MaxInt})
	built, err := defaultevictor.New(klog.NewContext(ctx, logger), args, handle)
	if err != nil {
		return nil
	}
	filter, _ := built.(frameworktypes.EvictorPlugin)
	return filter
}
