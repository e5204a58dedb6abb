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

// Everything in a Batch that is not a new sample of a known object is counted, named and left out.
func TestIngestProblems(t *testing.T) {
	snapshot := snapshotOf(nodeWith("n1", aPod("a"), aPod("late", startedAt(100)), aPod("pending", notStarted)))
	cases := map[string]struct {
		batch *told
		want  Problems
		// unknown is why the node is then unknown; reasons.WindowTooShort if its sample was
		// accepted.
		unknown reasons.Reason
	}{
		"nothing wrong": {
			batch:   readAt(200).node("n1", amounts(1000, 10)).pod("a", amounts(500, 5)).pod("late", amounts(1, 1)).pod("pending", amounts(1, 1)),
			unknown: reasons.WindowTooShort,
		},
		"things nobody knows": {
			batch:   readAt(200).node("other", amounts(1, 1)).pod("ghost", amounts(1, 1)),
			want:    Problems{UnmatchedNode: {1, []string{"node other"}}, UnmatchedPod: {1, []string{"pod ns/ghost"}}},
			unknown: reasons.NoUsageSample,
		},
		"twice in one batch": {
			batch:   readAt(200).node("n1", amounts(1, 1)).node("n1", amounts(2, 2)).pod("a", amounts(1, 1)).pod("a", amounts(2, 2)),
			want:    Problems{Duplicate: {2, []string{"node n1", "pod ns/a"}}},
			unknown: reasons.WindowTooShort,
		},
		"twice in one sample": {
			batch:   readAt(200).node("n1", amounts(1, 1)).reading("n1", CPU, Last, 2),
			want:    Problems{Duplicate: {1, []string{"node n1"}}},
			unknown: reasons.WindowTooShort,
		},
		"negative": {
			batch:   readAt(200).node("n1", cluster.Amounts{-1, 0}).pod("a", cluster.Amounts{0, -1}),
			want:    Problems{Absurd: {2, []string{"pod ns/a", "node n1"}}},
			unknown: reasons.UsageAbsurd,
		},
		"not a number": {
			batch:   readAt(200).reading("n1", CPU, Last, math.NaN()).reading("n1", Memory, Last, 1),
			want:    Problems{Absurd: {1, []string{"node n1"}}},
			unknown: reasons.UsageAbsurd,
		},
		"a node of 32 cores that uses 129": {
			batch:   readAt(200).node("n1", amounts(129_000, 0)),
			want:    Problems{Absurd: {1, []string{"node n1"}}},
			unknown: reasons.UsageAbsurd,
		},
		"a pod that uses four times its node": {
			batch:   readAt(200).node("n1", amounts(100, 0)).pod("a", amounts(132_000, 0)),
			want:    Problems{Absurd: {1, []string{"pod ns/a"}}},
			unknown: reasons.WindowTooShort,
		},
		"91 s old": {
			batch:   readAt(200).measuredAt(109).node("n1", amounts(1, 1)),
			want:    Problems{Stale: {1, []string{"node n1"}}},
			unknown: reasons.UsageStale,
		},
		"90 s old": {
			batch:   readAt(200).measuredAt(110).node("n1", amounts(1, 1)),
			unknown: reasons.WindowTooShort,
		},
		"91 s in advance": {
			batch:   readAt(200).measuredAt(291).node("n1", amounts(1, 1)),
			want:    Problems{Future: {1, []string{"node n1"}}},
			unknown: reasons.UsageFromTheFuture,
		},
		"90 s in advance": {
			batch:   readAt(200).measuredAt(290).node("n1", amounts(1, 1)),
			unknown: reasons.WindowTooShort,
		},
		"no time at all": {
			batch:   &told{Batch: Batch{Source: "test", Received: at(200), Nodes: []NodeSample{{"n1", LastReadings(time.Time{}, amounts(1, 1))}}}},
			want:    Problems{Stale: {1, []string{"node n1"}}},
			unknown: reasons.UsageStale,
		},
		"the year 3000": {
			batch: &told{Batch: Batch{Source: "test", Received: at(200), Nodes: []NodeSample{
				{"n1", LastReadings(time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC), amounts(1, 1))},
			}}},
			want:    Problems{Future: {1, []string{"node n1"}}},
			unknown: reasons.UsageFromTheFuture,
		},
		"what the source itself had to leave out": {
			batch:   &told{200, Batch{Source: "test", Received: at(200), Problems: Problems{Unreachable: {1, []string{"node n1"}}}}},
			want:    Problems{Unreachable: {1, []string{"node n1"}}},
			unknown: reasons.NoUsageSample,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			store := newStore(t)
			if diff := cmp.Diff(map[string]Problems{"test": tc.want}, store.Ingest(snapshot, tc.batch.Batch)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if got := node1(store, snapshot, 200); got.Unknown != tc.unknown {
				t.Errorf("the node is %q, want %q", got.Unknown, tc.unknown)
			}
		})
	}
}

// The reason why a node is unknown stays until a sample is accepted, whatever the reasons why
// samples of later sources are refused.
func TestWhyANodeIsUnknown(t *testing.T) {
	store, snapshot := newStore(t), snapshotOf(nodeWith("n1"))
	feed(store, snapshot, 0, 90, amounts(1, 1), nil)
	repeated := readAt(185).measuredAt(90).node("n1", amounts(1, 1))
	repeated.MaxAge = 2 * time.Minute
	store.Ingest(snapshot, repeated.Batch, readBy("second", 185).node("n1", amounts(-1, -1)).Batch)
	if got := node1(store, snapshot, 185); got.Unknown != reasons.UsageStale {
		t.Errorf("%q, want %q: the first source was sane, and old", got.Unknown, reasons.UsageStale)
	}
	store.Ingest(snapshot, readAt(200).node("n1", amounts(-1, -1)).Batch)
	if got := node1(store, snapshot, 200); got.Unknown != reasons.UsageAbsurd {
		t.Errorf("%q, want %q", got.Unknown, reasons.UsageAbsurd)
	}
	store.Ingest(snapshot, readAt(215).node("n1", amounts(1, 1)).Batch)
	if got := node1(store, snapshot, 215); !got.Known() {
		t.Errorf("%q after a sane sample, want it known", got.Unknown)
	}
}

// All problems are counted, but only a few are named.
func TestExamplesAreBounded(t *testing.T) {
	b := readAt(0)
	for i := range 100 {
		b.node(fmt.Sprintf("ghost-%02d", i), amounts(1, 1))
	}
	got := newStore(t).Ingest(snapshotOf(nodeWith("n1")), b.Batch)["test"]
	want := Problems{UnmatchedNode: {100, []string{"node ghost-00", "node ghost-01", "node ghost-02", "node ghost-03", "node ghost-04"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	sum := Problems{Stale: {1, []string{"node a"}}, UnmatchedNode: {9, []string{"1", "2", "3", "4", "5", "6"}}}
	sum.Merge(got)
	sum.Merge(nil)
	if sum[UnmatchedNode].Count != 109 || len(sum[UnmatchedNode].Examples) != 6 || sum[Stale].Count != 1 {
		t.Errorf("merged to %v", sum)
	}
	if got[UnmatchedNode].Count != 100 || len(got[UnmatchedNode].Examples) != maxExamples {
		t.Errorf("merging changed what was merged: %v", got)
	}
	var none Problems
	none.Merge(nil)
	if none != nil {
		t.Errorf("nothing and nothing make %v", none)
	}
}

func TestCausesAreAll(t *testing.T) {
	var p Problems
	for _, cause := range Causes() {
		p.Add(cause, "x")
	}
	for range 20 {
		p.Add(Stale, "y")
	}
	if got := p[Stale]; got.Count != 21 || len(got.Examples) != maxExamples {
		t.Errorf("21 problems are %+v", got)
	}
	if len(p) != 11 || len(Causes()) != 11 {
		t.Errorf("%d causes, %d different", len(Causes()), len(p))
	}
}

// A node's usage may lag behind that of its pods. If it is less than a third of theirs, and lower
// by more than a tenth of the node, the sample is from a different node or in a different unit.
func TestContradictoryNode(t *testing.T) {
	cases := map[string]struct {
		node, pods    cluster.Amounts
		contradictory bool
	}{
		"the node uses more":                        {amounts(9000, 900), amounts(8000, 800), false},
		"half of its pods":                          {amounts(4000, 900), amounts(8000, 800), false},
		"a third of its pods":                       {amounts(4000, 900), amounts(12_000, 800), false},
		"less than a third":                         {amounts(3999, 900), amounts(12_000, 800), true},
		"zero, but that is a tenth of the node":     {amounts(0, 900), amounts(3200, 800), false},
		"nothing, and that is more than a tenth":    {amounts(0, 900), amounts(3201, 800), true},
		"memory in KiB":                             {cluster.Amounts{9000, 100_000 * mib / 1024}, amounts(8000, 90_000), true},
		"memory less than a third, on a large node": {amounts(9000, 1000), amounts(8000, 20_000), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			store, snapshot := newStore(t), snapshotOf(nodeWith("n1", aPod("a"), aPod("b")))
			half := cluster.Amounts{tc.pods[0] / 2, tc.pods[1] / 2}
			got := counts(store.Ingest(snapshot, readAt(0).node("n1", tc.node).pod("a", half).pod("b", tc.pods.Minus(half)).Batch))
			if (got[Contradictory] == 1) != tc.contradictory {
				t.Errorf("problems %v, want contradictory %v", got, tc.contradictory)
			}
			want := reasons.WindowTooShort
			if tc.contradictory {
				want = reasons.UsageContradictory
			}
			if got := node1(store, snapshot, 0); got.Unknown != want {
				t.Errorf("the node is %q, want %q", got.Unknown, want)
			}
		})
	}
}

// Pods that are no longer measured, and estimates, never contradict a node.
func TestEstimatesContradictNobody(t *testing.T) {
	large := func(p *cluster.Pod) { p.Requests = amounts(30_000, 200_000) }
	store, snapshot := newStore(t), snapshotOf(nodeWith("n1", aPod("new", large, owner("x")), aPod("silent")))
	store.Ingest(snapshot, readAt(0).node("n1", amounts(20_000, 100)).pod("silent", amounts(19_000, 10)).Batch)
	got := counts(store.Ingest(snapshot, readAt(120).node("n1", amounts(500, 100)).Batch))
	if len(got) > 0 {
		t.Errorf("problems %v, want none", got)
	}
}
