package observer

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
)

// askedEach returns how often each source of the chain was asked.
func (h *harbor) askedEach() []int {
	counts := make([]int, len(h.at.config.Sources))
	for i := range counts {
		counts[i] = h.source(i).asked
	}
	return counts
}

// everybody makes every source report the same nodes.
func (h *harbor) everybody(used map[string]int64) {
	for name, cpuMilli := range used {
		h.node(name, cpuMilli)
		for i := range h.at.config.Sources {
			h.source(i).nodes[name] = cluster.Amounts{cpuMilli, 0}
		}
	}
}

// sourcesOf returns the source of each node's usage in the newest observation; empty for unknown
// nodes.
func (h *harbor) sourcesOf() map[string]string {
	from := map[string]string{}
	view := h.Latest().View
	for i := range view.Nodes {
		name := view.Snapshot.Nodes[i].Node.Name
		if from[name] = view.Nodes[i].Source; !view.Nodes[i].Known() {
			from[name] = ""
		}
	}
	return from
}

// spoil makes a source report impossible values for some nodes.
func spoil(names ...string) func(*usage.Batch) {
	return func(batch *usage.Batch) {
		for i := range batch.Nodes {
			for _, name := range names {
				if batch.Nodes[i].Name == name {
					batch.Nodes[i].Readings[0].Value = math.NaN()
				}
			}
		}
	}
}

// A source is asked if and only if the sources before it left something out.
func TestChainAsks(t *testing.T) {
	cases := map[string]struct {
		play func(*harbor)
		want []int // how often each source is asked in three samples, after one sample without faults
	}{
		"everything is there":              {play: func(*harbor) {}, want: []int{3, 0, 0}},
		"the first is down":                {play: func(h *harbor) { h.fail = errSource }, want: []int{3, 3, 0}},
		"both before are down":             {play: func(h *harbor) { h.fail = errSource; h.source(1).fail = errSource }, want: []int{3, 3, 3}},
		"the first does not know one node": {play: func(h *harbor) { delete(h.meter.nodes, "n1") }, want: []int{3, 3, 0}},
		"the first knows no node": {
			play: func(h *harbor) { h.meter.nodes = nil }, want: []int{3, 3, 0},
		},
		"the second does not know it either": {
			play: func(h *harbor) { delete(h.meter.nodes, "n1"); delete(h.source(1).nodes, "n1") }, want: []int{3, 3, 3},
		},
		"they complete each other": {
			play: func(h *harbor) { delete(h.meter.nodes, "n1"); delete(h.source(1).nodes, "n2") }, want: []int{3, 3, 0},
		},
		"a node that is not ready is not missed": {
			play: func(h *harbor) { delete(h.meter.nodes, "n1"); h.unready("n1") }, want: []int{3, 0, 0},
		},
		"a node that no source has": {
			play: func(h *harbor) { h.meter.nodes["ghost"] = cluster.Amounts{1, 1} }, want: []int{3, 0, 0},
		},
		"the first has no pods": {play: func(h *harbor) { h.meter.pods = nil }, want: []int{3, 3, 0}},
		"nobody has pods": {
			play: func(h *harbor) { h.meter.pods, h.source(1).pods, h.source(2).pods = nil, nil, nil }, want: []int{3, 3, 3},
		},
		"four of five pods will do": { // MinCoverage is 80 %
			play: func(h *harbor) { delete(h.meter.pods, "p0") }, want: []int{3, 0, 0},
		},
		"three will not": {
			play: func(h *harbor) { delete(h.meter.pods, "p0"); delete(h.meter.pods, "p1") }, want: []int{3, 3, 0},
		},
		"what the first says of one node is absurd: the others are asked the next time, then as far as needed": {
			play: func(h *harbor) { h.bend = spoil("n1") }, want: []int{3, 2, 1},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHarbor(t, also("second", "third"))
			h.everybody(map[string]int64{"n1": 3000, "n2": 3000})
			for _, pod := range []string{"p0", "p1", "p2", "p3", "p4"} {
				h.pod(pod, "n1", "web")
				for i := range h.at.config.Sources {
					h.source(i).pods[pod] = cluster.Amounts{500, 0}
				}
			}
			h.pass(15 * time.Second)
			if diff := cmp.Diff([]int{1, 0, 0}, h.askedEach()); diff != "" {
				t.Fatalf("asked while all is well (-want +got):\n%s", diff)
			}
			tc.play(h)
			h.pass(45 * time.Second)
			got := h.askedEach()
			got[0]--
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

// If the first source's value for a node is implausible, every sample takes the node from the
// second source, not only every other one. The node returns to the first source as soon as its
// value is plausible again.
func TestChainKeepsTheSecondSource(t *testing.T) {
	h := newHarbor(t, also("second", "third"))
	h.everybody(map[string]int64{"n1": 3000, "n2": 3000})
	h.pass(2 * time.Minute)
	h.bend = spoil("n1")
	h.pass(30 * time.Second)
	for range 8 {
		h.pass(15 * time.Second)
		if diff := cmp.Diff(map[string]string{"n1": "second", "n2": "test"}, h.sourcesOf()); diff != "" {
			t.Fatalf("sources (-want +got):\n%s", diff)
		}
		if age := h.Latest().View.Nodes[0].Age; age != 0 {
			t.Errorf("n1 is as it was %v ago", age)
		}
		if asked := h.Latest().Sources; !asked[1].Asked || asked[2].Asked {
			t.Errorf("second asked: %v, third: %v", asked[1].Asked, asked[2].Asked)
		}
	}
	h.bend = nil
	h.pass(15 * time.Second)
	if diff := cmp.Diff(map[string]string{"n1": "test", "n2": "test"}, h.sourcesOf()); diff != "" {
		t.Errorf("afterwards (-want +got):\n%s", diff)
	}
	h.pass(15 * time.Second)
	before := h.source(1).asked
	h.pass(time.Minute)
	if more := h.source(1).asked - before; more != 0 {
		t.Errorf("the second is asked %d times more", more)
	}
}

// The usage and states of nodes do not change when the first source stops, nor when it starts
// again.
func TestChainTakesOver(t *testing.T) {
	h := newHarbor(t, also("second"))
	h.everybody(map[string]int64{"n1": 7000, "n2": 3000, "n3": 3000})
	var gates []reasons.Reason
	h.listener = listening(func(o *Observation) { gates = append(gates, o.Blocked) })
	h.pass(5 * time.Minute)
	for _, step := range []struct {
		name string
		fail error
		from string
	}{{"stopped", errSource, "second"}, {"started", nil, "test"}, {"stopped again", errSource, "second"}} {
		h.fail = step.fail
		for range 10 {
			h.pass(15 * time.Second)
			latest := h.Latest()
			if latest.Fresh != 3 || latest.Blocked != "" || latest.States["n1"].State != "hot" || latest.States["n2"].State != "cool" {
				t.Fatalf("%s: %d fresh, gate %q, n1 %q, n2 %q", step.name, latest.Fresh, latest.Blocked, latest.States["n1"].State, latest.States["n2"].State)
			}
			if diff := cmp.Diff(map[string]string{"n1": step.from, "n2": step.from, "n3": step.from}, h.sourcesOf()); diff != "" {
				t.Fatalf("%s: sources (-want +got):\n%s", step.name, diff)
			}
		}
		if got := errors.Is(h.Latest().Sources[0].Err, errSource); got != (step.fail != nil) {
			t.Errorf("%s: the first failed: %v", step.name, got)
		}
		if h.Latest().SourceError() != nil {
			t.Errorf("%s: %v, though one source answers", step.name, h.Latest().SourceError())
		}
	}
	if len(gates) > 0 {
		t.Errorf("reported gates %q", gates)
	}
}

var errSecond = errors.New("connection refused")

// If every source is down, known usage ages until the gate closes, and the error of each source is
// reported.
func TestChainAllDown(t *testing.T) {
	h := newHarbor(t, also("second"))
	h.everybody(map[string]int64{"n1": 3000, "n2": 3000})
	h.pass(2 * time.Minute)
	h.fail, h.source(1).fail = errSource, errSecond
	h.pass(90 * time.Second)
	if latest := h.Latest(); latest.Blocked != "" || latest.Fresh != 2 {
		t.Errorf("after 90 s: gate %q, %d fresh", latest.Blocked, latest.Fresh)
	}
	h.pass(15 * time.Second)
	latest := h.Latest()
	want := "UsageSourceUnavailable: 0 of 2 ready nodes have fresh usage (UsageStale: 2); test: metrics-server is away; second: connection refused"
	if latest.Blocked != reasons.UsageSourceUnavailable || latest.Closed() != want {
		t.Errorf("closed: %q, want %q", latest.Closed(), want)
	}
	if err := latest.SourceError(); !errors.Is(err, errSource) || !errors.Is(err, errSecond) {
		t.Errorf("error %v", err)
	}
	h.source(1).fail = nil
	h.pass(75 * time.Second)
	if latest := h.Latest(); latest.Blocked != "" || latest.Closed() != "" {
		t.Errorf("with one back: gate %q, %s", latest.Blocked, latest.Closed())
	}
}

// A source that does not answer takes as long as its timeout. Then the next source is asked.
// Samples keep their interval.
func TestSlowSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = 10 * time.Second
		slow := sourceFunc(func(ctx context.Context, _ *cluster.Snapshot) (usage.Batch, error) {
			ctx, cancel := context.WithTimeout(ctx, timeout)
			defer cancel()
			<-ctx.Done()
			return usage.Batch{}, ctx.Err()
		})
		h := newHarbor(t, func(_ *harbor, config *Config) {
			config.Now = time.Now
			config.Sources = []Source{slow, newMeter("second", time.Now)}
		})
		h.node("n1", 0)
		h.source(1).nodes["n1"] = cluster.Amounts{3000, 0}
		started := time.Now()
		for range 6 {
			h.Observer.Sample(t.Context())
			first := h.Latest().Sources[0]
			if first.Took != timeout || !errors.Is(first.Err, context.DeadlineExceeded) {
				t.Fatalf("took %v: %v", first.Took, first.Err)
			}
			time.Sleep(5 * time.Second)
		}
		if took := time.Since(started); took != 90*time.Second {
			t.Errorf("six samples took %v", took)
		}
		if latest := h.Latest(); latest.Blocked != "" || latest.View.Nodes[0].Source != "second" {
			t.Errorf("closed: %s; n1 from %q", latest.Closed(), latest.View.Nodes[0].Source)
		}
	})
}

// A reading that is cut off because the process ends is not reported as a failure of the source,
// and nothing is published.
func TestSlowSourceAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarbor(t, also("second"))
		ctx, cancel := context.WithCancel(t.Context())
		h.at.config.Sources[0] = sourceFunc(func(ctx context.Context, _ *cluster.Snapshot) (usage.Batch, error) {
			cancel()
			return usage.Batch{}, ctx.Err()
		})
		h.Observer.Sample(ctx)
		if h.Latest() != nil {
			t.Errorf("observed %s", strings.ToLower(h.Latest().Closed()))
		}
	})
}

// The result of each source is reported, including its error.
func TestSourceStatus(t *testing.T) {
	h := newHarbor(t, also("second", "third"))
	h.everybody(map[string]int64{"n1": 3000, "n2": 3000})
	h.meter.nodes["ghost"] = cluster.Amounts{1, 1}
	h.pods["phantom"] = cluster.Amounts{1, 1}
	delete(h.meter.nodes, "n2")
	h.source(1).fail = errSecond
	h.pass(15 * time.Second)
	want := []SourceStatus{
		{Name: "test", Asked: true, Nodes: 2, Pods: 1, Problems: usage.Problems{
			usage.UnmatchedNode: {Count: 1, Examples: []string{"node ghost"}}, usage.UnmatchedPod: {Count: 1, Examples: []string{"pod ns/phantom"}},
		}},
		{Name: "second", Asked: true, Err: errSecond},
		{Name: "third", Asked: true, Nodes: 2},
	}
	got := h.Latest().Sources
	equalErrors := cmp.Comparer(func(a, b error) bool { return errors.Is(a, b) })
	if diff := cmp.Diff(want, got, equalErrors); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
}
