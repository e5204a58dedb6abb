package kubescheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	intree "k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	schedulerruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// initMetrics creates kube-scheduler's process-wide metrics, which the plugins read.
var initMetrics = sync.OnceFunc(metrics.InitMetrics)

// filters and scores are those of the default profile, less what needs volumes, claims or images, which a replay has none of.
var (
	filters = []string{
		names.NodeUnschedulable, names.NodeName, names.TaintToleration, names.NodeAffinity, names.NodePorts,
		names.NodeResourcesFit, names.PodTopologySpread, names.InterPodAffinity,
	}
	preFilters = []string{names.NodeAffinity, names.NodePorts, names.NodeResourcesFit, names.PodTopologySpread, names.InterPodAffinity}
	preScores  = []string{
		names.TaintToleration, names.NodeAffinity, names.NodeResourcesFit, names.PodTopologySpread, names.InterPodAffinity,
		names.NodeResourcesBalancedAllocation,
	}
)

func newFramework(ctx context.Context, nodes *nodes) (framework.Framework, error) {
	initMetrics()
	profile, err := newProfile()
	if err != nil {
		return nil, err
	}
	return schedulerruntime.NewFramework(ctx, intree.NewInTreeRegistry(), profile,
		schedulerruntime.WithInformerFactory(informers.NewSharedInformerFactory(nil, 0)),
		schedulerruntime.WithSnapshotSharedLister(nodes),
		schedulerruntime.WithParallelism(1), // a goroutine per node costs more than its plugins
	)
}

func newProfile() (*config.KubeSchedulerProfile, error) {
	defaults, err := latest.Default()
	if err != nil {
		return nil, fmt.Errorf("reading kube-scheduler's default configuration: %w", err)
	}
	if len(defaults.Profiles) == 0 {
		return nil, errors.New("kube-scheduler's default configuration has no profile")
	}
	profile := &defaults.Profiles[0]
	return &config.KubeSchedulerProfile{
		SchedulerName: profile.SchedulerName,
		Plugins: &config.Plugins{
			QueueSort: pluginSet(names.PrioritySort),
			PreFilter: pluginSet(preFilters...),
			Filter:    pluginSet(filters...),
			PreScore:  pluginSet(preScores...),
			Score:     scoreSet(profile.Plugins),
			Bind:      pluginSet(names.DefaultBinder),
		},
		PluginConfig: pluginArgs(profile.PluginConfig),
	}, nil
}

// scoreSet keeps the weights of the default profile.
func scoreSet(defaults *config.Plugins) config.PluginSet {
	var set config.PluginSet
	for _, plugin := range slices.Concat(defaults.MultiPoint.Enabled, defaults.Score.Enabled) {
		if slices.Contains(preScores, plugin.Name) {
			set.Enabled = append(set.Enabled, plugin)
		}
	}
	return set
}

func pluginSet(pluginNames ...string) config.PluginSet {
	var set config.PluginSet
	for _, name := range pluginNames {
		set.Enabled = append(set.Enabled, config.Plugin{Name: name})
	}
	return set
}

// pluginArgs are the defaults, except that PodTopologySpread gets no default constraints: they would need watches of Services
// and four kinds of workloads, and spread a workload over nodes that a replay gives no zones.
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
