package thresholds

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
)

// askAll calls every method that answers about a node.
func askAll(t *testing.T, r *Resolved, i int) {
	t.Helper()
	_, hot := r.Over(i)
	need := r.Need(i, cluster.Amounts{})
	if slices.Min(need[:]) < 0 || !hot && need != (cluster.Amounts{}) {
		t.Fatalf("node %d: over %v, need %v", i, hot, need)
	}
	r.Left(i)
	r.Cool(i)
	r.Ceiling(i)
	if sourceSpan := r.SourceSpan(i); sourceSpan < 0 {
		t.Fatalf("node %d: source span %v", i, sourceSpan)
	}
	for _, e := range r.Evidence(i) {
		if !hot || math.IsNaN(e.Value) || e.String() == "" {
			t.Fatalf("node %d: over %v by %+v", i, hot, e)
		}
	}
}

// A node that states no resources is over no line and does not affect any mean.
func TestNodesWithoutResources(t *testing.T) {
	rules := []Rule{
		evictAt(usage.CPU, usage.Avg5m, 65), evictAt(usage.Memory, usage.Avg5m, 65), evictAt(MemoryAvailable, usage.Avg5m, 10).reversed(),
		{Metric: usage.CPU, Window: usage.Last, Levels: levels(10, 10, 15, 5), Deviation: true},
	}
	for name, has := range map[string]cluster.Amounts{"nothing": {}, "less than nothing": {-1, -gib}, "least": {math.MinInt64, math.MinInt64}} {
		t.Run(name, func(t *testing.T) {
			n := steady(9000, 90)
			n.change = func(record *cluster.Node, _ *usage.NodeUsage) { record.Allocatable, record.Capacity = has, has }
			r := setOf(t, rules...).Resolve(viewOf(n, steady(4000, 40)))
			if metric, ok := r.Over(0); ok {
				t.Errorf("over %q of nothing", metric)
			}
			askAll(t, r, 0)
			if got, _ := r.Of(1, usage.CPU, usage.Last); got.Evict != 55 {
				t.Errorf("evict line %v, want 55: of the node that has something", got.Evict)
			}
		})
	}
}

// Levels that are not numbers are not lines.
func TestNaNLevels(t *testing.T) {
	nan := math.NaN()
	for _, metric := range []usage.Metric{usage.CPU, usage.Memory, usage.IOPressure} {
		r := resolve(t, steady(10_000, 100), Rule{Metric: metric, Window: usage.Avg5m, Levels: levels(nan, nan, nan, nan)})
		if metric, ok := r.Over(0); ok {
			t.Errorf("%s is over a line that is NaN", metric)
		}
		askAll(t, r, 0)
	}
}

func TestEmptyView(t *testing.T) {
	r := setOf(t, evictAt(usage.CPU, usage.Avg5m, 65), Rule{Metric: usage.CPU, Window: usage.Last, Levels: levels(1, 1, 2, 1), Deviation: true}).
		Resolve(&usage.View{Snapshot: &cluster.Snapshot{}})
	if r == nil || len(r.of) != 0 {
		t.Errorf("resolved %+v of an empty view", r)
	}
}

// A view from a store without data has rows of the right length, so every question about unknown
// nodes has an answer.
func TestUnknownNodesOfAStore(t *testing.T) {
	store, err := usage.NewStore(usage.Config{
		SampleInterval: 15 * time.Second, MaxAge: time.Minute, Windows: []usage.Window{hour}, Signals: []usage.Metric{usage.IOPressure, swap},
	}, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	snapshot := viewOf(steady(0, 0), steady(0, 0)).Snapshot
	snapshot.Nodes[0].Node.Name, snapshot.Nodes[1].Node.Name = "a", "b"
	now := time.Unix(1000, 0)
	store.Ingest(snapshot, usage.Batch{Source: "test", Received: now, Nodes: []usage.NodeSample{{Name: "a", Readings: []usage.Reading{
		{Metric: usage.CPU, Window: usage.Last, At: now, Value: math.NaN()},
	}}}})
	r := setOf(t,
		evictAt(usage.CPU, usage.Avg5m, 0), evictAt(usage.IOPressure, hour, 0), evictAt(swap, usage.Last, 100).reversed(),
		evictAt(MemoryAvailable, usage.Last, 10).reversed()).Resolve(store.View(snapshot, now, nil))
	for i := range 2 {
		if metric, ok := r.Over(i); ok {
			t.Errorf("node %d, of which nothing is known, is over %q", i, metric)
		}
		askAll(t, r, i)
	}
}

// Whatever nodes and lines there are, every question has an answer, and no two answers contradict
// each other.
func TestAnyLinesAnyNodes(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, -1, 100, 1e300, -1e300, math.SmallestNonzeroFloat64}
	level := func() float64 {
		if rng.IntN(3) == 0 {
			return odd[rng.IntN(len(odd))]
		}
		return 100 * rng.Float64()
	}
	whole := func() int64 {
		return []int64{0, -1, 1, 10_000, 100 * gib, math.MaxInt64, rng.Int64()}[rng.IntN(7)]
	}
	metrics := []usage.Metric{usage.CPU, usage.Memory, MemoryAvailable, usage.IOPressure, swap, "nobody.knows"}
	windows := []usage.Window{usage.Last, usage.Avg5m, hour, {Kind: usage.KindQuantile, Percentile: 50, Over: time.Hour}}
	for range 3000 {
		var rules []Rule
		for range rng.IntN(8) {
			rule := Rule{
				Metric: metrics[rng.IntN(len(metrics))], Window: windows[rng.IntN(len(windows))],
				Levels: levels(level(), level(), level(), level()), Relieves: cluster.Resource(rng.IntN(2)),
			}
			rule.LowerIsWorse = rule.Metric == MemoryAvailable || rule.Metric == swap
			rules = append(rules, rule)
		}
		n := over(rng.Int64N(20_000), rng.Int64N(20_000), rng.Int64N(20_000))
		n.io, n.swap = level(), level()
		n.change = func(record *cluster.Node, read *usage.NodeUsage) {
			record.Allocatable, record.Capacity = cluster.Amounts{whole(), whole()}, cluster.Amounts{whole(), whole()}
			if rng.IntN(4) == 0 {
				read.Unknown = reasons.NoUsageSample
			}
		}
		r := setOf(t, rules...).Resolve(viewOf(n, steady(1, 1)))
		askAll(t, r, 0)
		askAll(t, r, 1)
	}
}
