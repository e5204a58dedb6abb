package realusage

import (
	"context"
	"strings"

	"github.com/go-logr/logr"
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
	heard := &listener{}
	built, err := defaultevictor.New(klog.NewContext(ctx, logr.New(heard)), given, handle)
	if err != nil {
		return ""
	}
	filter, ok := built.(frameworktypes.EvictorPlugin)
	if !ok || filter.Filter(pod) {
		return ""
	}
	return strings.Trim(heard.checks, "[]")
}

// listener is a log that keeps the checks that it is told of.
type listener struct{ checks string }

var _ logr.LogSink = (*listener)(nil)

// Init implements logr.LogSink.
func (*listener) Init(logr.RuntimeInfo) {}

// Enabled implements logr.LogSink.
func (*listener) Enabled(int) bool { return true }

// Info implements logr.LogSink.
func (l *listener) Info(_ int, _ string, keysAndValues ...any) {
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		if checks, ok := keysAndValues[i+1].(string); ok && keysAndValues[i] == "checks" {
			l.checks = checks
		}
	}
}

// Error implements logr.LogSink.
func (*listener) Error(error, string, ...any) {}

// WithValues implements logr.LogSink.
func (l *listener) WithValues(...any) logr.LogSink { return l }

// WithName implements logr.LogSink.
func (l *listener) WithName(string) logr.LogSink { return l }
