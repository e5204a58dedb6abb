package kubescheduler

import (
	"context"
	"slices"

	"k8s.io/client-go/informers"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	intree "k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	schedulerruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/evenkeel/evenkeel/placement"
)

// filters and scores are the plugins of the default profile, except those that need
// volumes, claims or images, which a replay does not have.
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

// newFramework makes the framework. PodTopologySpread gets no default constraints,
// because the nodes of a replay have no zones.
func newFramework(ctx context.Context, nodes *nodes, unscored []string) (framework.Framework, error) {
	placement.InitMetrics()
	profile, err := placement.NewProfile(func(defaults *config.Plugins) *config.Plugins {
		return &config.Plugins{
			PreFilter: placement.PluginSet(preFilters...), Filter: placement.PluginSet(filters...),
			PreScore: placement.PluginSet(preScores...), Score: scoreSet(defaults, unscored),
		}
	})
	if err != nil {
		return nil, err
	}
	return schedulerruntime.NewFramework(ctx, intree.NewInTreeRegistry(), profile,
		schedulerruntime.WithInformerFactory(informers.NewSharedInformerFactory(nil, 0)),
		schedulerruntime.WithSnapshotSharedLister(nodes),
		schedulerruntime.WithParallelism(1), // a goroutine per node costs more than running the plugins
	)
}

// scoreSet keeps the weights of the default profile, except for scores that are disabled.
func scoreSet(defaults *config.Plugins, unscored []string) config.PluginSet {
	var set config.PluginSet
	for _, plugin := range slices.Concat(defaults.MultiPoint.Enabled, defaults.Score.Enabled) {
		if slices.Contains(preScores, plugin.Name) && !slices.Contains(unscored, plugin.Name) {
			set.Enabled = append(set.Enabled, plugin)
		}
	}
	return set
}
