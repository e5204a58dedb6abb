package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// If all nodes are busy, a node whose CPU is fully used gives pods to nodes with fewer requests,
// but only pods that have run for hours.
//
//	full node: 22 × 1440m = 31.7 of 32 cores = 99 %
//	busy node: 10 × 2300m = 23 of 32 cores = 71.9 %, above the evict line of 65 %; with a pod more 76.4 %, under 90 %
//
//e2e:tier all
func TestFullNodeAmongBusyOnes(t *testing.T) {
	f := newFixture(t)
	nodes, err := f.AddNodes(t.Context(), 4, cluster.NodeTemplate{CPU: "32", Memory: "256Gi"})
	if err != nil {
		t.Fatal(err)
	}
	err = f.Place(t.Context(),
		cluster.Placement{Workload: stage.Workload("full", cluster.Resources{CPU: "100m"}, cluster.Resources{CPU: "1440m", Memory: "64Mi"}), On: stage.On(22, nodes[0])},
		cluster.Placement{Workload: stage.Workload("busy", cluster.Resources{CPU: "1"}, cluster.Resources{CPU: "2300m", Memory: "64Mi"}), On: stage.On(10, nodes[1:]...)})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.WaitMetrics(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Usage that never changes has no peaks, so it reveals little about how much CPU the pods lack.
	cheap := strings.Replace(stage.Fast, "eviction: {", "eviction: {minHotTimeSaved: 1m, ", 1)
	policy := f.Policy(stage.RealUsage, cheap)
	if young := f.Plan(t.Context(), policy); len(young.Moves) > 0 {
		t.Errorf("pods that are seconds old are moved: %+v", young.Moves)
	}
	f.Eventually(30*time.Second, "pods that are five hours old", func(ctx context.Context) bool { return f.Age(ctx, "shop", 5*time.Hour) == nil })
	old := f.Plan(t.Context(), policy)
	if len(old.Moves) == 0 {
		t.Fatalf("no move is planned: %+v", old.Nodes)
	}
	for _, m := range old.Moves {
		if m.From != nodes[0] || m.Reason != "NodeFull" {
			t.Errorf("pod %s is to leave %s for %q, want pods of %s for NodeFull", m.Pod, m.From, m.Reason, nodes[0])
		}
	}
	mark, metrics := f.Mark(), f.FreeAddress()
	f.Serve(policy, "--metrics-address", metrics)
	f.Eventually(90*time.Second, "a pod off the full node", func(context.Context) bool { return f.Evictions(mark) > 0 })
	f.Eventually(30*time.Second, "every replacement ready", func(ctx context.Context) bool { return f.WaitReady(ctx, "shop", "full") == nil })
	f.waitCycles(metrics, 3) // a moved pod is young, so it stays even though its old node has space
	if got := f.Evictions(mark); got > len(old.Moves) {
		t.Errorf("%d evictions, %d moves were planned: after them, the node is no longer full", got, len(old.Moves))
	}
}
