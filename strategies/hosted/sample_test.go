package hosted_test

import (
	"context"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/descheduler/pkg/descheduler/evictions"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/removepodsviolatingnodeaffinity"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"

	"github.com/evenkeel/evenkeel/strategies/hosted"
	"github.com/evenkeel/evenkeel/strategies/plugin"
	"github.com/evenkeel/evenkeel/strategies/plugin/plugintest"
)

// elsewhere asks to evict the pods of an app that are outside the pool that they prefer.
type elsewhere struct{ handle frameworktypes.Handle }

func (e *elsewhere) Name() string { return removepodsviolatingnodeaffinity.PluginName }

func (e *elsewhere) Deschedule(ctx context.Context, nodes []*v1.Node) *frameworktypes.Status {
	for _, node := range nodes {
		pods, err := e.handle.GetPodsAssignedToNodeFunc()(node.Name, nil)
		if err != nil {
			return &frameworktypes.Status{Err: err}
		}
		for _, pod := range pods {
			if pod.Labels["app"] == "web" && node.Labels["pool"] != "good" {
				if err := e.handle.Evictor().Evict(ctx, pod, evictions.EvictOptions{}); err != nil {
					return &frameworktypes.Status{Err: err}
				}
			}
		}
	}
	return nil
}

// A preferred node is found in a large cluster, even if other nodes are emptier.
func TestThePreferredNodeIsCompared(t *testing.T) {
	names := []string{"good-0"}
	for i := range 300 {
		names = append(names, fmt.Sprintf("node-%03d", i))
	}
	fleet := plugintest.New(names...)
	fleet.Run("web-1", "node-000", 100).Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{
		Weight: 10, Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "pool", Operator: v1.NodeSelectorOpIn, Values: []string{"good"}}}},
	}}}}
	fleet.Run("db-1", "good-0", 100).Spec.Containers = []v1.Container{{Name: "db", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
		v1.ResourceCPU: resource.MustParse("5"),
	}}}}
	half, _ := fleet.Plugins(t)
	build := func(_ context.Context, _ runtime.Object, handle frameworktypes.Handle) (frameworktypes.Plugin, error) {
		return &elsewhere{handle}, nil
	}
	p, err := hosted.New(t.Context(), removepodsviolatingnodeaffinity.PluginName, build, nil, fleet.Handle(t), plugin.Deps{Half: half, Options: fleet.Options})
	if err != nil {
		t.Fatal(err)
	}
	made, err := p.Plan(t.Context(), &fleet.Observed, fleet.Nodes())
	if err != nil {
		t.Fatal(err)
	}
	if got := plugintest.Moves(made); len(got) != 1 || got[0] != "web-1: node-000 -> good-0" {
		t.Errorf("moves %q, declined %v", got, plugintest.Declined(made))
	}
}
