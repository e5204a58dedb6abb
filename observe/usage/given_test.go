package usage

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/reasons"
)

// A window that a source provides takes precedence over the one computed here
// as long as it is fresh.
func TestGivenWindowsWin(t *testing.T) {
	store, snapshot := newStore(t, wanting(t, "max_avg_1h")), snapshotOf(nodeWith("n1"))
	hour := window(t, "max_avg_1h")
	for second := 0; second <= 300; second += 15 {
		b := readAt(second).node("n1", amounts(4000, 4000))
		if second == 150 {
			b.reading("n1", CPU, Avg5m, 7000).reading("n1", Memory, Avg5m, 7000*mib)
			b.reading("n1", CPU, hour, 9000).reading("n1", Memory, hour, 9000*mib)
		}
		store.Ingest(snapshot, b.Batch)
	}
	sourceSpan := []time.Duration{0, 5 * time.Minute, time.Hour}
	cases := map[string]struct {
		second     int
		want       []cluster.Amounts
		sourceSpan []time.Duration
	}{
		"fresh":          {150, []cluster.Amounts{amounts(4000, 4000), amounts(7000, 7000), amounts(9000, 9000)}, sourceSpan},
		"90 s old":       {240, []cluster.Amounts{amounts(4000, 4000), amounts(7000, 7000), amounts(9000, 9000)}, sourceSpan},
		"stale at last":  {301, []cluster.Amounts{amounts(4000, 4000), amounts(4000, 4000), amounts(4000, 4000)}, make([]time.Duration, 3)},
		"stale for 60 s": {300, []cluster.Amounts{amounts(4000, 4000), amounts(4000, 4000), amounts(4000, 4000)}, make([]time.Duration, 3)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := node1(store, snapshot, tc.second)
			if diff := cmp.Diff(tc.want, got.Measured); diff != "" {
				t.Errorf("measured (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.sourceSpan, got.SourceSpan); diff != "" {
				t.Errorf("sourceSpan (-want +got):\n%s", diff)
			}
		})
	}
}

// If a source provides only five-minute means, everything else is derived from them, and a node is
// known from its first reading.
func TestOnlyMeansAreEnough(t *testing.T) {
	store, snapshot := newStore(t, wanting(t, "p50_5m", "max_avg_1h")), snapshotOf(nodeWith("n1"))
	store.Ingest(snapshot, readAt(0).measuredAt(-20).means("n1", amounts(4000, 4000)).Batch)
	got := node1(store, snapshot, 0)
	nan := math.NaN()
	want := &NodeUsage{
		Source: "test", Sampled: at(0), Age: 20 * time.Second, Span: 5 * time.Minute,
		Measured:   []cluster.Amounts{amounts(4000, 4000), amounts(4000, 4000), amounts(4000, 4000), amounts(4000, 4000)},
		SourceSpan: []time.Duration{0, 5 * time.Minute, 0, 0},
		Reported:   []Reported{{nan, nan}, {4000, 4000 * mib}, {nan, nan}, {nan, nan}},
	}
	want.Current, want.Predicted = want.Measured, want.Measured
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateNaNs(), usedAlone()); diff != "" {
		t.Errorf("node (-want +got):\n%s", diff)
	}
	// (4000 + 8000) / 2 would be wrong as the mean, because the source's value is better. The
	// median is computed from the reported values.
	store.Ingest(snapshot, readAt(60).means("n1", amounts(8000, 4000)).Batch)
	got = node1(store, snapshot, 60)
	for w, want := range []int64{8000, 8000, 4000, 6000} {
		if got.Measured[w][0] != want {
			t.Errorf("%s is %dm, want %dm", store.windows[w], got.Measured[w][0], want)
		}
	}
}

// A mean of one resource provides no samples of the other.
func TestMeanOfOneResource(t *testing.T) {
	store, snapshot := newStore(t), snapshotOf(nodeWith("n1"))
	store.Ingest(snapshot, readAt(0).reading("n1", CPU, Last, 4000).reading("n1", Memory, Avg5m, gib).Batch)
	got := node1(store, snapshot, 0)
	if got.Unknown != reasons.WindowTooShort || got.Span != 0 || got.SourceSpan[AtAvg5m] != 0 {
		t.Errorf("%q after %v with source spans %v; want one sample of cpu to be too short", got.Unknown, got.Span, got.SourceSpan)
	}
}

// A pod's mean counts from the start. Its span is the pod's age, but at most five minutes.
func TestMeansOfPods(t *testing.T) {
	store := newStore(t)
	snapshot := snapshotOf(nodeWith("n1", aPod("new", startedAt(-30)), aPod("old"), aPod("young", startedAt(-100))))
	store.Ingest(snapshot, readAt(0).means("n1", amounts(9000, 900)).
		podMean("new", amounts(3000, 300)).podMean("old", amounts(1000, 100)).podMean("young", amounts(2000, 200)).Batch)
	got := node1(store, snapshot, 0)
	want := []PodUsage{
		{Span: 30 * time.Second, Used: amounts(3000, 300)}, // not measured: observed for 30 s only, with more usage than its siblings
		{Measured: true, Span: 5 * time.Minute, Used: amounts(1000, 100)},
		{Measured: true, Span: 100 * time.Second, Used: amounts(2000, 200)},
	}
	if diff := cmp.Diff(want, got.Pods, usedAlone()); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	if got.System != amounts(3000, 300) {
		t.Errorf("system %v, want what is beyond the pods' means", got.System)
	}
}

// A pod's mean is checked like its last sample. If one is rejected, the other is kept.
func TestPodMeanIsChecked(t *testing.T) {
	cases := map[string]struct {
		mean   Sample
		used   cluster.Amounts
		counts map[Cause]int
	}{
		"sane":     {Sample{at(0), amounts(3000, 10)}, amounts(3000, 10), map[Cause]int{}},
		"stale":    {Sample{at(-3600), amounts(3000, 10)}, amounts(1000, 10), map[Cause]int{Stale: 1}},
		"future":   {Sample{at(3600), amounts(3000, 10)}, amounts(1000, 10), map[Cause]int{Future: 1}},
		"absurd":   {Sample{at(0), amounts(300_000, 10)}, amounts(1000, 10), map[Cause]int{Absurd: 1}},
		"negative": {Sample{at(0), amounts(-1, 10)}, amounts(1000, 10), map[Cause]int{Absurd: 1}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			store, snapshot := newStore(t), snapshotOf(nodeWith("n1", aPod("a")))
			b := readAt(0).node("n1", amounts(5000, 100)).pod("a", amounts(1000, 10))
			b.Pods[0].Avg5m = tc.mean
			if diff := cmp.Diff(tc.counts, counts(store.Ingest(snapshot, b.Batch))); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			used, _ := podMean(store.index.pod("ns", "a"), store.second(at(0))-300)
			if used != tc.used {
				t.Errorf("used %v, want %v", used, tc.used)
			}
		})
	}
}

// Signals have their own windows. They are unknown if no source reports them, or has stopped doing
// so.
func TestSignals(t *testing.T) {
	const swap = Metric("swap")
	store := newStore(t, signalling(IOPressure, swap), wanting(t, "p50_5m"))
	snapshot := snapshotOf(nodeWith("n1"), nodeWith("n2"), nodeWith("n3"))
	nan := math.NaN()
	for second := 0; second <= 300; second += 15 {
		b := readAt(second).node("n1", amounts(4000, 4000)).reading("n1", IOPressure, Last, float64(second)/15)
		if second <= 150 {
			b.reading("n1", swap, Avg5m, 0.5)
		}
		b.reading("n1", "nobody.asked", Last, 1).reading("n1", IOPressure, window(t, "avg_1h"), 99)
		store.Ingest(snapshot, b.node("n2", amounts(1, 1)).Batch)
	}
	cases := map[string]struct {
		second int
		want   [][][]float64
	}{
		"all of n1, none of n2 and n3": {150, [][][]float64{
			// 0 to 20: io.pressure is computed from the values that the store has at that second
			{{20, 10, 10}, {0.5, 0.5, 0.5}}, {{nan, nan, nan}, {nan, nan, nan}}, {{nan, nan, nan}, {nan, nan, nan}},
		}},
		"what has ended is no longer known": {300, [][][]float64{
			{{20, 10, 10}, {nan, nan, nan}}, {{nan, nan, nan}, {nan, nan, nan}}, {{nan, nan, nan}, {nan, nan, nan}},
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			view := store.View(snapshot, at(tc.second), nil)
			for i := range view.Nodes {
				if diff := cmp.Diff(tc.want[i], view.Nodes[i].Signals, cmpopts.EquateNaNs()); diff != "" {
					t.Errorf("node %d (-want +got):\n%s", i, diff)
				}
			}
			if view.SignalIndex(swap) != 1 || view.SignalIndex(CPU) != -1 || view.WindowIndex(window(t, "p50_5m")) != 2 || view.WindowIndex(window(t, "avg_1h")) != -1 {
				t.Error("signals and windows are not where they should be")
			}
		})
	}
}

// A resource that no rule judges need not be known. If it was known but no longer is, it counts as
// zero rather than as its last value.
func TestOptionalResources(t *testing.T) {
	for resource, metric := range map[cluster.Resource]Metric{cluster.CPU: Memory, cluster.Memory: CPU} {
		t.Run("without "+resource.String(), func(t *testing.T) {
			snapshot := snapshotOf(nodeWith("n1"))
			strict := newStore(t)
			store := newStore(t, func(c *Config) { c.Optional[resource] = true })
			for second := 0; second <= 300; second += 15 {
				b := readAt(second).reading("n1", metric, Last, 4000)
				if second <= 90 {
					b.reading("n1", metricOf(resource), Last, 2000)
				}
				store.Ingest(snapshot, b.Batch)
				strict.Ingest(snapshot, b.Batch)
			}
			got := node1(store, snapshot, 301)
			var want cluster.Amounts
			want[cluster.CPU+cluster.Memory-resource] = 4000
			if !got.Known() || got.Age != time.Second || got.Span < 75*time.Second {
				t.Errorf("%q, %v old after %v; want it known", got.Unknown, got.Age, got.Span)
			}
			if diff := cmp.Diff(both(want), got.Measured); diff != "" {
				t.Errorf("measured (-want +got):\n%s", diff)
			}
			if got := node1(strict, snapshot, 301); got.Unknown != reasons.UsageStale {
				t.Errorf("where both are judged by: %q, want %q", got.Unknown, reasons.UsageStale)
			}
			if strict.Lacking() != 1 || store.Lacking() != 0 {
				t.Errorf("lacking %d and %d, want 1 and 0", strict.Lacking(), store.Lacking())
			}
		})
	}
}

func metricOf(r cluster.Resource) Metric { return []Metric{CPU, Memory}[r] }

// Optional resources do not make a node known: a node without a reading of either resource is
// unknown.
func TestNothingButSignals(t *testing.T) {
	store := newStore(t, signalling(IOPressure), func(c *Config) { c.Optional = [cluster.NumResources]bool{true, true} })
	snapshot := snapshotOf(nodeWith("n1"))
	store.Ingest(snapshot, readAt(0).reading("n1", IOPressure, Last, 5).Batch)
	if got := node1(store, snapshot, 0); got.Unknown != reasons.NoUsageSample || got.Signals[0][AtLast] != 5 {
		t.Errorf("%q with signals %v; want no sample, and the pressure", got.Unknown, got.Signals)
	}
}
