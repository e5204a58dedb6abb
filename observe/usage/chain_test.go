package usage

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/evenkeel/evenkeel/reasons"
)

// A node or pod uses the first source with a fresh and plausible sample.
func TestFirstSaneSourceWins(t *testing.T) {
	const now = 300
	first := func() *told { return readBy("first", now) }
	cases := map[string]struct {
		first *told
		// source is the source of the node's usage, and pod the CPU of its pod. The second source
		// reports 8000m and 2000m.
		source string
		pod    int64
		want   map[Cause]int
	}{
		"all is well":              {first().node("n1", amounts(4000, 400)).pod("a", amounts(1000, 100)), "first", 1000, nil},
		"it has no nodes":          {first().pod("a", amounts(1000, 100)), "second", 1000, nil},
		"it has no pods":           {first().node("n1", amounts(4000, 400)), "first", 2000, nil},
		"it has nothing":           {first(), "second", 2000, nil},
		"it is stale":              {first().measuredAt(now-91).node("n1", amounts(4000, 400)).pod("a", amounts(1000, 100)), "second", 2000, map[Cause]int{Stale: 2}},
		"it is from the future":    {first().measuredAt(now+91).node("n1", amounts(4000, 400)).pod("a", amounts(1000, 100)), "second", 2000, map[Cause]int{Future: 2}},
		"it is absurd":             {first().node("n1", amounts(129_000, 400)).pod("a", amounts(129_000, 100)), "second", 2000, map[Cause]int{Absurd: 2}},
		"it is negative":           {first().node("n1", amounts(-1, 400)).pod("a", amounts(1000, -1)), "second", 2000, map[Cause]int{Absurd: 2}},
		"it knows no memory":       {first().reading("n1", CPU, Last, 4000).pod("a", amounts(1000, 100)), "second", 1000, nil},
		"its memory is absurd":     {first().reading("n1", CPU, Last, 4000).reading("n1", Memory, Last, math.Inf(1)), "second", 2000, map[Cause]int{Absurd: 1}},
		"it contradicts its pods":  {first().node("n1", amounts(1000, 400)).pod("a", amounts(6000, 100)), "second", 6000, map[Cause]int{Contradictory: 1}},
		"its node is another":      {first().node("n9", amounts(4000, 400)).pod("b", amounts(1000, 100)), "second", 2000, map[Cause]int{UnmatchedNode: 1, UnmatchedPod: 1}},
		"its windows are not ours": {first().reading("n1", CPU, Window{KindAvg, 0, time.Hour}, 1).reading("n1", Memory, Window{KindAvg, 0, time.Hour}, 1), "second", 2000, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			store, snapshot := newStore(t), snapshotOf(nodeWith("n1", aPod("a", startedAt(0))))
			second := readBy("second", now).node("n1", amounts(8000, 800)).pod("a", amounts(2000, 200))
			problems := store.Ingest(snapshot, tc.first.Batch, second.Batch)
			got := node1(store, snapshot, now)
			if got.Source != tc.source || got.Pods[0].Used[0] < tc.pod {
				t.Errorf("node is of %q, pod uses %v; want %q and %dm", got.Source, got.Pods[0].Used, tc.source, tc.pod)
			}
			if used, _ := store.index.pod("ns", "a").used.newest(); used.amounts()[0] != tc.pod {
				t.Errorf("the pod's usage is %v, want %dm", used.amounts(), tc.pod)
			}
			found := map[Cause]int{}
			for cause, problem := range problems["first"] {
				found[cause] = problem.Count
			}
			if diff := cmp.Diff(tc.want, found, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("problems of the first (-want +got):\n%s", diff)
			}
			if len(problems["second"]) > 0 || store.Lacking() != 0 {
				t.Errorf("problems of the second: %v, lacking %d; want none", problems["second"], store.Lacking())
			}
		})
	}
}

// Each node has its own source. A node without any is counted as lacking.
func TestEachNodeHasItsSource(t *testing.T) {
	notReady := nodeWith("n4")
	notReady.Node.Ready = false
	store, snapshot := newStore(t), snapshotOf(nodeWith("n1"), nodeWith("n2"), nodeWith("n3"), notReady)
	store.Ingest(snapshot,
		readBy("first", 0).node("n1", amounts(1, 1)).Batch,
		readBy("second", 0).node("n1", amounts(2, 2)).node("n2", amounts(2, 2)).Batch)
	var got []string
	view := store.View(snapshot, at(0), nil)
	for i := range view.Nodes {
		got = append(got, view.Nodes[i].Source)
	}
	if diff := cmp.Diff([]string{"first", "second", "", ""}, got); diff != "" || store.Lacking() != 1 {
		t.Errorf("%d lacking, want 1: the node that is ready; sources (-want +got):\n%s", store.Lacking(), diff)
	}
}

// If the first source stops, the second takes over at once until the first is back, with its own
// windows and none of the first source's.
func TestChangeOfSource(t *testing.T) {
	store, snapshot := newStore(t, wanting(t, "max_avg_1h")), snapshotOf(nodeWith("n1"))
	hour := window(t, "max_avg_1h")
	prometheus := func(second int) Batch {
		return readBy("first", second).node("n1", amounts(4000, 4)).
			reading("n1", CPU, Avg5m, 4100).reading("n1", Memory, Avg5m, 4*mib).
			reading("n1", CPU, hour, 9000).reading("n1", Memory, hour, 4*mib).Batch
	}
	server := func(second int) Batch {
		return readBy("second", second).measuredAt(second-25).node("n1", amounts(5000, 4)).Batch
	}
	type heard struct {
		source     string
		age        time.Duration
		cpu        [3]int64
		sourceSpan time.Duration
	}
	hear := func(second int) heard {
		got := node1(store, snapshot, second)
		h := heard{source: got.Source, age: got.Age, sourceSpan: got.SourceSpan[2]}
		for w := range h.cpu {
			h.cpu[w] = got.Measured[w][0]
		}
		return h
	}
	same := cmp.AllowUnexported(heard{})
	for second := 0; second <= 150; second += 15 {
		store.Ingest(snapshot, prometheus(second), server(second))
	}
	if diff := cmp.Diff(heard{"first", 0, [3]int64{4000, 4100, 9000}, time.Hour}, hear(150), same); diff != "" {
		t.Errorf("both there (-want +got):\n%s", diff)
	}
	store.Ingest(snapshot, server(165))
	// (11 × 4000 + 5000) / 12: samples still count, but values that only the first source could
	// provide do not
	if diff := cmp.Diff(heard{"second", 25 * time.Second, [3]int64{5000, 4083, 4083}, 0}, hear(165), same); diff != "" {
		t.Errorf("the first gone (-want +got):\n%s", diff)
	}
	store.Ingest(snapshot, prometheus(180), server(180))
	if diff := cmp.Diff(heard{"first", 0, [3]int64{4000, 4100, 9000}, time.Hour}, hear(180), same); diff != "" {
		t.Errorf("the first back (-want +got):\n%s", diff)
	}
}

// A later source provides what the first lacks, always with its newest values, and never overrides
// the first.
func TestLaterSourceFills(t *testing.T) {
	store := newStore(t, wanting(t, "max_avg_1d", "p50_5m"), signalling(IOPressure, CPUPressure))
	snapshot, day := snapshotOf(nodeWith("n1")), window(t, "max_avg_1d")
	var got *NodeUsage
	for second := 0; second <= 90; second += 15 {
		step := float64(second)
		store.Ingest(snapshot,
			readBy("first", second).measuredAt(second-10).node("n1", amounts(4000, 4)).reading("n1", CPU, Avg5m, 4000).
				reading("n1", IOPressure, Last, 1).Batch,
			readBy("second", second).node("n1", amounts(8000, 8)).reading("n1", CPU, Avg5m, 8000).reading("n1", Memory, Avg5m, 8*mib).
				reading("n1", CPU, day, 9000+step).reading("n1", Memory, day, 9*mib).
				reading("n1", IOPressure, Last, 2).reading("n1", CPUPressure, Last, step).Batch,
			readBy("third", second).node("n1", amounts(9000, 9)).reading("n1", CPU, day, 20_000).reading("n1", CPUPressure, Last, 77).Batch)
		got = node1(store, snapshot, second)
		if got.Measured[2][0] != int64(9000+second) || got.Signals[1][AtLast] != step {
			t.Fatalf("second %d: %s is %dm, %s %v; want the second source's current value", second, day, got.Measured[2][0], CPUPressure, got.Signals[1])
		}
	}
	want := []int64{4000, 4000, 9090, 4000}
	for w := range want {
		if got.Measured[w][0] != want[w] {
			t.Errorf("%s is %dm, want %dm", store.windows[w], got.Measured[w][0], want[w])
		}
	}
	if got.Source != "first" || got.Age != 10*time.Second || got.Measured[AtLast][1] != 4*mib || got.Measured[AtAvg5m][1] != 8*mib {
		t.Errorf("%s of %v reads %v; want the first, with the mean of memory filled", got.Source, got.Age, got.Measured)
	}
	if got.Signals[0][AtLast] != 1 {
		t.Errorf("%s is %v, want the first's", IOPressure, got.Signals[0])
	}
	// the samples are 0, 15, ... 90
	if got.Signals[1][AtAvg5m] != 45 || got.Signals[1][3] != 45 {
		t.Errorf("%s is %v, want it summed up", CPUPressure, got.Signals[1])
	}
}

// Two sources with the same name are reported together.
func TestTwoSourcesOfOneName(t *testing.T) {
	store, snapshot := newStore(t), snapshotOf(nodeWith("n1"))
	problems := store.Ingest(snapshot, readAt(0).node("x", amounts(1, 1)).Batch, readAt(0).node("y", amounts(1, 1)).node("n1", amounts(1, 1)).Batch)
	want := map[string]Problems{"test": {UnmatchedNode: {Count: 2, Examples: []string{"node x", "node y"}}}}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// A source's own MaxAge overrides the store's.
func TestMaxAgeOfASource(t *testing.T) {
	store, snapshot := newStore(t), snapshotOf(nodeWith("n1"))
	b := readAt(0).measuredAt(-500).means("n1", amounts(4000, 4))
	b.MaxAge = 10 * time.Minute
	store.Ingest(snapshot, b.Batch)
	if got := node1(store, snapshot, 100); !got.Known() || got.Age != 10*time.Minute {
		t.Errorf("%q at %v, want it known for 10m", got.Unknown, got.Age)
	}
	if got := node1(store, snapshot, 101); got.Unknown != reasons.UsageStale {
		t.Errorf("%q at %v, want %q", got.Unknown, got.Age, reasons.UsageStale)
	}
}

// If samples may be older than a window, the window holds the newest of them, so no window of a
// known node is empty.
func TestAgeBeyondAWindow(t *testing.T) {
	store, snapshot := newStore(t, wanting(t, "avg_1m")), snapshotOf(nodeWith("n1"))
	feed(store, snapshot, 0, 90, amounts(4000, 4), nil)
	got := node1(store, snapshot, 170)
	if !got.Known() || got.Measured[2] != amounts(4000, 4) {
		t.Errorf("%q, %v; want it known at 4000m", got.Unknown, got.Measured)
	}
	old := readAt(1000).node("n1", amounts(4000, 4))
	old.MaxAge = time.Hour
	store.Ingest(snapshot, old.Batch)
	if got := node1(store, snapshot, 1400); got.Known() {
		t.Errorf("one sample 400 s ago is known: %v over %v", got.Measured, got.Span)
	}
}
