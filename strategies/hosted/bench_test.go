package hosted_test

import (
	"context"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/descheduler/pkg/descheduler/evictions"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/removepodsviolatingtopologyspreadconstraint"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"

	"github.com/evenkeel/evenkeel/strategies/hosted"
	"github.com/evenkeel/evenkeel/strategies/plugin"
	"github.com/evenkeel/evenkeel/strategies/plugin/plugintest"
)

// crowding asks to evict all but one of an owner's pods on each node.
type crowding struct{ handle frameworktypes.Handle }

func (c *crowding) Name() string { return removepodsviolatingtopologyspreadconstraint.PluginName }

func (c *crowding) Balance(ctx context.Context, nodes []*v1.Node) *frameworktypes.Status {
	for _, node := range nodes {
		pods, err := c.handle.GetPodsAssignedToNodeFunc()(node.Name, nil)
		if err != nil {
			return &frameworktypes.Status{Err: err}
		}
		first := map[string]bool{}
		for _, pod := range pods {
			owner := pod.OwnerReferences[0].Name
			if !first[owner] {
				first[owner] = true
				continue
			}
			if err := c.handle.Evictor().Evict(ctx, pod, evictions.EvictOptions{}); err != nil {
				return &frameworktypes.Status{Err: err}
			}
		}
	}
	return nil
}

// BenchmarkPlan plans the evictions that a plugin asks for in a large cluster. The pods of each owner
// are on nodes in pairs, so one of each pair may go elsewhere.
func BenchmarkPlan(b *testing.B) {
	for _, size := range []struct{ nodes, asked int }{{500, 200}, {5000, 200}, {5000, 2000}} {
		for _, spread := range []bool{false, true} {
			b.Run(fmt.Sprintf("nodes=%d/asked=%d/spread=%v", size.nodes, size.asked, spread), func(b *testing.B) {
				names := make([]string, size.nodes)
				for i := range names {
					names[i] = fmt.Sprintf("node-%05d", i)
				}
				fleet := plugintest.New(names...)
				for i := range size.asked {
					for range 2 {
						owner := fmt.Sprintf("app%d", i/10)
						pod := fleet.Run(fmt.Sprintf("%s-%d-%d", owner, i, len(fleet.Node(names[i*2]).Pods)), names[i*2], 100)
						if spread {
							pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
								MaxSkew: 1, TopologyKey: v1.LabelHostname, WhenUnsatisfiable: v1.ScheduleAnyway,
								LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": owner}},
							}}
						}
					}
				}
				half, _ := fleet.Plugins(b)
				handle := fleet.Handle(b)
				build := func(_ context.Context, _ runtime.Object, handle frameworktypes.Handle) (frameworktypes.Plugin, error) {
					return &crowding{handle}, nil
				}
				p, err := hosted.New(b.Context(), removepodsviolatingtopologyspreadconstraint.PluginName, build, nil, handle, plugin.Deps{Half: half, Options: fleet.Options})
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					made, err := p.Plan(b.Context(), &fleet.Observed, fleet.Nodes())
					if err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(float64(len(made.Plan.Moves)), "moves")
				}
			})
		}
	}
}

// BenchmarkPlace finds the destination of one eviction that a plugin makes by itself in a large cluster.
func BenchmarkPlace(b *testing.B) {
	for _, podsPerNode := range []int{1, 30} {
		b.Run(fmt.Sprintf("nodes=5000/podsPerNode=%d", podsPerNode), func(b *testing.B) {
			names := make([]string, 5000)
			for i := range names {
				names[i] = fmt.Sprintf("node-%05d", i)
			}
			fleet := plugintest.New(names...)
			var evicted *plugintest.Pod
			for i, name := range names {
				for k := range podsPerNode {
					evicted = fleet.Run(fmt.Sprintf("app%d-%d-%d", i/10, i, k), name, 10)
				}
			}
			half, _ := fleet.Plugins(b)
			assigned := fleet.Handle(b).GetPodsAssignedToNodeFunc()
			places := hosted.NewPlaces(half, &fleet.Observed, fleet.Nodes(), assigned)
			for b.Loop() {
				to, err := places.Find(b.Context(), evicted.Pod)
				if err != nil || to.Node == "" {
					b.Fatal(to, err)
				}
			}
		})
	}
}
