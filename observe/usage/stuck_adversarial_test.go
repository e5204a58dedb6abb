package usage

import (
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
)

// A pod that requests almost nothing and never runs, because its image cannot be pulled, does not
// count indefinitely with the usage of a sibling. Otherwise, anyone who creates pods could control
// where other people's pods land.
func TestPodsThatNeverRunDoNotFillNodes(t *testing.T) {
	small := func(p *cluster.Pod) { p.Requests = amounts(10, 1) }
	stuck := aPod("stuck", small, startedAt(0))
	other := aPod("other", owner("another"))
	stuck.Node, other.Node = "n2", "n2"
	snapshot := snapshotOf(nodeWith("n1", aPod("busy", small)), nodeWith("n2", other, stuck))
	store := newStore(t)
	for second := 0; second <= 7200; second += 15 {
		store.Ingest(snapshot, readAt(second).node("n1", amounts(25500, 900)).node("n2", amounts(900, 900)).pod("other", amounts(400, 64)).pod("busy", amounts(25000, 64)).Batch)
	}
	node := store.View(snapshot, at(7200), nil).Nodes[1]
	if got := node.Predicted[AtAvg5m][cluster.CPU]; got > 1000 {
		t.Errorf("two hours later its node is predicted to use %dm, and is measured at %v", got, node.Measured[AtAvg5m])
	}
}
