package thresholds

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
)

func TestNew(t *testing.T) {
	some := func(map[string]string) bool { return true }
	with := func(rule Rule) []Pool { return []Pool{{Rules: []Rule{rule}}} }
	deviating := func(rule Rule) Rule {
		rule.Deviation = true
		return rule
	}
	all := Rule{Metric: usage.CPU, Window: usage.Avg5m, Levels: levels(10, 10, 15, 5)}
	cases := map[string]struct {
		pools []Pool
		ok    bool
	}{
		"one pool of all nodes":                       {[]Pool{{}}, true},
		"some nodes, and then all":                    {[]Pool{{Matches: some}, {}}, true},
		"no pools":                                    {nil, false},
		"nobody's nodes":                              {[]Pool{{Matches: some}}, false},
		"all nodes first":                             {[]Pool{{}, {Matches: some}}, false},
		"for cpu, less is worse":                      {with(evictAt(usage.CPU, usage.Last, 1).reversed()), false},
		"for available memory, more is worse":         {with(evictAt(MemoryAvailable, usage.Last, 1)), false},
		"for available memory, less is worse":         {with(evictAt(MemoryAvailable, usage.Last, 1).reversed()), true},
		"relief by an unknown resource":               {with(evictAt(usage.IOPressure, usage.Last, 1).relieves(cluster.NumResources + 1)), false},
		"distances":                                   {with(deviating(all)), true},
		"distances with a level missing":              {with(deviating(evictAt(usage.CPU, usage.Last, 1))), false},
		"distances of a metric that is no percentage": {with(deviating(Rule{Metric: swap})), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := New(tc.pools, 5); (err == nil) != tc.ok {
				t.Errorf("New: %v, want ok=%v", err, tc.ok)
			}
		})
	}
}

// The first pool that a node matches judges it. The last pool matches every node.
func TestPools(t *testing.T) {
	has := func(label string) func(map[string]string) bool {
		return func(labels map[string]string) bool { return labels[label] != "" }
	}
	set, err := New([]Pool{
		{Name: "gpu", Matches: has("gpu"), Rules: []Rule{evictAt(usage.CPU, usage.Avg5m, 90)}},
		{Name: "large", Matches: has("large"), Rules: []Rule{evictAt(usage.CPU, usage.Avg5m, 80), evictAt(usage.Memory, usage.Avg5m, 50)}},
		{Name: "", Rules: []Rule{evictAt(usage.CPU, usage.Avg5m, 70)}},
	}, 5)
	if err != nil {
		t.Fatal(err)
	}
	labelled := func(labels ...string) node {
		n := steady(8500, 60)
		n.labels = map[string]string{}
		for _, label := range labels {
			n.labels[label] = "yes"
		}
		return n
	}
	unlabelled := steady(7500, 60)
	r := set.Resolve(viewOf(labelled("gpu"), labelled("gpu", "large"), labelled("large"), labelled("other"), unlabelled))
	var got []string
	for i := range 5 {
		metric, _ := r.Over(i)
		need := r.Need(i, cluster.Amounts{})
		if (metric == usage.CPU) != (need[0] > 0) {
			t.Errorf("node %d is over %q and needs %v", i, metric, need)
		}
		got = append(got, r.Pool(i)+":"+string(metric))
	}
	if diff := cmp.Diff([]string{"gpu:", "gpu:", "large:cpu", ":cpu", ":cpu"}, got); diff != "" {
		t.Errorf("pools (-want +got):\n%s", diff)
	}
}

func TestOf(t *testing.T) {
	cpu := Rule{Metric: usage.CPU, Window: usage.Avg5m, Levels: levels(10, 20, 30, 25)}
	free := Rule{Metric: swap, Window: hour, Levels: levels(40, 30, 10, math.Inf(-1)), LowerIsWorse: true}
	r := resolve(t, steady(0, 0), cpu, free)
	cases := map[string]struct {
		metric usage.Metric
		window usage.Window
		want   Levels
		ok     bool
	}{
		"as given":                   {usage.CPU, usage.Avg5m, cpu.Levels, true},
		"where less is worse":        {swap, hour, free.Levels, true},
		"another window":             {usage.CPU, usage.Last, NoLevels(), false},
		"an unknown window":          {usage.CPU, usage.Window{Kind: usage.KindAvg, Over: 1}, NoLevels(), false},
		"a metric that is not ruled": {usage.Memory, usage.Avg5m, NoLevels(), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := r.Of(0, tc.metric, tc.window)
			if diff := cmp.Diff(tc.want, got); diff != "" || ok != tc.ok {
				t.Errorf("%v, want %v; levels (-want +got):\n%s", ok, tc.ok, diff)
			}
		})
	}
}

// Distances are relative to the mean of the pool's known nodes, weighted by their size. The gap is
// 5.
func TestDeviation(t *testing.T) {
	// low is 10 below the mean; reject is 10, evict 15 and leave 5 above it
	rule := Rule{Metric: usage.CPU, Window: usage.Avg5m, Levels: levels(10, 10, 15, 5), Deviation: true}
	unknown := steady(10_000, 0)
	unknown.change = func(_ *cluster.Node, read *usage.NodeUsage) { read.Unknown = reasons.UsageStale }
	large := steady(12_000, 0)
	large.change = func(record *cluster.Node, _ *usage.NodeUsage) { record.Allocatable[cluster.CPU] = 30_000 }
	expecting := steady(4000, 0)
	expecting.more[0] = 5000
	cases := map[string]struct {
		nodes []node
		want  Levels
	}{
		"one node":                      {[]node{steady(4000, 0)}, levels(30, 50, 55, 45)},
		"two nodes":                     {[]node{steady(2000, 0), steady(6000, 0)}, levels(30, 50, 55, 45)},
		"a large node weighs more":      {[]node{steady(8000, 0), large}, levels(40, 60, 65, 55)}, // (8 + 12) of (10 + 30)
		"unknown nodes do not count":    {[]node{steady(4000, 0), unknown}, levels(30, 50, 55, 45)},
		"measured, not predicted usage": {[]node{expecting}, levels(30, 50, 55, 45)},
		"nothing is known":              {[]node{unknown}, levels(40, 60, 65, 55)},
		// evict is at least twice the gap, reject one gap below it, and leave not closer to low
		// than half way
		"all idle":     {[]node{steady(0, 0)}, levels(0, 10, 15, 7.5)},
		"nearly idle":  {[]node{steady(300, 0)}, levels(0, 13, 18, 9)},
		"all full":     {[]node{steady(10_000, 0)}, levels(90, 95, 100, 100)},
		"nearly full":  {[]node{steady(9000, 0)}, levels(80, 95, 100, 95)},
		"overdone":     {[]node{steady(20_000, 0)}, levels(90, 95, 100, 100)},
		"just no clip": {[]node{steady(8500, 0)}, levels(75, 95, 100, 90)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := setOf(t, rule).Resolve(viewOf(tc.nodes...)).Of(0, usage.CPU, usage.Avg5m)
			if diff := cmp.Diff(tc.want, got); diff != "" || !ok {
				t.Errorf("levels (-want +got):\n%s", diff)
			}
		})
	}
}

// Wherever the mean is and whatever the distances are, the lines stay in order: low, then reject, a
// gap, and evict, with leave between low and evict.
func TestDeviationStaysInOrder(t *testing.T) {
	for mean := int64(0); mean <= 20_000; mean += 50 {
		for _, by := range []Levels{levels(10, 10, 15, 5), levels(0, 0, 0, 0), levels(100, 1, 100, 0), levels(1, 40, 99, 99), levels(50, 0.1, 5.1, 0.1)} {
			rule := Rule{Metric: usage.CPU, Window: usage.Avg5m, Levels: by, Deviation: true}
			got, _ := setOf(t, rule).Resolve(viewOf(steady(mean, 0))).Of(0, usage.CPU, usage.Avg5m)
			if got.Low < 0 || got.Low > got.Reject || got.Reject+5 > got.Evict+1e-9 || got.Evict > 100 || got.Leave < got.Low || got.Leave > got.Evict {
				t.Fatalf("%+v around %d %% are %+v", by, mean/100, got)
			}
		}
	}
}

// Each pool has its own mean.
func TestDeviationByPool(t *testing.T) {
	rule := Rule{Metric: usage.CPU, Window: usage.Avg5m, Levels: levels(10, 10, 15, 5), Deviation: true}
	memory := Rule{Metric: usage.Memory, Window: usage.Last, Levels: levels(10, 10, 15, 5), Deviation: true}
	set, err := New([]Pool{
		{Name: "gpu", Matches: func(labels map[string]string) bool { return labels["gpu"] != "" }, Rules: []Rule{rule}},
		{Rules: []Rule{rule, memory}},
	}, 5)
	if err != nil {
		t.Fatal(err)
	}
	gpu := steady(2000, 0)
	gpu.labels = map[string]string{"gpu": "yes"}
	r := set.Resolve(viewOf(gpu, steady(6000, 20), steady(7000, 40)))
	for i, want := range []float64{35, 80, 80} { // 20 + 15, (60 + 70) / 2 + 15
		if got, _ := r.Of(i, usage.CPU, usage.Avg5m); got.Evict != want {
			t.Errorf("node %d: evict line of cpu %v, want %v", i, got.Evict, want)
		}
	}
	if got, ok := r.Of(2, usage.Memory, usage.Last); !ok || got.Evict != 45 {
		t.Errorf("evict line of memory %v, want 45", got.Evict)
	}
	if _, ok := r.Of(0, usage.Memory, usage.Last); ok {
		t.Error("one pool has the lines of another")
	}
}

// The same set may be resolved against several views in turn.
func TestSetKeepsNoState(t *testing.T) {
	rule := Rule{Metric: usage.CPU, Window: usage.Avg5m, Levels: levels(10, 10, 15, 5), Deviation: true}
	set := setOf(t, rule, evictAt(swap, usage.Last, 5).reversed())
	before := set.Resolve(viewOf(steady(4000, 0)))
	set.Resolve(viewOf(steady(9000, 0)))
	for _, r := range []*Resolved{before, set.Resolve(viewOf(steady(4000, 0)))} {
		if got, _ := r.Of(0, usage.CPU, usage.Avg5m); got.Evict != 55 {
			t.Errorf("evict line %v, want 55", got.Evict)
		}
	}
}
