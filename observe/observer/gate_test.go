package observer

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
)

// tenNodes sets up ten nodes at 30 %.
func (h *harbor) tenNodes() {
	for i := range 10 {
		h.node(fmt.Sprintf("n%d", i), 3000)
	}
}

func (h *harbor) removeNodes() {
	for i := range 10 {
		h.Store().DeleteNode(fmt.Sprintf("n%d", i))
	}
}

// The reason why nothing may be evicted includes the figures on which it is based.
func TestClosed(t *testing.T) {
	cases := map[string]struct {
		play func(*harbor) // after two minutes without faults; two more minutes follow
		gate reasons.Reason
		want string
	}{
		"open": {play: func(*harbor) {}},
		"open, though a fifth is unknown": {
			play: func(h *harbor) { delete(h.meter.nodes, "n0"); delete(h.meter.nodes, "n1") },
		},
		"the source is down": {
			play: func(h *harbor) { h.fail = errSource }, gate: reasons.UsageSourceUnavailable,
			want: "UsageSourceUnavailable: 0 of 10 ready nodes have fresh usage (UsageStale: 10); test: metrics-server is away",
		},
		"the source reports nodes with unknown names": {
			play: func(h *harbor) {
				h.bend = func(batch *usage.Batch) {
					for i := range batch.Nodes {
						batch.Nodes[i].Name = fmt.Sprintf("10.0.0.%d:9100", i)
					}
				}
			},
			gate: reasons.NoUsageData,
			want: "NoUsageData: 0 of 10 ready nodes have fresh usage (UsageStale: 10)",
		},
		"too few are known, for several reasons": {
			play: func(h *harbor) {
				delete(h.meter.nodes, "n0")
				h.bend = func(batch *usage.Batch) {
					batch.Nodes[0].Readings[0].Value = math.Inf(1)                       // n1
					batch.Nodes[1].Readings[1].Value = -1                                // n2
					batch.Nodes[2].Readings[0].At = batch.Received.Add(10 * time.Minute) // n3
				}
			},
			gate: reasons.UsageCoverageTooLow,
			want: "UsageCoverageTooLow: 6 of 10 ready nodes have fresh usage (UsageAbsurd: 2, UsageFromTheFuture: 1, UsageStale: 1)",
		},
		"a node that is not ready does not count": {
			play: func(h *harbor) {
				for i := range 3 {
					delete(h.meter.nodes, fmt.Sprintf("n%d", i))
					h.unready(fmt.Sprintf("n%d", i))
				}
			},
		},
		"no node is ready": {
			play: func(h *harbor) {
				for i := range 10 {
					h.unready(fmt.Sprintf("n%d", i))
				}
			},
			gate: reasons.NoUsageData, want: "NoUsageData: 0 of 0 ready nodes have fresh usage",
		},
		"new nodes have no window yet": {
			play: func(h *harbor) {
				h.pass(75 * time.Second)
				for i := range 3 {
					h.node(fmt.Sprintf("new%d", i), 3000)
				}
			},
			gate: reasons.UsageWindowsFilling, want: "UsageWindowsFilling: 13 of 13 ready nodes have fresh usage, 3 of them not for long enough yet (WindowTooShort: 3)",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHarbor(t)
			h.tenNodes()
			h.pass(2 * time.Minute)
			began := h.now
			tc.play(h)
			h.pass(2*time.Minute - h.now.Sub(began))
			if latest := h.Latest(); latest.Blocked != tc.gate || latest.Closed() != tc.want {
				t.Errorf("gate %q, closed: %q, want %q: %q", latest.Blocked, latest.Closed(), tc.gate, tc.want)
			}
		})
	}
}

// The listener is called when the gate closes, opens or changes its reason, but not at every
// sample.
func TestGated(t *testing.T) {
	var told []string
	h := newHarbor(t, func(_ *harbor, config *Config) {
		config.Listener = listening(func(o *Observation) { told = append(told, string(o.Blocked)) })
	})
	h.tenNodes()
	steps := []struct {
		name string
		do   func()
		want []string
	}{
		{"windows fill at first, which is no news", func() { h.pass(time.Minute) }, nil},
		{"then they are filled", func() { h.pass(2 * time.Minute) }, nil},
		{"and stays so", func() { h.pass(5 * time.Minute) }, nil},
		{"three nodes fall silent", func() {
			for i := range 3 {
				delete(h.meter.nodes, fmt.Sprintf("n%d", i))
			}
			h.pass(3 * time.Minute)
		}, []string{"UsageCoverageTooLow"}},
		{"the source falls silent", func() { h.fail = errSource; h.pass(3 * time.Minute) }, []string{"UsageSourceUnavailable"}},
		{"it closes as before", func() { h.fail = nil; h.pass(3 * time.Minute) }, []string{"UsageCoverageTooLow"}},
		{"as many more come, whose windows are filling", func() {
			for i := range 10 {
				h.node(fmt.Sprintf("new%d", i), 3000)
			}
			h.pass(time.Minute)
		}, nil},
		{"and whole", func() { h.tenNodes(); h.pass(3 * time.Minute) }, []string{""}},
	}
	for _, step := range steps {
		told = nil
		step.do()
		if diff := cmp.Diff(step.want, told); diff != "" {
			t.Errorf("%s: reported (-want +got):\n%s", step.name, diff)
		}
	}
}

// Before a reading has covered enough nodes, the reason names what is missing: windows, nodes, any
// usage, or the source.
func TestGateAtTheStart(t *testing.T) {
	cases := map[string]struct {
		play func(*harbor)
		want []reasons.Reason // at the first sample, and 75 s later
	}{
		"all nodes":       {func(*harbor) {}, []reasons.Reason{reasons.UsageWindowsFilling, ""}},
		"eight of ten":    {func(h *harbor) { h.bend = silent("n0", "n1") }, []reasons.Reason{reasons.UsageWindowsFilling, ""}},
		"seven of ten":    {func(h *harbor) { h.bend = silent("n0", "n1", "n2") }, []reasons.Reason{reasons.UsageCoverageTooLow, reasons.UsageCoverageTooLow}},
		"none":            {func(h *harbor) { h.meter.nodes = nil }, []reasons.Reason{reasons.NoUsageData, reasons.NoUsageData}},
		"no source":       {func(h *harbor) { h.fail = errSource }, []reasons.Reason{reasons.UsageSourceUnavailable, reasons.UsageSourceUnavailable}},
		"no nodes at all": {func(h *harbor) { h.removeNodes() }, []reasons.Reason{reasons.NoUsageData, reasons.NoUsageData}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHarbor(t)
			h.tenNodes()
			tc.play(h)
			h.pass(15 * time.Second)
			got := []reasons.Reason{h.Latest().Blocked}
			h.pass(75 * time.Second)
			if diff := cmp.Diff(tc.want, append(got, h.Latest().Blocked)); diff != "" {
				t.Errorf("gates (-want +got):\n%s", diff)
			}
		})
	}
}

// A gate that is open at the first observation is not reported. This requires a source whose
// windows are available at once.
func TestGatedFromTheStart(t *testing.T) {
	told := 0
	h := newHarbor(t, func(_ *harbor, config *Config) { config.Listener = listening(func(*Observation) { told++ }) })
	h.window = usage.Avg5m
	h.tenNodes()
	h.pass(15 * time.Second)
	if latest := h.Latest(); told != 0 || latest.Blocked != "" || latest.Fresh != 10 {
		t.Errorf("reported %d times, %s", told, latest.Closed())
	}
}

// An observation is settled if sources with history cover the time that it takes to make a node
// hot, on as many of the known nodes as the gate requires. A Job then need not observe any longer.
func TestSettled(t *testing.T) {
	median := usage.Window{Kind: usage.KindQuantile, Percentile: 50, Over: 5 * time.Minute}
	short := usage.Window{Kind: usage.KindAvg, Over: time.Minute}
	cases := map[string]struct {
		change func(*harbor, *Config)
		want   bool
	}{
		"the source gives the window": {
			change: func(h *harbor, _ *Config) { h.window = usage.Avg5m }, want: true,
		},
		"the source gives single values": {
			change: func(*harbor, *Config) {},
		},
		"it provides one of two windows": {
			change: func(h *harbor, config *Config) {
				h.window = usage.Avg5m
				config.Usage.Windows = []usage.Window{median}
				config.HotWindows = append(config.HotWindows, median)
			},
		},
		"a window that makes nothing hot is summed up here": {
			change: func(h *harbor, config *Config) {
				h.window = usage.Avg5m
				config.Usage.Windows = []usage.Window{median}
			},
			want: true,
		},
		"the window is as long as the samples have to span": {
			change: func(h *harbor, config *Config) {
				h.window = short
				config.Usage.Windows, config.HotWindows, config.Hot.ConsecutiveSamples = []usage.Window{short}, []usage.Window{short}, 5
			},
			want: true,
		},
		"the window is shorter": {
			change: func(h *harbor, config *Config) {
				h.window = short
				config.Usage.Windows, config.HotWindows, config.Hot.ConsecutiveSamples = []usage.Window{short}, []usage.Window{short}, 6
			},
		},
		"a window that no line uses": {
			change: func(h *harbor, config *Config) { h.window, config.HotWindows = usage.Avg5m, []usage.Window{short} },
		},
		"on four of five nodes": {
			change: func(h *harbor, _ *Config) { h.window, h.bend = usage.Avg5m, lastOnly(2) }, want: true,
		},
		"on seven of ten": {
			change: func(h *harbor, _ *Config) { h.window, h.bend = usage.Avg5m, lastOnly(3) },
		},
		"nobody is known": {
			change: func(h *harbor, _ *Config) { h.fail = errSource },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHarbor(t, tc.change)
			h.tenNodes()
			h.pass(2 * time.Minute)
			if got := h.Latest().Settled; got != tc.want {
				t.Errorf("settled: %v, want %v", got, tc.want)
			}
		})
	}
}

// lastOnly makes the source report only single values of the first nodes.
func lastOnly(nodes int) func(*usage.Batch) {
	return func(batch *usage.Batch) {
		for i := range min(nodes, len(batch.Nodes)) {
			batch.Nodes[i].Readings = usage.LastReadings(batch.Received, cluster.Amounts{3000, 0})
		}
	}
}

// Enough pods are measured once four of five are, both in the whole cluster and on each hot node.
// Otherwise many small pods would be moved instead of large ones that are not measured yet.
func TestSufficient(t *testing.T) {
	for name, tc := range map[string]struct {
		unmeasured string
		period     time.Duration
		want       bool
	}{
		"half of a hot node's pods":  {"n0", 75 * time.Second, false},
		"half of a cool node's pods": {"n1", 75 * time.Second, true},
		"none":                       {"", 75 * time.Second, true},
		"none, observed too little":  {"", 5 * time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarbor(t)
			h.tenNodes()
			h.nodes["n0"] = cluster.Amounts{9000, 0}
			for i := range 10 {
				node := fmt.Sprintf("n%d", i)
				for _, pod := range []string{"a", "b", "c", "d"} {
					h.pod(node+pod, node, "rs-"+pod)
					if node != tc.unmeasured || pod < "c" {
						h.pods[node+pod] = cluster.Amounts{1000, 0}
					}
				}
			}
			h.pass(150 * time.Second)
			if state := h.Latest().States["n0"].State; state != thresholds.Hot {
				t.Fatalf("n0 is %s", state)
			}
			if got := h.Latest().Sufficient(tc.period, time.Second, 80); got != tc.want {
				t.Errorf("sufficient %v, want %v", got, tc.want)
			}
		})
	}
}

// If the first sample of a ready node is late, the observer waits for it, but
// not for long.
func TestSufficientWaitsForLateNodes(t *testing.T) {
	began := time.Date(2026, 11, 4, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		ready, fresh int
		seen         time.Duration
		want         bool
	}{
		"all known at once":        {10, 10, 0, true},
		"one is late":              {10, 9, 29 * time.Second, false},
		"one stays away":           {10, 9, 30 * time.Second, true},
		"nodes that are not ready": {8, 8, 0, true},
	} {
		o := &Observation{View: &usage.View{}, Ready: tc.ready, Fresh: tc.fresh, Settled: true, First: began, At: began.Add(tc.seen)}
		if got := o.Sufficient(5*time.Minute, 10*time.Second, 80); got != tc.want {
			t.Errorf("%s: sufficient %v, want %v", name, got, tc.want)
		}
	}
	o := &Observation{View: &usage.View{}, Ready: 2, Fresh: 1, Settled: true, First: began, At: began.Add(20 * time.Second)}
	if !o.Sufficient(20*time.Second, 10*time.Second, 80) {
		t.Error("it is waited for longer than the observation period")
	}
}
