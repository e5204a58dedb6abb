package observer

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
)

// twist changes every sample of a batch.
func twist(node func(now time.Time, s *usage.NodeSample), pod func(now time.Time, s *usage.PodSample)) func(*usage.Batch) {
	return func(batch *usage.Batch) {
		for i := range batch.Nodes {
			node(batch.Received, &batch.Nodes[i])
		}
		for i := range batch.Pods {
			pod(batch.Received, &batch.Pods[i])
		}
	}
}

// scaled replaces every value.
func scaled(node func(float64) float64, pod func(int64) int64) func(*usage.Batch) {
	return twist(
		func(_ time.Time, s *usage.NodeSample) {
			for k := range s.Readings {
				s.Readings[k].Value = node(s.Readings[k].Value)
			}
		},
		func(_ time.Time, s *usage.PodSample) {
			for r := range s.Last.Used {
				s.Last.Used[r] = pod(s.Last.Used[r])
			}
		})
}

// off shifts every time.
func off(by time.Duration) func(*usage.Batch) {
	return twist(
		func(now time.Time, s *usage.NodeSample) {
			for k := range s.Readings {
				s.Readings[k].At = now.Add(by)
			}
		},
		func(now time.Time, s *usage.PodSample) { s.Last.At = now.Add(by) })
}

// twice reports everything twice, the second time with the usage of a full
// node.
func twice(batch *usage.Batch) {
	nodes, pods := slices.Clone(batch.Nodes), slices.Clone(batch.Pods)
	for i := range nodes {
		readings := slices.Clone(nodes[i].Readings)
		for k := range readings {
			readings[k].Value = 9900
		}
		batch.Nodes[i].Readings = append(batch.Nodes[i].Readings, readings...)
		nodes[i].Readings = readings
	}
	for i := range pods {
		pods[i].Last.Used = cluster.Amounts{9900, 0}
	}
	batch.Nodes, batch.Pods = append(batch.Nodes, nodes...), append(batch.Pods, pods...)
}

func on(nodes []string, bend func(*usage.Batch)) func(*usage.Batch) {
	return func(batch *usage.Batch) {
		for i := range batch.Nodes {
			if slices.Contains(nodes, batch.Nodes[i].Name) {
				one := usage.Batch{Received: batch.Received, Nodes: batch.Nodes[i : i+1]}
				bend(&one)
			}
		}
	}
}

func silent(nodes ...string) func(*usage.Batch) {
	return func(batch *usage.Batch) {
		batch.Nodes = slices.DeleteFunc(batch.Nodes, func(s usage.NodeSample) bool { return slices.Contains(nodes, s.Name) })
	}
}

// fault is a temporary fault of a source.
type fault struct {
	fail error
	bend func(*usage.Batch)
	// gate is the gate's reason after three minutes of the fault, and fromStart the reason if the
	// source was never healthy.
	gate, fromStart reasons.Reason
	// unknown counts the unknown nodes by reason after three minutes of the fault, and
	// unknownFromStart if the source was never healthy.
	unknown, unknownFromStart map[reasons.Reason]int
}

func all(reason reasons.Reason) map[reasons.Reason]int { return map[reasons.Reason]int{reason: 6} }

func faults() map[string]fault {
	none := map[reasons.Reason]int{}
	whole := func(bend func(*usage.Batch), reason reasons.Reason) fault {
		return fault{bend: bend, gate: reasons.NoUsageData, fromStart: reasons.NoUsageData, unknown: all(reason), unknownFromStart: all(reason)}
	}
	nan := scaled(func(float64) float64 { return math.NaN() }, func(v int64) int64 { return v })
	some := func(reason reasons.Reason, n int) map[reasons.Reason]int { return map[reasons.Reason]int{reason: n} }
	return map[string]fault{
		"source down": {
			fail: errSource, gate: reasons.UsageSourceUnavailable, fromStart: reasons.UsageSourceUnavailable,
			unknown: all(reasons.UsageStale), unknownFromStart: all(reasons.NoUsageSample),
		},
		"half of the nodes missing": {
			bend: silent("n0", "n1", "n2"), gate: reasons.UsageCoverageTooLow, fromStart: reasons.UsageCoverageTooLow,
			unknown: some(reasons.UsageStale, 3), unknownFromStart: some(reasons.NoUsageSample, 3),
		},
		"one node missing": {
			bend: silent("n0"), unknown: some(reasons.UsageStale, 1), unknownFromStart: some(reasons.NoUsageSample, 1),
		},
		"one node is not a number": {
			bend: on([]string{"n0"}, nan), unknown: some(reasons.UsageAbsurd, 1), unknownFromStart: some(reasons.UsageAbsurd, 1),
		},
		"not a number": whole(nan, reasons.UsageAbsurd),
		"endless":      whole(scaled(func(float64) float64 { return math.Inf(1) }, func(int64) int64 { return math.MaxInt64 }), reasons.UsageAbsurd),
		"negative":     whole(scaled(func(v float64) float64 { return -v - 1 }, func(v int64) int64 { return -v - 1 }), reasons.UsageAbsurd),
		"1000 %":       whole(scaled(func(float64) float64 { return 100_000 }, func(int64) int64 { return 100_000 }), reasons.UsageAbsurd),
		"the least number": whole(
			scaled(func(float64) float64 { return -math.MaxFloat64 }, func(int64) int64 { return math.MinInt64 }), reasons.UsageAbsurd),
		"eight hours late":  whole(off(-8*time.Hour), reasons.UsageStale),
		"eight hours early": whole(off(8*time.Hour), reasons.UsageFromTheFuture),
		"without a time": whole(twist(
			func(_ time.Time, s *usage.NodeSample) {
				for k := range s.Readings {
					s.Readings[k].At = time.Time{}
				}
			},
			func(_ time.Time, s *usage.PodSample) { s.Last.At = time.Time{} }), reasons.UsageStale),
		"a fraction where cores are due": whole(
			scaled(func(v float64) float64 { return v / 10_000 }, func(v int64) int64 { return v }), reasons.UsageContradictory),
		"duplicates": {bend: twice, unknown: none, unknownFromStart: none},
		"nothing at all": {
			bend: func(batch *usage.Batch) { batch.Nodes, batch.Pods = nil, nil },
			gate: reasons.NoUsageData, fromStart: reasons.NoUsageData, unknown: all(reasons.UsageStale), unknownFromStart: all(reasons.NoUsageSample),
		},
		"readings of nothing": {
			bend: twist(func(_ time.Time, s *usage.NodeSample) { s.Readings = nil }, func(time.Time, *usage.PodSample) {}),
			gate: reasons.NoUsageData, fromStart: reasons.NoUsageData, unknown: all(reasons.UsageStale), unknownFromStart: all(reasons.NoUsageSample),
		},
		"pods missing": {
			bend: func(batch *usage.Batch) { batch.Pods = nil }, unknown: none, unknownFromStart: none,
		},
	}
}

// sixNodes adds nodes at 55 %, so that a pod of 5 % raises a node to the reject line, and any
// larger pod raises it above.
func sixNodes(t *testing.T) *harbor {
	h := newHarbor(t)
	for i := range 6 {
		name := fmt.Sprintf("n%d", i)
		h.node(name, 5500)
		h.pod("p"+name, name, "web")
		h.pods["p"+name] = cluster.Amounts{4000, 0}
	}
	return h
}

// harmless checks that no node is wrongly called hot or cool, and that none is rejected.
func (h *harbor) harmless(t *testing.T, when string) {
	t.Helper()
	latest := h.Latest()
	for name, state := range latest.States {
		if state.State != thresholds.Warm && state.State != thresholds.Unknown {
			t.Fatalf("%s: %s is %s at %v", when, name, state.State, h.now)
		}
	}
	for i := range cluster.NodeIndex(latest.Board.Len()) {
		if slices.Contains(latest.Board.AppendRefused(nil, cluster.Amounts{500, 0}), i) {
			predicted, _ := latest.Board.Predicted(i)
			t.Fatalf("%s: %s is rejected at %v, predicted at %v", when, latest.Board.Name(i), h.now, predicted)
		}
	}
}

// Whatever a source reports, it causes no pod to be evicted and no node to be rejected, and the
// reason is reported. Once the source recovers, everything else does, without a restart.
func TestFaults(t *testing.T) {
	for name, fault := range faults() {
		t.Run(name, func(t *testing.T) {
			h := sixNodes(t)
			h.pass(5 * time.Minute)
			h.suffer(t, fault, fault.gate, fault.unknown)
		})
		t.Run(name+", from the start", func(t *testing.T) {
			sixNodes(t).suffer(t, fault, fault.fromStart, fault.unknownFromStart)
		})
	}
}

func (h *harbor) suffer(t *testing.T, fault fault, gate reasons.Reason, unknown map[reasons.Reason]int) {
	t.Helper()
	h.fail, h.bend = fault.fail, fault.bend
	for range 12 {
		h.pass(15 * time.Second)
		h.harmless(t, "while it lasts")
	}
	if latest := h.Latest(); latest.Blocked != gate {
		t.Errorf("gate %q, want %q: %s", latest.Blocked, gate, latest.Closed())
	}
	if diff := cmp.Diff(unknown, h.Latest().Unknown()); diff != "" {
		t.Errorf("unknown nodes (-want +got):\n%s", diff)
	}
	h.fail, h.bend = nil, nil
	for range 8 {
		h.pass(15 * time.Second)
		h.harmless(t, "afterwards")
	}
	if latest := h.Latest(); latest.Blocked != "" || latest.Fresh != 6 {
		t.Errorf("two minutes afterwards %d nodes are known: %s", latest.Fresh, latest.Closed())
	}
}

// Every skipped sample is counted under its cause.
func TestFaultsAreCounted(t *testing.T) {
	want := map[string]usage.Cause{
		"not a number": usage.Absurd, "negative": usage.Absurd, "1000 %": usage.Absurd, "one node is not a number": usage.Absurd,
		"eight hours late": usage.Stale, "eight hours early": usage.Future, "duplicates": usage.Duplicate,
		"a fraction where cores are due": usage.Contradictory,
	}
	table := faults()
	for name, cause := range want {
		t.Run(name, func(t *testing.T) {
			h := sixNodes(t)
			h.pass(5 * time.Minute)
			h.bend = table[name].bend
			h.pass(15 * time.Second)
			problems := h.Latest().Sources[0].Problems
			if diff := cmp.Diff([]usage.Cause{cause}, slices.Collect(maps.Keys(problems))); diff != "" {
				t.Errorf("causes (-want +got):\n%s", diff)
			}
			if problem := problems[cause]; problem.Count == 0 || len(problem.Examples) == 0 {
				t.Errorf("%d samples, such as %v", problem.Count, problem.Examples)
			}
		})
	}
}

// If a second source is healthy, a fault of the first has no effect, and everything stays known.
func TestFaultsBehindAnotherSource(t *testing.T) {
	for name, fault := range faults() {
		t.Run(name, func(t *testing.T) {
			h := newHarbor(t, also("second"))
			for i := range 6 {
				name := fmt.Sprintf("n%d", i)
				h.node(name, 5500)
				h.pod("p"+name, name, "web")
				h.pods["p"+name] = cluster.Amounts{4000, 0}
			}
			h.source(1).nodes, h.source(1).pods = h.meter.nodes, h.meter.pods
			h.pass(5 * time.Minute)
			h.fail, h.bend = fault.fail, fault.bend
			for range 12 {
				h.pass(15 * time.Second)
				h.harmless(t, "while it lasts")
				if latest := h.Latest(); latest.Blocked != "" || latest.Fresh != 6 {
					t.Fatalf("%d nodes are known: %s", latest.Fresh, latest.Closed())
				}
			}
		})
	}
}
