package usage

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// The clock goes back by an hour: nothing that was kept may pass for fresh for an hour, and the next samples are taken.
func TestClockGoesBackwards(t *testing.T) {
	store, snapshot := newStore(t), snapshotOf(nodeWith("n1", aPod("a")))
	feed(store, snapshot, 7200, 7500, amounts(30000, 100), map[string]cluster.Amounts{"a": amounts(29000, 10)})
	store.Ingest(readAt(3600).node("n1", amounts(1000, 100)).pod("a", amounts(500, 10)).Batch, snapshot)
	got := store.View(snapshot, at(3601), nil).Nodes[0]
	if got.Unknown != ShortWindow || got.Measured[Last] != amounts(1000, 100) || got.Pods[0].Measured {
		t.Errorf("node reads %+v, want one new sample and nothing else", got)
	}
	feed(store, snapshot, 3615, 3690, amounts(1000, 100), map[string]cluster.Amounts{"a": amounts(500, 10)})
	if got := store.View(snapshot, at(3691), nil).Nodes[0]; !got.Known() || got.Current[Avg5m] != amounts(1000, 100) {
		t.Errorf("node reads %+v after 90 s, want it known at 1000m", got)
	}
}

// A node that does not say what it has is unknown, however much it uses.
func TestZeroAllocatable(t *testing.T) {
	for name, allocatable := range map[string]cluster.Amounts{
		"nothing": {}, "no memory": {32000, 0}, "negative": {-1, 256 * gib},
	} {
		t.Run(name, func(t *testing.T) {
			store, node := newStore(t), nodeWith("n1")
			node.Node.Allocatable = allocatable
			feed(store, snapshotOf(node), 0, 300, amounts(100, 100), nil)
			if got := store.View(snapshotOf(node), at(301), nil).Nodes[0]; got.Unknown != NoAllocatable {
				t.Errorf("unknown %q, want %q", got.Unknown, NoAllocatable)
			}
		})
	}
}

// One pod's counter jumps: its absurd sample is left out and what it used before stands.
func TestPodGlitch(t *testing.T) {
	store, snapshot := newStore(t), snapshotOf(nodeWith("n1", aPod("a")))
	feed(store, snapshot, 0, 285, amounts(2000, 100), map[string]cluster.Amounts{"a": amounts(1000, 10)})
	feed(store, snapshot, 300, 300, amounts(2000, 100), map[string]cluster.Amounts{"a": {math.MaxInt64, math.MaxInt64}})
	got := store.View(snapshot, at(301), nil).Nodes[0]
	if want := Every(amounts(2000, 100)); got.Current != want {
		t.Errorf("current %v, want %v", got.Current, want)
	}
}

// Pods that together seem to use more than their node leave nothing for the system, never less than nothing.
func TestPodsAboveTheirNode(t *testing.T) {
	store, snapshot := newStore(t), snapshotOf(nodeWith("n1", aPod("a"), aPod("b")))
	feed(store, snapshot, 0, 300, amounts(1000, 100), map[string]cluster.Amounts{"a": amounts(800, 90), "b": amounts(900, 90)})
	if got := store.View(snapshot, at(301), nil).Nodes[0].System; got != (cluster.Amounts{}) {
		t.Errorf("system %v, want none", got)
	}
}

func TestEmptyEverything(t *testing.T) {
	store := newStore(t)
	store.Ingest(Batch{}, &cluster.Snapshot{})
	store.Ingest(readAt(0).node("n1", amounts(1, 1)).Batch, &cluster.Snapshot{})
	view := store.View(&cluster.Snapshot{}, at(0), nil)
	if len(view.Nodes) != 0 || len(view.Siblings) != 0 {
		t.Errorf("view %+v of nothing", view)
	}
	if got := store.View(snapshotOf(nodeWith("n1")), at(0), nil).Nodes[0]; got.Unknown != NoSample {
		t.Errorf("a node that came after the sample reads %q, want %q", got.Unknown, NoSample)
	}
}

// An absurd request stays an amount that can be added to.
func TestAbsurdRequests(t *testing.T) {
	estimate := testConfig().Estimate
	estimate.PercentOfRequest = cluster.Percents{1000, 1000}
	for name, requests := range map[string]cluster.Amounts{
		"most":     {math.MaxInt64, math.MaxInt64},
		"negative": {-1, math.MinInt64},
	} {
		t.Run(name, func(t *testing.T) {
			got := estimate.For(requests, cluster.Amounts{})
			for r, v := range got {
				if sum := v + 1<<50; v < 0 || sum < v {
					t.Errorf("%s of %d is estimated at %d", cluster.Resource(r), requests[r], v)
				}
			}
		})
	}
}

// Whatever arrives, a view's amounts are never negative, a node is known only with a fresh sample of its own and enough of
// a window, and every pod that runs is charged with something.
func TestViewInvariantsUnderRandomReadings(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		store, second := newStore(t), 0
		pods := []*cluster.Pod{aPod("a"), aPod("b", owner("other")), aPod("c", owner(""), requesting(cluster.Amounts{}))}
		for range 40 {
			second += rng.IntN(40) - 3
			snapshot := randomSnapshot(rng, pods, second)
			store.Ingest(randomBatch(rng, second), snapshot)
			now := at(second).Add(time.Duration(rng.IntN(120)) * time.Second)
			checkView(t, store.View(snapshot, now, nil))
		}
	}
}

func randomSnapshot(rng *rand.Rand, pods []*cluster.Pod, second int) *cluster.Snapshot {
	node := nodeWith("n1")
	for _, pod := range pods {
		if rng.IntN(5) == 0 {
			pod.UID, pod.Started = pod.UID+"'", at(second)
		}
		if rng.IntN(4) > 0 {
			node.Pods = append(node.Pods, pod)
		}
	}
	return snapshotOf(node)
}

func randomBatch(rng *rand.Rand, second int) Batch {
	used := func() cluster.Amounts {
		if rng.IntN(10) == 0 {
			return cluster.Amounts{rng.Int64() - rng.Int64(), rng.Int64() - rng.Int64()}
		}
		return amounts(rng.Int64N(20000), rng.Int64N(1000))
	}
	r := readAt(second + rng.IntN(20) - 10)
	r.Received = at(second)
	r.node("n1", used())
	for _, name := range []string{"a", "b", "c", "ghost"} {
		if rng.IntN(3) > 0 {
			r.pod(name, used())
		}
	}
	return r.Batch
}

func checkView(t *testing.T, view *View) {
	t.Helper()
	node := &view.Nodes[0]
	if node.Known() && (node.Age > 91*time.Second || node.Span < 75*time.Second) {
		t.Fatalf("known with age %v and span %v", node.Age, node.Span)
	}
	for r := range cluster.NumResources {
		for w := range NumWindows {
			if node.System[r] < 0 || node.Current[w][r] < node.System[r] || node.Predicted[w][r] < node.Current[w][r] {
				t.Fatalf("system %v, current %v and predicted %v are out of order", node.System, node.Current, node.Predicted)
			}
		}
	}
	for _, pod := range node.Pods {
		if !pod.Measured && pod.Used[Avg5m] == (cluster.Amounts{}) {
			t.Fatalf("a pod that is not measured is charged with nothing")
		}
	}
}
