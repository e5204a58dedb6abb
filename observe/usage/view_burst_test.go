package usage

import (
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
)

// Pods that were assigned to a node before they started are expected there. Once the node's newest
// sample includes them, they count once: the last sample is shifted by what has arrived since, not
// by what the five-minute mean lacks.
func TestNewcomersCountOnceInEveryWindow(t *testing.T) {
	store := newStore(t)
	bg, newcomer := aPod("bg", owner("bg")), aPod("new", startedAt(300), owner("burst"), requesting(amounts(10_000, 100)))
	waiting := aPod("new", notStarted, owner("burst"), requesting(amounts(10_000, 100)))
	with := func(pod *cluster.Pod) *cluster.Snapshot { return snapshotOf(nodeWith("n1", bg, pod)) }
	feed(store, with(waiting), 0, 285, amounts(2000, 200), map[string]cluster.Amounts{"bg": amounts(2000, 200)})
	for second := 290; second <= 600; second += 5 {
		pod, told := waiting, readAt(second).node("n1", amounts(2000, 200)).pod("bg", amounts(2000, 200))
		if second >= 315 {
			pod = newcomer
			told = readAt(second).node("n1", amounts(10_500, 300)).pod("bg", amounts(2000, 200)).pod("new", amounts(8500, 100))
		}
		store.Ingest(with(pod), told.Batch)
		for w, used := range node1(store, with(pod), second).Predicted {
			if got := used[cluster.CPU]; got < 10_400 || got > 10_600 { // 8500m are 85 % of the request, plus actual usage
				t.Errorf("second %d: %s is predicted at %dm, want 10500m", second, store.windows[w], got)
			}
		}
	}
}

// A node is sampled seconds after pods have started on it, but their own first samples arrive
// later. The node's usage beyond its other pods belongs to the new pods and counts once. Expected
// usage that the node does not show yet is added.
func TestNewcomersSeenOnlyInTheNodeCountOnce(t *testing.T) {
	bg := aPod("bg", owner("bg"))
	young := func(name string) *cluster.Pod {
		return aPod(name, startedAt(302), owner("burst"), requesting(amounts(5000, 100)))
	}
	without, with := snapshotOf(nodeWith("n1", bg)), snapshotOf(nodeWith("n1", bg, young("a"), young("b")))
	for name, tc := range map[string]struct{ node, want int64 }{
		"all of their usage shows":                 {10_500, 10_500},
		"half of it shows":                         {6250, 10_500},
		"none of it shows":                         {2000, 10_500},
		"more than was expected of them":           {13_000, 13_000},
		"less than before, as the others back off": {1000, 9500},
	} {
		t.Run(name, func(t *testing.T) {
			store := newStore(t)
			feed(store, without, 0, 300, amounts(2000, 200), map[string]cluster.Amounts{"bg": amounts(2000, 200)})
			store.Ingest(with, readAt(305).node("n1", amounts(tc.node, 300)).pod("bg", amounts(2000, 200)).Batch)
			if got := node1(store, with, 305).Predicted[AtLast][cluster.CPU]; got != tc.want {
				t.Errorf("predicted at %dm, want %dm", got, tc.want)
			}
		})
	}
}
