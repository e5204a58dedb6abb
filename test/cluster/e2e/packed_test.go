package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/scenario"
)

// This is the case that requests hide, with as many pods on each hot node as a kubelet runs by
// default. Cooling a node takes 36 moves, of pods from ten owners that each allow two moves at a
// time.
//
//	hot node:   110 × 279m = 30.7 of 32 cores = 95.9 %; requests  110 × 36m =  4 cores; under 65 % (20.8 cores) it keeps 74
//	other node:  10 × 750m =  7.5 of 32 cores = 23.4 %; requests   10 × 2   = 20 cores
//
//e2e:tier all
func TestPackedNodesAreCooled(t *testing.T) {
	f := newFixture(t)
	nodes, err := f.AddNodes(t.Context(), 12, cluster.NodeTemplate{CPU: "32", Memory: "256Gi"})
	if err != nil {
		t.Fatal(err)
	}
	const owners, perNode = 10, 11
	story := &scenario.Story{Nodes: nodes, Hot: nodes[:2], HotPercent: 95.9, CoolPercent: 23.4, EvictLinePercent: 65, FewestEvictions: 2 * 36}
	placements := []cluster.Placement{{
		Workload: stage.Workload("bg", cluster.Resources{CPU: "2"}, cluster.Resources{CPU: "750m", Memory: "1Gi"}),
		On:       stage.On(10, nodes[2:]...),
	}}
	for i := range owners {
		placements = append(placements, cluster.Placement{
			Workload: stage.Workload(fmt.Sprintf("small-%d", i), cluster.Resources{CPU: "36m"}, cluster.Resources{CPU: "279m", Memory: "64Mi"}),
			On:       stage.On(perNode, story.Hot...),
		})
	}
	if err := f.Place(t.Context(), placements...); err != nil {
		t.Fatal(err)
	}
	if err := f.WaitMetrics(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, mark, metrics := f.PodsByUID(t.Context()), f.Mark(), f.FreeAddress()
	// In a cluster this small, the hourly limit is 50 moves.
	unbounded := strings.Replace(stage.Fast, "maxMovesPerHourOfOwner: 0, ", "maxMovesPerHour: 0, maxMovesPerHourOfOwner: 0, ", 1)
	f.Serve(f.Policy(stage.RealUsage, unbounded), "--metrics-address", metrics)
	f.Eventually(4*time.Minute, "no node above its line", func(ctx context.Context) bool { return len(f.Hot(ctx, story.EvictLinePercent)) == 0 })
	f.waitCycles(metrics, 3)
	f.Eventually(30*time.Second, "every replacement ready", func(ctx context.Context) bool {
		for i := range owners {
			if f.WaitReady(ctx, "shop", fmt.Sprintf("small-%d", i)) != nil {
				return false
			}
		}
		return true
	})
	evictions := f.Evictions(mark)
	if most := story.FewestEvictions + story.FewestEvictions/10; evictions > most {
		t.Errorf("%d evictions, the fewest possible are %d, at most %d are wanted", evictions, story.FewestEvictions, most)
	}
	if hot := f.Hot(t.Context(), story.EvictLinePercent); len(hot) > 0 {
		t.Errorf("%v are above the line again", hot)
	}
	checkLandings(t, story, f.Moves(), before, f.PodsByUID(t.Context()), evictions)
}
