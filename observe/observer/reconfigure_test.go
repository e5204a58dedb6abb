package observer

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
)

// policyOf returns the harbor's configuration with changes, as another policy
// would set it.
func (h *harbor) policyOf(changes ...func(*Config)) Config {
	config := h.at.config
	config.ObservationPeriod = 2 * time.Minute
	for _, change := range changes {
		change(&config)
	}
	return config
}

// evictingAbove sets the evict line of CPU.
func evictingAbove(t testing.TB, percent float64) func(*Config) {
	set, err := thresholds.New([]thresholds.Pool{{Name: "default", Rules: []thresholds.Rule{{
		Metric: usage.CPU, Window: usage.Avg5m,
		Levels: thresholds.Levels{Low: percent - 20, Reject: percent - 5, Evict: percent, Leave: percent - 5},
	}}}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	return func(c *Config) { c.Lines = set }
}

// readingFrom makes the samples incompatible with those of other
// configurations.
func readingFrom(what string, from ...Source) func(*Config) {
	return func(c *Config) {
		c.Reads = what
		if len(from) > 0 {
			c.Sources = from
		}
	}
}

func (h *harbor) reconfigure(config Config) {
	h.t.Helper()
	if err := h.Reconfigure(config); err != nil {
		h.t.Fatal(err)
	}
}

// twoNodes sets up one node at 60 % and one at 10 % of CPU, observed for six
// minutes.
func twoNodes(t testing.TB, changes ...func(*harbor, *Config)) *harbor {
	h := newHarbor(t, changes...)
	h.node("busy", 6000)
	h.node("idle", 1000)
	h.pass(6 * time.Minute)
	return h
}

// New lines apply at once. To make a node hot, they still require the usual number of samples,
// which includes those already taken. No node becomes unknown.
func TestReconfigureLinesKeepsSamples(t *testing.T) {
	h := twoNodes(t)
	before := h.Latest()
	if got := before.States["busy"].State; got != thresholds.Warm {
		t.Fatalf("busy is %v under a line of 65 %%, want warm", got)
	}
	h.reconfigure(h.policyOf(evictingAbove(t, 50)))
	latest := h.Latest()
	if latest == before || latest.Blocked != "" || latest.Changing {
		t.Fatalf("published anew: %v, gate %q, changing %v; want the new lines at work", latest != before, latest.Blocked, latest.Changing)
	}
	if got, want := latest.View.Nodes[0].Span, before.View.Nodes[0].Span; got != want || want == 0 {
		t.Errorf("samples span %v, want %v as before", got, want)
	}
	if board := latest.Board; !slices.Contains(board.AppendRefused(nil, cluster.Amounts{}), board.Node([]byte("busy"))) {
		t.Error("the busy node still accepts pods above its new reject line")
	}
	h.pass(30 * time.Second)
	if got := h.Latest().States["busy"].State; got == thresholds.Hot {
		t.Error("hot after two samples, want three")
	}
	h.pass(15 * time.Second)
	if got := h.Latest().States["busy"].State; got != thresholds.Hot {
		t.Errorf("busy is %v after three samples, want hot", got)
	}
	h.reconfigure(h.policyOf(evictingAbove(t, 80)))
	h.pass(15 * time.Second)
	if got := h.Latest().States["busy"].State; got != thresholds.Cool {
		t.Errorf("busy is %v under a line of 80 %%, want cool", got)
	}
}

// If the policy changes the sources, Observations continue with the old ones, but without
// evictions, until the new ones have been observed for the observation period. Then the new ones
// are used. No closed gate is ever reported.
func TestReconfigureSources(t *testing.T) {
	h := twoNodes(t)
	var gates []reasons.Reason
	h.listener = listening(func(o *Observation) { gates = append(gates, o.Blocked) })
	other := newMeter("other", h.at.config.Now)
	other.nodes = map[string]cluster.Amounts{"busy": {3000, 0}, "idle": {2000, 0}}
	h.reconfigure(h.policyOf(readingFrom("other", other), evictingAbove(t, 25)))
	began := h.now
	for h.now.Sub(began) < 2*time.Minute {
		latest := h.Latest()
		if latest.Blocked != reasons.UsageWindowsFilling || !latest.Changing || latest.Fresh != 2 {
			t.Fatalf("after %v: gate %q, changing %v, %d fresh nodes; want it closed and both known by the old source",
				h.now.Sub(began), latest.Blocked, latest.Changing, latest.Fresh)
		}
		if got := h.predicted("busy"); got != 6000 {
			t.Fatalf("after %v: busy is predicted at %dm, want 6000m by the old source", h.now.Sub(began), got)
		}
		if latest.States["busy"].State != thresholds.Warm {
			t.Fatalf("after %v: busy is %v, want warm by the old lines", h.now.Sub(began), latest.States["busy"].State)
		}
		h.pass(15 * time.Second)
	}
	h.pass(15 * time.Second)
	latest := h.Latest()
	if latest.Blocked != "" || latest.Changing || h.predicted("busy") != 3000 {
		t.Errorf("after the period: gate %q, changing %v, busy predicted at %dm; want the new source's 3000m",
			latest.Blocked, latest.Changing, h.predicted("busy"))
	}
	if got := latest.States["busy"].State; got != thresholds.Hot {
		t.Errorf("busy is %v by the new lines, want hot: they were judged by all along", got)
	}
	asked := h.asked
	h.pass(time.Minute)
	if h.asked != asked {
		t.Error("the old source is still asked")
	}
	if len(gates) > 0 {
		t.Errorf("reported gates %q, want none, because nothing is wrong", gates)
	}
}

func TestReconfigureTakesOver(t *testing.T) {
	cases := map[string]struct {
		next func(*harbor) Source
		// after is when the next source is in use, and gate is the gate at that time.
		after time.Duration
		gate  reasons.Reason
	}{
		"soon where the source sums windows up itself": {
			next: func(h *harbor) Source {
				c := &chronicle{meter: newMeter("chronicle", h.at.config.Now), used: 6000}
				c.nodes, c.window = h.nodes, usage.Avg5m
				return c
			},
			after: 15 * time.Second,
		},
		"after twice the period where the source fails": {
			next: func(h *harbor) Source {
				m := newMeter("broken", h.at.config.Now)
				m.fail = errSource
				return m
			},
			after: 4*time.Minute + 15*time.Second, gate: reasons.UsageSourceUnavailable,
		},
		"after twice the period if it reports too little": {
			next: func(h *harbor) Source {
				m := newMeter("half", h.at.config.Now)
				m.nodes = map[string]cluster.Amounts{"busy": {6000, 0}}
				return m
			},
			after: 4*time.Minute + 15*time.Second, gate: reasons.UsageCoverageTooLow,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := twoNodes(t)
			next := tc.next(h)
			h.reconfigure(h.policyOf(readingFrom("next", next)))
			began := h.now
			for h.Latest().Changing && h.now.Sub(began) < time.Hour {
				h.pass(15 * time.Second)
			}
			if got := h.now.Sub(began); got != tc.after {
				t.Errorf("taken over after %v, want %v", got, tc.after)
			}
			if latest := h.Latest(); latest.Blocked != tc.gate || latest.Sources[0].Name != next.Name() {
				t.Errorf("gate %q by %q, want %q by %q", latest.Blocked, latest.Sources[0].Name, tc.gate, next.Name())
			}
		})
	}
}

// Reverting a policy, or changing it again in another way, loses no samples.
func TestReconfigureAgain(t *testing.T) {
	h := twoNodes(t)
	old := h.policyOf()
	other := newMeter("other", h.at.config.Now)
	other.nodes = h.nodes
	next := h.policyOf(readingFrom("other", other))
	h.reconfigure(next)
	h.pass(time.Minute)
	evictingAbove(t, 50)(&next)
	h.reconfigure(next)
	h.pass(75 * time.Second)
	if h.Latest().Changing {
		t.Error("other lines made the new source's samples begin anew")
	}
	h.reconfigure(old)
	h.pass(time.Minute)
	if !h.Latest().Changing {
		t.Fatal("the old source's samples are kept indefinitely")
	}
	h.reconfigure(next)
	if latest := h.Latest(); latest.Changing || latest.Blocked != "" {
		t.Errorf("reverted: changing %v, gate %q; want the state before the change", latest.Changing, latest.Blocked)
	}
}

// Pods that come and go while the next policy is being observed are counted
// once, before and after it takes over.
func TestReconfigureKeepsTheBoardTrue(t *testing.T) {
	h := twoNodes(t)
	h.reconfigure(h.policyOf(readingFrom("other")))
	h.pass(time.Minute)
	h.pod("web-1", "idle", "rs")
	// 1000m measured, and 85 % of the core that the new pod requests
	const want = 1850
	if got := h.predicted("idle"); got != want {
		t.Errorf("while observing: idle is predicted at %dm, want %dm", got, want)
	}
	h.nodes["idle"] = cluster.Amounts{1850, 0}
	h.pods["web-1"] = cluster.Amounts{850, 0}
	h.pass(5 * time.Minute)
	if got := h.predicted("idle"); h.Latest().Changing || got < 1800 || got > 1900 {
		t.Errorf("taken over %v: idle is predicted at %dm, want about %dm", !h.Latest().Changing, got, want)
	}
	h.Store().DeletePod("ns", "web-1")
	if got := h.predicted("idle"); got < 950 || got > 1050 {
		t.Errorf("idle is predicted at %dm without the pod, want about 1000m", got)
	}
}

// Before the first sample there is no old data to use, so only the new policy's
// sources are asked.
func TestReconfigureBeforeTheFirstSample(t *testing.T) {
	h := newHarbor(t)
	h.node("busy", 6000)
	other := newMeter("other", h.at.config.Now)
	other.nodes = h.nodes
	h.reconfigure(h.policyOf(readingFrom("other", other)))
	h.pass(15 * time.Second)
	if h.asked != 0 || other.asked != 1 || h.Latest().Changing {
		t.Errorf("asked the old source %d times, the new one %d times, changing %v; want 0, 1 and not", h.asked, other.asked, h.Latest().Changing)
	}
}

// A configuration that cannot be applied is refused and changes nothing.
func TestReconfigureIsChecked(t *testing.T) {
	cases := map[string]func(*Config){
		"no sources":                  func(c *Config) { c.Sources = nil },
		"no lines":                    func(c *Config) { c.Lines = nil },
		"other sources, no age":       func(c *Config) { c.Reads, c.Usage.MaxAge = "other", 0 },
		"the same reads, no age":      func(c *Config) { c.Usage.MaxAge = 0 },
		"the same reads, a window":    func(c *Config) { c.Usage.Windows = []usage.Window{quarter} },
		"the same reads, a signal":    func(c *Config) { c.Usage.Signals = []usage.Metric{"disk"} },
		"the same reads, the pace":    func(c *Config) { c.Usage.SampleInterval = time.Minute },
		"no interval between samples": func(c *Config) { c.SampleInterval = 0 },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			h := twoNodes(t)
			before := h.Latest()
			if err := h.Reconfigure(h.policyOf(evictingAbove(t, 50), change)); err == nil {
				t.Fatal("no error")
			}
			if h.Latest() != before {
				t.Error("published anew")
			}
			h.pass(5 * time.Minute)
			if got := h.Latest().States["busy"].State; got != thresholds.Warm {
				t.Errorf("busy is %v, want warm by the old lines", got)
			}
		})
	}
}

// Policies may change while samples are taken, pods arrive and requests are answered.
func TestReconfigureWhileSampling(t *testing.T) {
	h := twoNodes(t)
	other := newMeter("other", h.at.config.Now)
	other.nodes = h.nodes
	policies := []Config{h.policyOf(), h.policyOf(evictingAbove(t, 50)), h.policyOf(readingFrom("other", other))}
	var group sync.WaitGroup
	group.Go(func() {
		for range 50 {
			h.Observer.Sample(t.Context())
		}
	})
	group.Go(func() {
		for i := range 50 {
			h.Store().SetPod(h.pod(fmt.Sprintf("web-%d", i), "idle", "rs"))
		}
	})
	group.Go(func() {
		for range 500 {
			h.Estimate(h.Latest(), &Unmeasured{UID: "new", Kin: usage.Kin{Owner: cluster.Owner{UID: "rs"}}, Requests: cluster.Amounts{100, 0}})
		}
	})
	for i := range 60 {
		h.reconfigure(policies[i%len(policies)])
	}
	group.Wait()
	if diff := cmp.Diff(2, h.Latest().Fresh); diff != "" {
		t.Errorf("fresh nodes (-want +got):\n%s", diff)
	}
}
