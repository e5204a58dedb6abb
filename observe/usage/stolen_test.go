package usage

import (
	"math"
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
)

// CPU that is stolen from a machine is not available: a burstable machine has only 1.6 of its 8
// cores while 6.4 are stolen. The capacity is available again once no CPU is stolen or none is
// reported.
func TestStolenCPUIsUnavailable(t *testing.T) {
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
	if none := read(330, 0); none.Snapshot != snapshot || none.Nodes[0].StolenMilliCores != 0 {
		t.Errorf("%dm are stolen of a machine that gets all it wants", none.Nodes[0].StolenMilliCores)
	}
	read(345, 6400)
	store.Ingest(snapshot, readAt(480).node("n1", amounts(1600, 900)).pod("a", amounts(1500, 700)).Batch)
	if unsaid := node1(store, snapshot, 480); unsaid.StolenMilliCores != 0 || !unsaid.Known() {
		t.Errorf("%dm count as stolen although no source has reported that for long", unsaid.StolenMilliCores)
	}
}

// CPU that a machine uses cannot have been stolen from it. Some kernels have had a runaway counter
// of stolen time, and on some the kubelet reports usage that includes stolen time. Neither makes a
// node hot.
func TestStolenCPUFitsIntoTheMachine(t *testing.T) {
	cases := map[string]struct {
		// first is the usage measured by the node's first source, and used that measured by the
		// source that reports the stolen CPU. If first is 0, there is only one source.
		first, used, stolen float64
		pod                 int64
		left                int64 // of 8000m
		contradictory       bool
	}{
		"all of an idle machine":                            {used: 0, stolen: 8000, left: 80},
		"all but its usage, as far as times agree":          {used: 700, stolen: 8000, left: 700},
		"all of a half-used machine":                        {used: 4000, stolen: 8000, left: 8000, contradictory: true},
		"far more than there is":                            {used: 100, stolen: 20_000, left: 8000, contradictory: true},
		"usage has stolen time in it":                       {used: 7900, stolen: 6400, left: 8000, contradictory: true},
		"usage of the first source has it, and is not full": {first: 4000, used: 2000, stolen: 2000, left: 8000},
		"usage of the first source has it, and is full":     {first: 8000, used: 1600, stolen: 6400, left: 8000},
		"usage of the first source lacks it":                {first: 1700, used: 1600, stolen: 6400, left: 1700},
		"usage of pods contains it":                         {used: 1600, stolen: 6400, pod: 7500, left: 1600},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			store, snapshot := newStore(t), snapshotOf(sized(cluster.Amounts{8000, 32 * gib}, cluster.Amounts{8000, 32 * gib}, aPod("a")))
			var view *View
			var problems map[string]Problems
			for second := 0; second <= 300; second += 15 {
				says := readAt(second).node("n1", amounts(int64(tc.used), 900)).reading("n1", CPU, Avg5m, tc.used).reading("n1", CPUStolen, Avg5m, tc.stolen)
				batches := []Batch{says.pod("a", amounts(tc.pod, 100)).Batch}
				if tc.first > 0 {
					batches = []Batch{readBy("first", second).node("n1", amounts(int64(tc.first), 900)).reading("n1", CPU, Avg5m, tc.first).Batch, says.Batch}
				}
				problems = store.Ingest(snapshot, batches...)
				view = store.View(snapshot, at(second), nil)
			}
			got := &view.Nodes[0]
			if left := view.Snapshot.Nodes[0].Node.Allocatable[cluster.CPU]; left != tc.left || !got.Known() {
				t.Errorf("%dm of the machine are left, want %dm; %q", left, tc.left, got.Unknown)
			}
			if contradictory := counts(problems)[Contradictory] > 0; contradictory != tc.contradictory {
				t.Errorf("problems %v", problems)
			}
		})
	}
}

// A node is known even if its stolen CPU is not, and an absurd value of stolen CPU does not make
// the node's usage absurd.
func TestAbsurdStolenCPUHidesNoNode(t *testing.T) {
	for name, signalsOnly := range map[string]bool{"judged by usage": false, "judged by signals alone": true} {
		t.Run(name, func(t *testing.T) {
			store := newStore(t, func(c *Config) { c.SignalsOnly, c.Signals = signalsOnly, []Metric{CPUPressure} })
			snapshot := snapshotOf(nodeWith("n1"))
			var problems map[string]Problems
			for second := 0; second <= 300; second += 15 {
				for _, stolen := range []float64{1e12, -1, math.NaN(), math.Inf(1)} {
					read := readAt(second)
					if !signalsOnly {
						read.node("n1", amounts(1600, 900))
					}
					read.reading("n1", CPUPressure, Last, 10).reading("n1", CPUStolen, Avg5m, stolen)
					problems = store.Ingest(snapshot, read.Batch)
					if got := counts(problems); got[Absurd] != 1 {
						t.Fatalf("%v milli-cores stolen: problems %v", stolen, got)
					}
				}
			}
			if got := node1(store, snapshot, 300); !got.Known() || got.StolenMilliCores != 0 {
				t.Errorf("%q, %dm stolen", got.Unknown, got.StolenMilliCores)
			}
		})
	}
}

// A second source can report stolen CPU that the first leaves out.
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
