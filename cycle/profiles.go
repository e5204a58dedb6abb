package cycle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/descheduler/evictions"
	nodeutil "sigs.k8s.io/descheduler/pkg/descheduler/node"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"
	"sigs.k8s.io/descheduler/pkg/features"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	frameworkprofile "sigs.k8s.io/descheduler/pkg/framework/profile"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"

	"github.com/evenkeel/evenkeel/strategies/hosted"
	"github.com/evenkeel/evenkeel/strategies/plugin"
)

// turn is one step of a cycle. It belongs either to one planning plugin, which is a
// strategy or an upstream plugin whose evictions are planned, or to a series of other
// upstream plugins of a profile. Such a plugin in dry run has its own turn.
type turn struct {
	profile string
	// planner is nil in a turn of upstream plugins that evict by themselves. evicts runs
	// these.
	planner *plugin.Plugin
	evicts  upstreamPlugins
	// dryRun reports whether it is the turn of a plugin in dry run.
	dryRun bool
}

// upstreamPlugins runs upstream plugins that evict by themselves.
type upstreamPlugins func(context.Context, []*v1.Node) *frameworktypes.Status

// PodsOnNode indexes pods by node. It must be called only once for the same informers.
func PodsOnNode(factory informers.SharedInformerFactory) (podutil.GetPodsAssignedToNodeFunc, error) {
	find, err := podutil.BuildGetPodsAssignedToNodeFunc(factory.Core().V1().Pods().Informer())
	if err != nil {
		return nil, fmt.Errorf("indexing pods by node: %w", err)
	}
	return find, nil
}

// New builds the profiles and requests the informers of the enabled plugins.
func New(ctx context.Context, config Config) (*Runner, error) {
	if config.Policy == nil || config.Evictor == nil || config.Executor == nil || config.Client == nil || config.Informers == nil ||
		config.PodsOnNode == nil || config.DryRunClient == nil || config.BeginDryRun == nil || config.Total == nil || config.Now == nil {
		return nil, errors.New("cycle: Policy, Evictor, Executor, Client, DryRunClient, BeginDryRun, Informers, PodsOnNode, Total and Now must be set")
	}
	selector, err := NodeSelector(config.Policy.NodeSelector)
	if err != nil {
		return nil, err
	}
	r := &Runner{config: config, selector: selector}
	r.client, r.dryRunClient = config.Client(r.place), config.DryRunClient(r.place)
	if r.providers, err = newProviders(config, r.client, selector); err != nil {
		return nil, err
	}
	pods := config.Informers.Core().V1().Pods().Informer()
	r.podEvictor, err = evictions.NewPodEvictor(ctx, r.client, config.Events, pods, features.DefaultMutableFeatureGate, r.options(config.DryRun))
	if err != nil {
		return nil, fmt.Errorf("making the pod evictor: %w", err)
	}
	r.dryRun, err = evictions.NewPodEvictor(ctx, r.dryRunClient, &events.FakeRecorder{}, pods, features.DefaultMutableFeatureGate, r.options(true))
	if err != nil {
		return nil, fmt.Errorf("making the pod evictor of plugins in dry run: %w", err)
	}
	var balance []turn
	for i := range config.Policy.Profiles {
		first, then, err := r.build(ctx, fmt.Sprintf("%s-%d", config.Instance, i), &config.Policy.Profiles[i])
		if err != nil {
			return nil, fmt.Errorf("building profile %q: %w", config.Policy.Profiles[i].Name, err)
		}
		r.turns, balance = append(r.turns, first...), append(balance, then...)
	}
	r.turns = append(r.turns, balance...)
	return r, nil
}

// build returns the turns of a profile: those of its Deschedule plugins, and those of its
// Balance plugins, each in the policy's order. The framework runs the upstream plugins
// that evict. It also builds the planning plugins, in order to provide their arguments
// and filters, but only the cycle runs those. If upstream plugins evict both before and
// after a planning plugin, each side has its own framework profile.
func (r *Runner) build(ctx context.Context, instance string, p *api.DeschedulerProfile) (deschedule, balance []turn, err error) {
	planners := map[string]*plugin.Plugin{}
	registry := r.planning(p.Name, planners)
	evicts := func(name string) bool { return !r.plans(name) }
	planning := *p // it evicts nothing
	planning.Plugins.Deschedule.Enabled = slices.DeleteFunc(slices.Clone(p.Plugins.Deschedule.Enabled), evicts)
	planning.Plugins.Balance.Enabled = slices.DeleteFunc(slices.Clone(p.Plugins.Balance.Enabled), evicts)
	if _, err := r.framework(ctx, instance, planning, registry, r.unevicted(r.config.PodsOnNode), true); err != nil {
		return nil, nil, err
	}
	built := 0
	alone := func(name string) bool { return r.plans(name) || r.inDryRun(name) }
	split := func(enabled []string, evicting func(names []string, dryRun bool) (upstreamPlugins, error)) (turns []turn, err error) {
		for left := enabled; len(left) > 0; {
			n, next := slices.IndexFunc(left, alone), turn{profile: p.Name, planner: planners[left[0]], dryRun: r.inDryRun(left[0])}
			switch {
			case n < 0:
				n = len(left)
			case n == 0:
				n = 1
			}
			if next.planner == nil {
				if next.evicts, err = evicting(slices.Clip(left[:n]), next.dryRun); err != nil { // the framework appends to it
					return nil, err
				}
			}
			turns, left = append(turns, next), left[n:]
		}
		return turns, nil
	}
	framework := func(deschedule, balance []string, dryRun bool) (upstreamProfile, error) {
		some := *p
		some.Plugins.Deschedule.Enabled, some.Plugins.Balance.Enabled = deschedule, balance
		built++
		return r.framework(ctx, fmt.Sprintf("%s-%d", instance, built), some, registry, r.unsupposed(r.unevicted(r.config.PodsOnNode)), dryRun)
	}
	deschedule, err = split(p.Plugins.Deschedule.Enabled, func(names []string, dryRun bool) (upstreamPlugins, error) {
		runs, err := framework(names, nil, dryRun)
		if err != nil {
			return nil, err
		}
		return runs.RunDeschedulePlugins, nil
	})
	if err != nil {
		return nil, nil, err
	}
	balance, err = split(p.Plugins.Balance.Enabled, func(names []string, dryRun bool) (upstreamPlugins, error) {
		runs, err := framework(nil, names, dryRun)
		if err != nil {
			return nil, err
		}
		return runs.RunBalancePlugins, nil
	})
	return deschedule, balance, err
}

// inDryRun reports whether the policy's dryRunPlugins name a plugin.
func (r *Runner) inDryRun(name string) bool { return slices.Contains(r.config.DryRunPlugins, name) }

// upstreamProfile runs the upstream plugins of a profile that evict by themselves.
type upstreamProfile interface {
	RunDeschedulePlugins(ctx context.Context, nodes []*v1.Node) *frameworktypes.Status
	RunBalancePlugins(ctx context.Context, nodes []*v1.Node) *frameworktypes.Status
}

// framework builds a profile of the framework.
func (r *Runner) framework(
	ctx context.Context, instance string, p api.DeschedulerProfile, registry pluginregistry.Registry, assigned podutil.GetPodsAssignedToNodeFunc, dryRun bool,
) (upstreamProfile, error) {
	client, podEvictor := r.client, r.podEvictor
	if dryRun {
		client, podEvictor = r.dryRunClient, r.dryRun
	}
	return frameworkprofile.NewProfile(ctx, p, registry, //nolint:wrapcheck // the caller says which profile
		frameworkprofile.WithClientSet(client),
		frameworkprofile.WithSharedInformerFactory(r.config.Informers),
		frameworkprofile.WithPodEvictor(podEvictor),
		frameworkprofile.WithGetPodsAssignedToNodeFnc(assigned),
		frameworkprofile.WithMetricsCollector(r.providers.collector),
		frameworkprofile.WithPrometheusClient(r.providers.clients()),
		frameworkprofile.WithProfileInstanceID(instance))
}

// plans reports whether Evenkeel plans a plugin's moves. Other plugins evict by
// themselves.
func (r *Runner) plans(name string) bool {
	_, ours := r.config.Registry[name].PluginType.(*plugin.Plugin)
	return ours || r.config.Landings && hosted.Plans(name)
}

// planning returns a registry in which planning plugins can be built for a profile, and
// which collects them.
func (r *Runner) planning(profile string, built map[string]*plugin.Plugin) pluginregistry.Registry {
	registry := maps.Clone(r.config.Registry)
	for name, utilities := range registry {
		if !r.plans(name) {
			continue
		}
		upstream := utilities.PluginBuilder
		deps := plugin.Deps{Half: r.config.Evictor, Profile: profile, Options: r.config.Options, DryRun: r.inDryRun(name)}
		utilities.PluginBuilder = func(ctx context.Context, args runtime.Object, handle frameworktypes.Handle) (frameworktypes.Plugin, error) {
			var p *plugin.Plugin
			var err error
			if hosted.Plans(name) {
				p, err = hosted.New(ctx, name, upstream, args, handle, deps)
			} else {
				p, err = plugin.New(args, handle, deps)
			}
			if err != nil {
				return nil, err
			}
			built[name] = p
			return neverRun{p}, nil
		}
		registry[name] = utilities
	}
	return registry
}

// neverRun lets the framework build a planning plugin as a Deschedule or a Balance
// plugin. The framework never runs it.
type neverRun struct{ *plugin.Plugin }

// Deschedule implements frameworktypes.DeschedulePlugin.
func (n neverRun) Deschedule(ctx context.Context, nodes []*v1.Node) *frameworktypes.Status {
	return n.Balance(ctx, nodes)
}

// options returns the options of the framework's evictor for upstream plugins. They
// contain no limits, because Evenkeel's client enforces the policy's limits, counting its
// own moves as well.
func (r *Runner) options(dryRun bool) *evictions.Options {
	p := r.config.Policy
	return evictions.NewOptions().
		WithPolicyGroupVersion("policy/v1").
		WithEvictionFailureEventNotification(p.EvictionFailureEventNotification).
		WithGracePeriodSeconds(p.GracePeriodSeconds).
		WithDryRun(dryRun).
		WithMetricsEnabled(true)
}

// unevicted hides the pods that were evicted in this cycle, because the watch may not
// have reported their eviction yet, and in a dry run never will.
func (r *Runner) unevicted(assigned podutil.GetPodsAssignedToNodeFunc) podutil.GetPodsAssignedToNodeFunc {
	if r.config.Evicted == nil {
		return assigned
	}
	return without(r.config.Evicted, assigned)
}

// unsupposed hides the pods of moves that are not made in a preview from the plugins that
// evict by themselves. Planning plugins get these moves as supposed ones.
func (r *Runner) unsupposed(assigned podutil.GetPodsAssignedToNodeFunc) podutil.GetPodsAssignedToNodeFunc {
	return without(func(podUID string) bool { return r.hidden[podUID] }, assigned)
}

// without hides pods.
func without(hidden func(podUID string) bool, assigned podutil.GetPodsAssignedToNodeFunc) podutil.GetPodsAssignedToNodeFunc {
	return func(node string, filter podutil.FilterFunc) ([]*v1.Pod, error) {
		pods, err := assigned(node, filter)
		if err != nil {
			return nil, err
		}
		return slices.DeleteFunc(pods, func(pod *v1.Pod) bool { return hidden(string(pod.UID)) }), nil
	}
}

// Collect reads metrics.k8s.io until the context ends, if the policy asks for
// it.
func (r *Runner) Collect(ctx context.Context) {
	if r.providers.collector != nil {
		r.providers.collector.Run(ctx)
	}
}

// NodeSelector parses a policy's nodeSelector; nil selects all nodes.
func NodeSelector(text *string) (labels.Selector, error) {
	selector, err := labels.Parse(ptr.Deref(text, ""))
	if err != nil {
		return nil, fmt.Errorf("reading nodeSelector %q: %w", *text, err)
	}
	return selector, nil
}

// ReadyNodes returns the nodes that a cycle handles, ordered by name.
func ReadyNodes(from listers.NodeLister, selector labels.Selector) ([]*v1.Node, error) {
	nodes, err := from.List(selector)
	if err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	ready := slices.DeleteFunc(nodes, func(node *v1.Node) bool { return !nodeutil.IsReady(node) })
	slices.SortFunc(ready, func(a, b *v1.Node) int { return strings.Compare(a.Name, b.Name) })
	return ready, nil
}
