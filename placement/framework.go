package placement

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	intree "k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	schedulerruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// InitMetrics creates the process-wide metrics that kube-scheduler's framework reads,
// once and without registering them.
var InitMetrics = sync.OnceFunc(metrics.InitMetrics)

// filterNames returns the filters of the default profile in the profile's order, which
// puts cheap filters first.
func filterNames(cfg *Config) []string {
	filters := []string{
		names.NodeUnschedulable,
		names.NodeName,
		names.TaintToleration,
		names.NodeAffinity,
		names.NodePorts,
		names.NodeResourcesFit,
		names.VolumeRestrictions,
		names.NodeVolumeLimits,
		names.VolumeBinding,
		names.VolumeZone,
		names.PodTopologySpread,
		names.InterPodAffinity,
	}
	if cfg.DynamicResources {
		filters = append(filters, names.DynamicResources)
	}
	if cfg.DeclaredFeatures {
		filters = append(filters, names.NodeDeclaredFeatures)
	}
	return filters
}

func newFramework(ctx context.Context, cfg Config, lister fwk.SharedLister) (framework.Framework, []cache.InformerSynced, error) {
	InitMetrics()
	profile, err := newProfile(&cfg)
	if err != nil {
		return nil, nil, err
	}
	resources, synced, err := newResourceManager(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	plugins, err := schedulerruntime.NewFramework(ctx, registry(), profile,
		schedulerruntime.WithClientSet(cfg.Client),
		schedulerruntime.WithInformerFactory(cfg.Informers),
		schedulerruntime.WithSnapshotSharedLister(lister),
		schedulerruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(cfg.Informers.Storage().V1().CSINodes().Lister())),
		schedulerruntime.WithSharedDRAManager(resources),
	)
	return plugins, synced, err
}

// newProfile returns the default profile with only the filter plugins.
func newProfile(cfg *Config) (*config.KubeSchedulerProfile, error) {
	return NewProfile(func(*config.Plugins) *config.Plugins {
		return &config.Plugins{MultiPoint: PluginSet(filterNames(cfg)...)}
	})
}

// newScores returns the plugins that score a pod's preferences for nodes, with their
// default weights. Plugins that score free requests and images are left out, because the
// coolest node is a better choice than the one with the most free requests, and nodes'
// images are not stored.
func newScores(ctx context.Context, cfg Config, lister fwk.SharedLister) (framework.Framework, []scorer, error) {
	scores := config.PluginSet{}
	profile, err := NewProfile(func(defaults *config.Plugins) *config.Plugins {
		for _, plugin := range defaults.MultiPoint.Enabled {
			switch plugin.Name {
			case names.TaintToleration, names.NodeAffinity, names.PodTopologySpread, names.InterPodAffinity:
				scores.Enabled = append(scores.Enabled, plugin)
			}
		}
		return &config.Plugins{PreScore: scores, Score: scores}
	})
	if err != nil {
		return nil, nil, err
	}
	scorers, plugins := make([]scorer, len(scores.Enabled)), registry()
	for i, plugin := range scores.Enabled {
		scorers[i].weight = int64(plugin.Weight)
		plugins[plugin.Name] = remembered(plugins[plugin.Name], &scorers[i])
	}
	scoring, err := schedulerruntime.NewFramework(ctx, plugins, profile,
		schedulerruntime.WithClientSet(cfg.Client),
		schedulerruntime.WithInformerFactory(cfg.Informers),
		schedulerruntime.WithSnapshotSharedLister(lister),
	)
	return scoring, scorers, err
}

// registry returns kube-scheduler's plugins, wrapped so that they process a few
// nodes without goroutines, which would cost more than the work itself.
func registry() schedulerruntime.Registry {
	plugins := intree.NewInTreeRegistry()
	for name, build := range plugins {
		plugins[name] = func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
			return build(ctx, args, sparing{handle})
		}
	}
	return plugins
}

// sparing is a Handle whose Parallelizer avoids goroutines.
type sparing struct{ fwk.Handle }

func (s sparing) Parallelizer() fwk.Parallelizer { return few{s.Handle.Parallelizer()} }

// few is a Parallelizer that processes up to maxSerial pieces of work
// sequentially.
type few struct{ many fwk.Parallelizer }

const maxSerial = 256

func (f few) Until(ctx context.Context, pieces int, do workqueue.DoWorkPieceFunc, operation string) {
	if pieces > maxSerial {
		f.many.Until(ctx, pieces, do, operation)
		return
	}
	for i := 0; i < pieces && ctx.Err() == nil; i++ {
		do(i)
	}
}

// scorer is a scoring plugin and its weight.
type scorer struct {
	fwk.ScorePlugin

	weight int64
}

// remembered wraps a factory so that the plugin it builds is kept, because a framework
// does not expose its plugins.
func remembered(build schedulerruntime.PluginFactory, as *scorer) schedulerruntime.PluginFactory {
	return func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		plugin, err := build(ctx, args, handle)
		if err != nil {
			return nil, err
		}
		scores, ok := plugin.(fwk.ScorePlugin)
		if !ok {
			return nil, fmt.Errorf("plugin %q does not score", plugin.Name())
		}
		as.ScorePlugin = scores
		return plugin, nil
	}
}

// NewProfile returns kube-scheduler's default profile with some of its plugins
// and the two that every framework requires.
func NewProfile(choose func(defaults *config.Plugins) *config.Plugins) (*config.KubeSchedulerProfile, error) {
	defaults, err := latest.Default()
	if err != nil {
		return nil, fmt.Errorf("reading default scheduler configuration: %w", err)
	}
	if len(defaults.Profiles) == 0 {
		return nil, fmt.Errorf("reading default scheduler configuration: it has no profile")
	}
	profile := &defaults.Profiles[0]
	plugins := choose(profile.Plugins)
	plugins.QueueSort, plugins.Bind = PluginSet(names.PrioritySort), PluginSet(names.DefaultBinder)
	return &config.KubeSchedulerProfile{
		SchedulerName: profile.SchedulerName, Plugins: plugins, PluginConfig: pluginArgs(profile.PluginConfig),
	}, nil
}

// PluginSet enables plugins with their default weights.
func PluginSet(pluginNames ...string) config.PluginSet {
	var set config.PluginSet
	for _, name := range pluginNames {
		set.Enabled = append(set.Enabled, config.Plugin{Name: name})
	}
	return set
}

// pluginArgs returns the default args, except that PodTopologySpread gets no default
// constraints. Those only score, but would require informers for Services and four kinds
// of workloads.
func pluginArgs(defaults []config.PluginConfig) []config.PluginConfig {
	args := make([]config.PluginConfig, 0, len(defaults))
	for _, c := range defaults {
		var a runtime.Object = c.Args
		if c.Name == names.PodTopologySpread {
			a = &config.PodTopologySpreadArgs{DefaultingType: config.ListDefaulting}
		}
		args = append(args, config.PluginConfig{Name: c.Name, Args: a})
	}
	return args
}
