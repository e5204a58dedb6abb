package usage

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/reasons"
)

// After the clock has gone back by an hour, stored samples must not count as fresh for an hour, and
// the next samples must be accepted.
func TestClockGoesBackwards(t *testing.T) {
	store, snapshot := newStore(t), snapshotOf(nodeWith("n1", aPod("a")))
	feed(store, snapshot, 7200, 7500, amounts(30000, 100), map[string]cluster.Amounts{"a": amounts(29000, 10)})
	store.Ingest(snapshot, readAt(3600).node("n1", amounts(1000, 100)).pod("a", amounts(500, 10)).Batch)
	got := store.View(snapshot, at(3601), nil).Nodes[0]
	if got.Unknown != reasons.WindowTooShort || got.Measured[AtLast] != amounts(1000, 100) || got.Pods[0].Measured {
		t.Errorf("node reads %+v, want one new sample and nothing else", got)
	}
	feed(store, snapshot, 3615, 3690, amounts(1000, 100), map[string]cluster.Amounts{"a": amounts(500, 10)})
	if got := store.View(snapshot, at(3691), nil).Nodes[0]; !got.Known() || got.Current[AtAvg5m] != amounts(1000, 100) {
		t.Errorf("node reads %+v after 90 s, want it known at 1000m", got)
	}
}

// A node without allocatable resources is unknown, however much it uses.
func TestZeroAllocatable(t *testing.T) {
	for name, allocatable := range map[string]cluster.Amounts{
		"nothing": {}, "no memory": {32000, 0}, "negative": {-1, 256 * gib},
	} {
		t.Run(name, func(t *testing.T) {
			store, node := newStore(t), nodeWith("n1")
			node.Node.Allocatable = allocatable
			feed(store, snapshotOf(node), 0, 300, amounts(100, 100), nil)
			if got := store.View(snapshotOf(node), at(301), nil).Nodes[0]; got.Unknown != reasons.AllocatableUnknown {
				t.Errorf("unknown %q, want %q", got.Unknown, reasons.AllocatableUnknown)
			}
		})
	}
}

// If one pod's counter jumps, the absurd sample is left out and the pod keeps its previous usage.
func TestPodGlitch(t *testing.T) {
	store, snapshot := newStore(t), snapshotOf(nodeWith("n1", aPod("a")))
	feed(store, snapshot, 0, 285, amounts(2000, 100), map[string]cluster.Amounts{"a": amounts(1000, 10)})
	feed(store, snapshot, 300, 300, amounts(2000, 100), map[string]cluster.Amounts{"a": {math.MaxInt64, math.MaxInt64}})
	got := store.View(snapshot, at(301), nil).Nodes[0]
	if diff := cmp.Diff(both(amounts(2000, 100)), got.Current); diff != "" {
		t.Errorf("current (-want +got):\n%s", diff)
	}
}

// Pods that seem to use more than their node leave nothing for the system, and never a negative amount.
func TestPodsAboveTheirNode(t *testing.T) {
	store, snapshot := newStore(t), snapshotOf(nodeWith("n1", aPod("a"), aPod("b")))
	feed(store, snapshot, 0, 300, amounts(1000, 100), map[string]cluster.Amounts{"a": amounts(800, 90), "b": amounts(900, 90)})
	if got := store.View(snapshot, at(301), nil).Nodes[0].System; got != (cluster.Amounts{}) {
		t.Errorf("system %v, want none", got)
	}
}

func TestEmptyEverything(t *testing.T) {
	store := newStore(t)
	store.Ingest(&cluster.Snapshot{})
	store.Ingest(&cluster.Snapshot{}, Batch{})
	store.Ingest(&cluster.Snapshot{}, readAt(0).node("n1", amounts(1, 1)).Batch)
	view := store.View(&cluster.Snapshot{}, at(0), nil)
	if len(view.Nodes) != 0 || len(view.Siblings.owners) != 0 {
		t.Errorf("view %+v of nothing", view)
	}
	if got := store.View(snapshotOf(nodeWith("n1")), at(0), nil).Nodes[0]; got.Unknown != reasons.NoUsageSample {
		t.Errorf("a node that was added after the sample is %q, want %q", got.Unknown, reasons.NoUsageSample)
	}
}

// An absurd request is capped to an amount to which others can be added.
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

// Invalid values are left out one by one, and known values stay.
func TestHostileValues(t *testing.T) {
	for _, v := range hostileValues() {
		t.Run(fmt.Sprint(v), func(t *testing.T) {
			store, snapshot := newStore(t, signalling(IOPressure), wanting(t, "max_avg_1d")), snapshotOf(nodeWith("n1"))
			feed(store, snapshot, 0, 300, amounts(4000, 400), nil)
			b := readAt(315)
			for _, w := range store.Windows() {
				for _, m := range store.Metrics() {
					b.reading("n1", m, w, v)
				}
			}
			store.Ingest(snapshot, b.Batch)
			got := node1(store, snapshot, 316)
			checkView(t, &View{Windows: store.windows, Signals: []Metric{IOPressure}, Nodes: []NodeUsage{*got}})
			if sane := v == 0 || v == math.SmallestNonzeroFloat64; !sane {
				want := amounts(4000, 400)
				if diff := cmp.Diff([]cluster.Amounts{want, want, want}, got.Measured); diff != "" {
					t.Errorf("measured (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// A node whose allocatable is not known yet is unknown. Values that are reported in the meantime
// must not affect it for a day.
func TestAbsurdBeforeAllocatable(t *testing.T) {
	store, node := newStore(t, wanting(t, "max_avg_1d")), nodeWith("n1")
	allocatable := node.Node.Allocatable
	node.Node.Allocatable = cluster.Amounts{}
	store.Ingest(snapshotOf(node), readAt(0).reading("n1", CPU, Last, 1e300).reading("n1", Memory, Last, 1e300).Batch)
	node.Node.Allocatable = allocatable
	feed(store, snapshotOf(node), 15, 900, amounts(4000, 400), nil)
	if got := node1(store, snapshotOf(node), 900); !got.Known() || got.Measured[2] != amounts(4000, 400) {
		t.Errorf("%q, %v; want it known at 4000m", got.Unknown, got.Measured)
	}
}

// If a source declares its samples valid indefinitely, they are used indefinitely.
func TestAgeWithoutEnd(t *testing.T) {
	store, snapshot := newStore(t), snapshotOf(nodeWith("n1"))
	b := readAt(0).means("n1", amounts(4000, 400))
	b.MaxAge = math.MaxInt64
	store.Ingest(snapshot, b.Batch)
	if got := node1(store, snapshot, 365*24*3600); !got.Known() || got.Measured[AtAvg5m] != amounts(4000, 400) {
		t.Errorf("%q, %v; want it known", got.Unknown, got.Measured)
	}
}

// Several readings of the same moment count once, and a view of any moment is valid.
func TestOneMomentAndAnyMoment(t *testing.T) {
	store, snapshot := newStore(t, wanting(t, "max_avg_1d", "p95_1h")), snapshotOf(nodeWith("n1", aPod("a")))
	for range 1000 {
		store.Ingest(snapshot, readAt(0).node("n1", amounts(4000, 400)).pod("a", amounts(1, 1)).Batch)
	}
	if got := len(store.nodes["n1"].metrics[0].history.samples.samples); got != 1 {
		t.Errorf("kept %d samples of one second", got)
	}
	for _, now := range []time.Time{{}, at(-100 * 3600), at(-1), at(0), at(math.MaxInt32), epoch().AddDate(500, 0, 0)} {
		checkView(t, store.View(snapshot, now, nil))
	}
}
