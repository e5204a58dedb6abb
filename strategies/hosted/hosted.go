// Package hosted plans the evictions of descheduler plugins. Such a plugin selects the
// pods that it would evict, but not where their replacements would go. This package moves
// a pod only if kube-scheduler's own filters and scores would place its replacement on
// another node, and if the plugin would then ask for fewer evictions. Otherwise the pod
// stays, and the reason is reported. This prevents pods from being evicted again and
// again although there is no better place for them.
package hosted

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/descheduler/evictions"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/nodeutilization"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/removeduplicates"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/removepodsviolatinginterpodantiaffinity"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/removepodsviolatingnodeaffinity"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/removepodsviolatingtopologyspreadconstraint"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/strategies/plugin"
)

// rule defines how the evictions of a plugin are judged.
type rule struct {
	// byOwner reports whether the plugin compares the pods of an owner, so that the
	// number of an owner's pods that it asks for measures the violation. Otherwise it
	// compares nodes.
	byOwner bool
	// fills reports whether the plugin fills nodes instead of relieving them.
	fills bool
}

// rules lists the plugins whose evictions must lead to a better place. Other plugins
// evict even if there is no better place: RemovePodsViolatingNodeTaints because the node
// is closed to the pod, RemovePodsHavingTooManyRestarts and PodLifeTime because their
// purpose is a new pod, and RemoveFailedPods because the pod no longer runs. For them a
// destination is only a preference.
var rules = map[string]rule{
	nodeutilization.LowNodeUtilizationPluginName:           {},
	nodeutilization.HighNodeUtilizationPluginName:          {fills: true},
	removeduplicates.PluginName:                            {byOwner: true},
	removepodsviolatinginterpodantiaffinity.PluginName:     {byOwner: true},
	removepodsviolatingnodeaffinity.PluginName:             {byOwner: true},
	removepodsviolatingtopologyspreadconstraint.PluginName: {byOwner: true},
}

// Plans reports whether the evictions of a descheduler plugin are planned.
func Plans(name string) bool {
	_, plans := rules[name]
	return plans
}

// Among reports whether a policy enables a plugin whose evictions are planned.
func Among(policy *api.DeschedulerPolicy) bool {
	return slices.ContainsFunc(policy.Profiles, func(p api.DeschedulerProfile) bool {
		return slices.ContainsFunc(p.Plugins.Deschedule.Enabled, Plans) || slices.ContainsFunc(p.Plugins.Balance.Enabled, Plans)
	})
}

// Plugin is a descheduler plugin whose evictions are planned.
type Plugin struct {
	name string
	rule rule
	run  func(ctx context.Context, nodes []*v1.Node) *frameworktypes.Status
	// assigned finds the pods that are on a node according to the watch, without planned
	// moves.
	assigned podutil.GetPodsAssignedToNodeFunc

	mu    sync.Mutex // a cycle and an explanation may plan concurrently
	world world      // what the plugin sees
	asked []ask      // what it has asked for
}

// ask is a pod that the plugin asks to evict, and the reason, if it gives one.
type ask struct {
	pod *v1.Pod
	why string
}

// world is the hypothetical cluster that the plugin sees: some pods are gone, and
// replacements are on other nodes.
type world struct {
	gone    map[types.UID]bool
	arrived map[string][]*v1.Pod
	// stays holds the pods whose evictions fail. want decides the same about a pod that
	// the plugin asks for; nil lets all others go.
	stays map[types.UID]bool
	want  func(context.Context, ask) (goes bool)
}

var _ plugin.Planner = (*Plugin)(nil)

// New builds a descheduler plugin on a handle that evicts nothing. It returns the plugin
// that plans its evictions.
func New(
	ctx context.Context, name string, build pluginregistry.PluginBuilder, args runtime.Object, given frameworktypes.Handle, deps plugin.Deps,
) (*plugin.Plugin, error) {
	p := &Plugin{name: name, rule: rules[name], assigned: given.GetPodsAssignedToNodeFunc(), world: world{gone: map[types.UID]bool{}}}
	built, err := build(quietly(ctx), args, handle{given, p})
	if err != nil {
		return nil, err
	}
	switch runs := built.(type) {
	case frameworktypes.BalancePlugin:
		p.run = runs.Balance
	case frameworktypes.DeschedulePlugin:
		p.run = runs.Deschedule
	default:
		return nil, fmt.Errorf("plugin %q neither deschedules nor balances", name)
	}
	return plugin.Of(p, given, deps)
}

// Describe implements plugin.Planner.
func (p *Plugin) Describe() policy.StrategyDescription {
	return policy.StrategyDescription{Name: p.name, Hosted: true}
}

// ask returns the pods that the plugin would evict in a world, each of them once.
func (p *Plugin) ask(ctx context.Context, in world, nodes []*v1.Node) ([]ask, error) {
	p.world, p.asked = in, nil
	defer func() { p.world, p.asked = world{}, nil }()
	if status := p.run(quietly(ctx), nodes); status != nil && status.Err != nil {
		return nil, fmt.Errorf("plugin %q finished with error: %w", p.name, status.Err)
	}
	return p.asked, nil
}

// handle is the framework's handle as the plugin sees it.
type handle struct {
	frameworktypes.Handle

	plugin *Plugin
}

// Evictor implements frameworktypes.Handle.
func (h handle) Evictor() frameworktypes.Evictor { return asking{h.Handle.Evictor(), h.plugin} }

// GetPodsAssignedToNodeFunc implements frameworktypes.Handle.
func (h handle) GetPodsAssignedToNodeFunc() podutil.GetPodsAssignedToNodeFunc {
	assigned := h.Handle.GetPodsAssignedToNodeFunc()
	return func(node string, filter podutil.FilterFunc) ([]*v1.Pod, error) {
		in := &h.plugin.world
		stays := func(pod *v1.Pod) bool { return !in.gone[pod.UID] && (filter == nil || filter(pod)) }
		pods, err := assigned(node, stays)
		if err != nil {
			return nil, err
		}
		for _, pod := range in.arrived[node] {
			if stays(pod) {
				pods = append(pods, pod)
			}
		}
		// The order makes plugins choose the same one of several similar pods in plan, explain and a
		// cycle.
		slices.SortFunc(pods, func(a, b *v1.Pod) int {
			return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
		})
		return pods, nil
	}
}

// asking records the pods that the plugin would evict. They then count as gone, as they
// would once the watch had shown their eviction, unless they stay: then the eviction fails.
type asking struct {
	frameworktypes.Evictor

	plugin *Plugin
}

var (
	errNoUID = errors.New("the pod has no UID")
	errStays = errors.New("the pod stays")
)

// Evict implements frameworktypes.Evictor.
func (a asking) Evict(ctx context.Context, pod *v1.Pod, options evictions.EvictOptions) error {
	in := &a.plugin.world
	switch {
	case pod.UID == "":
		return errNoUID
	case in.stays[pod.UID]:
		return errStays
	case in.gone[pod.UID]:
		return nil
	}
	asked := ask{pod, options.Reason}
	a.plugin.asked = append(a.plugin.asked, asked)
	if in.want != nil && !in.want(ctx, asked) {
		in.stays[pod.UID] = true
		return errStays
	}
	in.gone[pod.UID] = true
	return nil
}

// quiet drops what a plugin logs about pods that stay, because the plan reports them.
type quiet struct{ logr.LogSink }

func quietly(ctx context.Context) context.Context {
	logger := klog.FromContext(ctx)
	if logger.GetSink() == nil {
		return ctx
	}
	return klog.NewContext(ctx, logger.WithSink(quiet{logger.GetSink()}))
}

// Error implements logr.LogSink.
func (q quiet) Error(err error, words string, values ...any) {
	if !errors.Is(err, errStays) {
		q.LogSink.Error(err, words, values...)
	}
}

// WithValues implements logr.LogSink.
func (q quiet) WithValues(values ...any) logr.LogSink { return quiet{q.LogSink.WithValues(values...)} }

// WithName implements logr.LogSink.
func (q quiet) WithName(name string) logr.LogSink { return quiet{q.LogSink.WithName(name)} }
