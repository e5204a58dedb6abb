package usage

import (
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
)

// CPU that a machine was denied is not there: 1.6 of 8 cores are all that a
// burstable machine has while 6.4 are stolen. It comes back when nothing is
// stolen any more, or when nobody says so.
func TestStolenCPUIsNotThere(t *testing.T) {
	store, pod := newStore(t), aPod("a")
	node := sized(cluster.Amounts{8000, 32 * gib}, cluster.Amounts{7500, 30 * gib}, pod)
	other := nodeWith("n2")
	snapshot := snapshotOf(node, other)
	read := func(second int, stolen float64) *View {
		store.Ingest(snapshot, readAt(second).node("n2", amounts(100, 100)).node("n1", amounts(1600, 900)).
			reading("n1", CPUStolen, Avg5m, stolen).pod("a", amounts(1500, 700)).Batch)
		return store.View(snapshot, at(second), nil)
	}
	var view *View
	for second := 0; second <= 300; second += 15 {
		view = read(second, 6400)
	}
	got, had := &view.Nodes[0], &view.Snapshot.Nodes[0].Node
	if got.StolenMilliCores != 6400 || had.Capacity != (cluster.Amounts{1600, 32 * gib}) || had.Allocatable != (cluster.Amounts{1500, 30 * gib}) {
		t.Errorf("%dm are stolen, %v are allocatable of %v", got.StolenMilliCores, had.Allocatable, had.Capacity)
	}
	if got.Current[AtAvg5m] != amounts(1500, 700) || got.Predicted[AtAvg5m] != amounts(1500, 700) || got.Reserved[AtAvg5m] != amounts(100, 200) {
		t.Errorf("current %v, predicted %v, %v of the reserve", got.Current[AtAvg5m], got.Predicted[AtAvg5m], got.Reserved[AtAvg5m])
	}
	if node.Node.Capacity[cluster.CPU] != 8000 || view.Snapshot.Nodes[1] != other || view.Snapshot.Nodes[0].Pods[0] != pod {
		t.Error("the snapshot that was given has changed, or more of its copy than the node")
	}
	if all := read(315, 8000); all.Snapshot.Nodes[0].Node.Allocatable[cluster.CPU] != 75 || !all.Nodes[0].Known() {
		t.Errorf("%v are allocatable where all is stolen, %q", all.Snapshot.Nodes[0].Node.Allocatable, all.Nodes[0].Unknown)
	}
	if none := read(330, 0); none.Snapshot != snapshot || none.Nodes[0].StolenMilliCores != 0 {
		t.Errorf("%dm are stolen of a machine that gets all it wants", none.Nodes[0].StolenMilliCores)
	}
	read(345, 6400)
	store.Ingest(snapshot, readAt(480).node("n1", amounts(1600, 900)).pod("a", amounts(1500, 700)).Batch)
	if unsaid := node1(store, snapshot, 480); unsaid.StolenMilliCores != 0 || !unsaid.Known() {
		t.Errorf("%dm are stolen although nobody has said so for long", unsaid.StolenMilliCores)
	}
}

// A second source says what the first leaves out.
func TestStolenCPUFromASecondSource(t *testing.T) {
	store, snapshot := newStore(t), snapshotOf(sized(cluster.Amounts{8000, 32 * gib}, cluster.Amounts{8000, 32 * gib}))
	var view *View
	for second := 0; second <= 300; second += 15 {
		first := readAt(second).node("n1", amounts(1600, 900))
		store.Ingest(snapshot, first.Batch, readBy("second", second).node("n1", amounts(1600, 900)).reading("n1", CPUStolen, Avg5m, 6400).Batch)
		view = store.View(snapshot, at(second), nil)
	}
	if got := view.Snapshot.Nodes[0].Node.Allocatable[cluster.CPU]; got != 1600 || view.Nodes[0].Source != "test" {
		t.Errorf("%dm are allocatable, by %s", got, view.Nodes[0].Source)
	}
}
