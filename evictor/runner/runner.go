// Package runner runs descheduling cycles: it builds the descheduler
// framework's profiles from a DeschedulerPolicy once and runs all their plugins
// per cycle. It works as upstream's own runner does, but with Evenkeel's
// informers, clientset and pace. Schedule decides when to run, the plugins what
// to evict, the evictor how.
package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/descheduler/pkg/descheduler/evictions"
	nodeutil "sigs.k8s.io/descheduler/pkg/descheduler/node"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"
	"sigs.k8s.io/descheduler/pkg/features"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	"sigs.k8s.io/descheduler/pkg/framework/profile"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"
)

// Runner runs cycles, one at a time.
type Runner struct {
	config     Config
	selector   labels.Selector
	podEvictor *evictions.PodEvictor
	providers  *providers
	profiles   []runnable
}

type runnable struct {
	name string
	plugins
}

// plugins are a profile's plugins as the framework runs them.
type plugins interface {
	RunDeschedulePlugins(ctx context.Context, nodes []*v1.Node) *frameworktypes.Status
	RunBalancePlugins(ctx context.Context, nodes []*v1.Node) *frameworktypes.Status
}

// PodsOnNode indexes pods by node. Call it only once for the same informers.
func PodsOnNode(factory informers.SharedInformerFactory) (podutil.GetPodsAssignedToNodeFunc, error) {
	find, err := podutil.BuildGetPodsAssignedToNodeFunc(factory.Core().V1().Pods().Informer())
	if err != nil {
		return nil, fmt.Errorf("indexing pods by node: %w", err)
	}
	return find, nil
}

// New builds the profiles and requests the informers of the enabled plugins.
func New(ctx context.Context, config Config) (*Runner, error) {
	if config.Policy == nil || config.Client == nil || config.Informers == nil || config.PodsOnNode == nil || config.Total == nil || config.Now == nil {
		return nil, errors.New("runner: Policy, Client, Informers, PodsOnNode, Total and Now must be set")
	}
	selector, err := NodeSelector(config.Policy.NodeSelector)
	if err != nil {
		return nil, err
	}
	r := &Runner{config: config, selector: selector}
	if r.providers, err = newProviders(config, selector); err != nil {
		return nil, err
	}
	pods := config.Informers.Core().V1().Pods().Informer()
	r.podEvictor, err = evictions.NewPodEvictor(ctx, config.Client, config.Events, pods, features.DefaultMutableFeatureGate, r.options())
	if err != nil {
		return nil, fmt.Errorf("making the pod evictor: %w", err)
	}
	for i, p := range config.Policy.Profiles {
		built, err := profile.NewProfile(ctx, p, inProfile(config.Registry, p.Name),
			profile.WithClientSet(config.Client),
			profile.WithSharedInformerFactory(config.Informers),
			profile.WithPodEvictor(r.podEvictor),
			profile.WithGetPodsAssignedToNodeFnc(r.unevicted(config.PodsOnNode)),
			profile.WithMetricsCollector(r.providers.collector),
			profile.WithPrometheusClient(r.providers.clients()),
			profile.WithProfileInstanceID(fmt.Sprintf("%s-%d", config.Instance, i)))
		if err != nil {
			return nil, fmt.Errorf("building profile %q: %w", p.Name, err)
		}
		r.profiles = append(r.profiles, runnable{p.Name, built})
	}
	return r, nil
}

// options are those of the framework's evictor for upstream's plugins. The limits of
// the policy are kept behind it, where moves of ours count as well.
func (r *Runner) options() *evictions.Options {
	p := r.config.Policy
	return evictions.NewOptions().
		WithPolicyGroupVersion("policy/v1").
		WithEvictionFailureEventNotification(p.EvictionFailureEventNotification).
		WithGracePeriodSeconds(p.GracePeriodSeconds).
		WithDryRun(r.config.DryRun).
		WithMetricsEnabled(true)
}

// inProfile returns a registry whose plugins can ask their handle for the name of
// their profile.
func inProfile(registry pluginregistry.Registry, name string) pluginregistry.Registry {
	in := maps.Clone(registry)
	for plugin, utilities := range in {
		build := utilities.PluginBuilder
		utilities.PluginBuilder = func(ctx context.Context, args runtime.Object, handle frameworktypes.Handle) (frameworktypes.Plugin, error) {
			return build(ctx, args, named{handle, name})
		}
		in[plugin] = utilities
	}
	return in
}

// named is a handle that knows the profile.
type named struct {
	frameworktypes.Handle
	profile string
}

func (n named) ProfileName() string { return n.profile }

// unevicted hides the pods that were evicted in this cycle: the watch may not
// have reported them yet, and in a dry run never will.
func (r *Runner) unevicted(assigned podutil.GetPodsAssignedToNodeFunc) podutil.GetPodsAssignedToNodeFunc {
	if r.config.Evicted == nil {
		return assigned
	}
	return func(node string, filter podutil.FilterFunc) ([]*v1.Pod, error) {
		pods, err := assigned(node, filter)
		if err != nil {
			return nil, err
		}
		return slices.DeleteFunc(pods, func(pod *v1.Pod) bool { return r.config.Evicted(string(pod.UID)) }), nil
	}
}

// Collect reads metrics.k8s.io until the context ends, if the policy asks for
// it.
func (r *Runner) Collect(ctx context.Context) {
	if r.providers.collector != nil {
		r.providers.collector.Run(ctx)
	}
}

// Cycle runs all Deschedule plugins of all profiles and then all Balance
// plugins. An error in one plugin does not stop the others.
func (r *Runner) Cycle(ctx context.Context) error {
	if err := r.providers.ready(ctx); err != nil {
		r.config.Metrics.NotBegun()
		return err
	}
	started := r.config.Now()
	r.podEvictor.ResetCounters()
	nodes, err := ReadyNodes(r.config.Informers.Core().V1().Nodes().Lister(), r.selector)
	if err != nil {
		return err
	}
	logger := klog.FromContext(ctx)
	if len(nodes) < 2 {
		logger.Info("Cycle skipped, it needs two ready nodes", "readyNodes", len(nodes))
		return nil
	}
	var errs []error
	for _, p := range r.profiles {
		errs = append(errs, p.run(ctx, nodes, p.RunDeschedulePlugins))
	}
	for _, p := range r.profiles {
		errs = append(errs, p.run(ctx, nodes, p.RunBalancePlugins))
	}
	err = errors.Join(errs...)
	took := r.config.Now().Sub(started)
	r.config.Metrics.cycle(took, err)
	evicted := "evicted"
	if r.config.DryRun {
		evicted = "wouldEvict"
	}
	logger.Info("Cycle ended", "duration", took, evicted, r.config.Total(), "failed", err != nil)
	return err
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

// run runs the profile's plugins of one extension point. A plugin that panics on
// its arguments fails the profile, not the process.
func (r *runnable) run(ctx context.Context, nodes []*v1.Node, plugins func(context.Context, []*v1.Node) *frameworktypes.Status) (err error) {
	logger := klog.FromContext(ctx).WithValues("profile", r.name)
	defer func() {
		if fault := recover(); fault != nil {
			logger.Error(nil, "Panic in a plugin", "panic", fault, "stack", string(debug.Stack()))
			err = fmt.Errorf("running profile %q: a plugin panicked: %v", r.name, fault)
		}
	}()
	status := plugins(klog.NewContext(ctx, logger), nodes)
	if status == nil || status.Err == nil {
		return nil
	}
	return fmt.Errorf("running profile %q: %w", r.name, status.Err)
}
