package usage

import (
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
)

// A five-minute mean still includes a pod that left a minute ago. That usage must not be attributed
// to the system. Otherwise the node would seem busy for as long as the mean includes the pod.
func TestSystemIsNotDerivedFromMeansWhilePodsComeAndGo(t *testing.T) {
	store := newStore(t)
	stays, goes := aPod("stays"), aPod("goes")
	both, one := snapshotOf(nodeWith("n1", goes, stays)), snapshotOf(nodeWith("n1", stays))
	node := amounts(21000, 4096) // 1 core belongs to the system
	second := 0
	for ; second <= 60; second += 15 {
		store.Ingest(both, readAt(second).means("n1", node).mean("stays", amounts(10000, 2048)).mean("goes", amounts(10000, 1024)).Batch)
	}
	for gone := 0; gone <= 300; gone += 15 { // its 10 cores gradually disappear from the node's mean
		at5m := cluster.Amounts{21000 - int64(10000*gone/300), 4096 * mib}
		store.Ingest(one, readAt(second).means("n1", at5m).mean("stays", amounts(10000, 2048)).Batch)
		view := store.View(one, at(second), nil)
		if got := view.Nodes[0].System[cluster.CPU]; got != 1000 {
			t.Errorf("%d s after: the system uses %dm, want 1000m", gone, got)
		}
		if got := view.Nodes[0].Current[AtAvg5m][cluster.CPU]; got != 11000 {
			t.Errorf("%d s after: %dm stay on the node, want 11000m", gone, got)
		}
		second += 15
	}
}

// A StatefulSet's pod has the name of its predecessor, and the reported mean may be that of the
// predecessor.
func TestMeanOfAYoungNamesakeIsNotTaken(t *testing.T) {
	store := newStore(t)
	young := aPod("db-0", startedAt(0), func(p *cluster.Pod) { p.Owner.Kind = "StatefulSet" })
	snapshot := snapshotOf(nodeWith("n1", young))
	for _, tc := range []struct {
		second   int
		measured bool
	}{{120, false}, {285, false}, {300, true}} {
		store.Ingest(snapshot, readAt(tc.second).means("n1", amounts(9000, 4096)).mean("db-0", amounts(8000, 1024)).Batch)
		if got := store.View(snapshot, at(tc.second), nil).Nodes[0].Pods[0].Measured; got != tc.measured {
			t.Errorf("%d s after its start: measured %v, want %v", tc.second, got, tc.measured)
		}
	}
}

// mean adds a pod with a five-minute mean.
func (b *told) mean(name string, used cluster.Amounts) *told {
	b.Pods = append(b.Pods, PodSample{Namespace: "ns", Name: name, Avg5m: Sample{at(b.second), used}})
	return b
}
