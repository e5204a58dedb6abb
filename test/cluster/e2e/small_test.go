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

// A node has 200 equal pods, each of which uses less than the shipped policy requires of a move,
// beside nodes that are almost empty. The node is cooled with the fewest possible moves. The plan
// predicts the moves and their duration.
//
//	hot node: 200 × 224m = 44.8 of 64 cores = 70 %, 0.35 % each; under 65 % (41.6 cores) it keeps 185
//
//e2e:tier all
func TestNodesOfTinyPodsAreCooled(t *testing.T) {
	f := newFixture(t)
	nodes, err := f.AddNodes(t.Context(), 3, cluster.NodeTemplate{CPU: "64", Memory: "256Gi", Pods: 250})
	if err != nil {
		t.Fatal(err)
	}
	const owners, each, fewest = 8, 25, 15
	story := &scenario.Story{Nodes: nodes, Hot: nodes[:1], HotPercent: 70, CoolPercent: 0.5, EvictLinePercent: 65, FewestEvictions: fewest}
	placements := []cluster.Placement{{ // empty nodes are not measured
		Workload: stage.Workload("bg", cluster.Resources{CPU: "100m"}, cluster.Resources{CPU: "320m", Memory: "64Mi"}),
		On:       stage.On(1, nodes[1:]...),
	}}
	for i := range owners {
		placements = append(placements, cluster.Placement{
			Workload: stage.Workload(fmt.Sprintf("tiny-%d", i), cluster.Resources{CPU: "20m"}, cluster.Resources{CPU: "224m", Memory: "64Mi"}),
			On:       stage.On(each, story.Hot...),
		})
	}
	if err := f.Place(t.Context(), placements...); err != nil {
		t.Fatal(err)
	}
	if err := f.WaitMetrics(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, mark, policy := f.PodsByUID(t.Context()), f.Mark(), f.Policy(stage.RealUsage, stage.Fast)
	plan := f.Plan(t.Context(), policy)
	for _, n := range plan.Nodes {
		if n.Name == story.Hot[0] && (n.Reason != "" || n.Relief.Moves != fewest || n.Relief.Text == "") {
			t.Errorf("the plan leaves %s hot for %q, by %d moves, want %d: %s", n.Name, n.Reason, n.Relief.Moves, fewest, n.Relief.Text)
		}
	}
	leave := map[string]int{}
	for _, m := range plan.Moves {
		owner, _, _ := strings.Cut(strings.TrimPrefix(m.Pod, "tiny-"), "-")
		leave[owner]++
	}
	for owner, moves := range leave {
		if moves > (fewest+owners-1)/owners {
			t.Errorf("the plan moves %d pods of tiny-%s: %v", moves, owner, leave)
		}
	}
	f.Serve(policy)
	f.Eventually(90*time.Second, "no node above its line", func(ctx context.Context) bool { return len(f.Hot(ctx, story.EvictLinePercent)) == 0 })
	f.Eventually(30*time.Second, "every replacement ready", func(ctx context.Context) bool {
		for i := range owners {
			if f.WaitReady(ctx, "shop", fmt.Sprintf("tiny-%d", i)) != nil {
				return false
			}
		}
		return true
	})
	evictions := f.Evictions(mark)
	if evictions > fewest+1 {
		t.Errorf("%d evictions, the fewest possible are %d", evictions, fewest)
	}
	checkLandings(t, story, f.Moves(), before, f.PodsByUID(t.Context()), evictions)
}
