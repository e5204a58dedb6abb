package e2e

import (
	"context"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// Four replicas have to leave four hot nodes in two zones. One cool node in each zone is emptier
// than the others, but the replicas still land on different nodes and stay in their zones.
//
//	hot: 12 × 1500m that must not be moved + 4000m = 22 of 32 cores = 69 %
func TestReplicasStaySpread(t *testing.T) {
	f := newFixture(t)
	hot, fixed := map[string]int{}, fixedPods(0, "")
	all, zones := []string{}, map[string]string{}
	for _, zone := range []string{"a", "b"} {
		nodes := f.nodes("zone-"+zone+"-", 5, v1.LabelTopologyZone, zone)
		for i, node := range nodes {
			all, zones[node] = append(all, node), zone
			switch {
			case i < 2:
				hot[node], fixed.On[node] = 1, 12
			case i < 4:
				fixed.On[node] = 1
			}
		}
	}
	web := stage.Workload("web", cluster.Resources{CPU: "100m"}, cluster.Resources{CPU: "4", Memory: "64Mi"})
	delete(fixed.On, "")
	if err := f.Place(t.Context(), agents(all...), fixed, cluster.Placement{Workload: web, On: hot}); err != nil {
		t.Fatal(err)
	}
	mark := f.Mark()
	f.Serve(f.Policy(stage.RealUsage, stage.Fast))
	f.Eventually(2*time.Minute, "no node above 65 % of CPU", func(ctx context.Context) bool { return len(f.Hot(ctx, 65)) == 0 })
	f.Eventually(20*time.Second, "every replacement bound and ready", func(ctx context.Context) bool {
		return f.WaitReady(ctx, "shop", "web") == nil
	})
	if got := f.Evictions(mark); got != 4 {
		t.Errorf("%d evictions, want 4", got)
	}
	homes, perZone := map[string]int{}, map[string]int{}
	for _, pod := range f.Pods(t.Context(), "web") {
		homes[pod.Spec.NodeName]++
		perZone[zones[pod.Spec.NodeName]]++
	}
	if len(homes) != 4 || perZone["a"] != 2 || perZone["b"] != 2 {
		t.Errorf("the replicas are on %v, by zone %v; want four nodes, two of each zone", homes, perZone)
	}
}
