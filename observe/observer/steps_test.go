package observer

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// If the clock steps between two samples, nodes stay known and hot at the next sample, whichever
// other clocks step as well.
func TestClockSteps(t *testing.T) {
	cases := map[string]struct {
		steps []time.Duration // of this process's clock, one sample apart
		// sources reports whether the sources' clocks step as well.
		sources bool
		// known reports whether the node stays known. Otherwise it is known again after MinWindow.
		known         bool
		back, forward float64
	}{
		"back by more than samples may be old":           {steps: []time.Duration{-2 * time.Minute}, sources: true, known: true, back: 1},
		"back by an hour":                                {steps: []time.Duration{-time.Hour}, sources: true, known: true, back: 1},
		"back on this machine alone, until corrected":    {steps: []time.Duration{-2 * time.Minute, 2 * time.Minute}, known: true, back: 1, forward: 1},
		"back on this machine alone by a day":            {steps: []time.Duration{-24 * time.Hour, 24 * time.Hour}, known: true, back: 1, forward: 1},
		"back by less than is noticed":                   {steps: []time.Duration{-4 * time.Second}, sources: true, known: true},
		"forward, as when the machine slept for an hour": {steps: []time.Duration{time.Hour}, sources: true, forward: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			registry := prometheus.NewRegistry()
			var local time.Time
			h := newHarbor(t, metered(registry), func(_ *harbor, c *Config) { c.Local = func() time.Time { return local } })
			h.node("n1", 7000)
			var truth time.Time
			h.meter.clock = func() time.Time { return truth }
			h.bend = func(batch *usage.Batch) { batch.Received = h.now }
			sample := func(d time.Duration) thresholds.NodeState {
				for end := local.Add(d); local.Before(end); {
					h.now, truth, local = h.now.Add(15*time.Second), truth.Add(15*time.Second), local.Add(15*time.Second)
					h.Observer.Sample(t.Context())
				}
				return h.Latest().States["n1"]
			}
			local, truth = h.now, h.now
			if got := sample(6 * time.Minute); got.State != thresholds.Hot {
				t.Fatalf("before the step the node is %v", got)
			}
			for _, by := range tc.steps {
				h.now = h.now.Add(by)
				if tc.sources {
					truth = truth.Add(by)
				}
				if got := sample(15 * time.Second); (got.State == thresholds.Hot) != tc.known {
					t.Errorf("after a step by %v the node is %v (%s), want it hot: %v", by, got.State, h.Latest().View.Nodes[0].Unknown, tc.known)
				}
			}
			if got := sample(2 * time.Minute); got.State != thresholds.Hot {
				t.Errorf("two minutes later the node is %v (%s)", got.State, h.Latest().View.Nodes[0].Unknown)
			}
			back, forward := testutil.ToFloat64(h.metrics.steps.WithLabelValues("back")), testutil.ToFloat64(h.metrics.steps.WithLabelValues("forward"))
			if back != tc.back || forward != tc.forward {
				t.Errorf("%v steps back and %v forward, want %v and %v", back, forward, tc.back, tc.forward)
			}
		})
	}
}

// After a step back that undoes a step forward, there is nothing left to compensate, so the next
// step forward counts as time asleep.
func TestStepsThatWereUndone(t *testing.T) {
	const hour = time.Hour
	for name, tc := range map[string]struct{ steps, want []time.Duration }{
		"forward, back, asleep":          {[]time.Duration{hour, -hour, hour}, []time.Duration{0, -hour, 0}},
		"forward, further back, forward": {[]time.Duration{hour, -2 * hour, 2 * hour}, []time.Duration{0, -2 * hour, hour}},
		"back, further forward, back":    {[]time.Duration{-hour, 2 * hour, -hour, hour}, []time.Duration{-hour, hour, -hour, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			var s steps
			now, local := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
			s.next(now, local)
			for i, by := range tc.steps {
				now, local = now.Add(15*time.Second+by), local.Add(15*time.Second)
				if _, got := s.next(now, local); got != tc.want[i] {
					t.Errorf("step %d by %v shifts by %v, want %v", i, by, got, tc.want[i])
				}
			}
		})
	}
}

// After the clock is set back, new samples are accepted at once, although their times are not later
// than those before the step.
func TestSamplesAfterAStepAreNew(t *testing.T) {
	var local time.Time
	h := newHarbor(t, func(_ *harbor, c *Config) { c.Local = func() time.Time { return local } })
	h.node("n1", 7000)
	local = h.now
	tick := func() {
		h.now, local = h.now.Add(15*time.Second), local.Add(15*time.Second)
		h.Observer.Sample(t.Context())
	}
	for range 24 {
		tick()
	}
	h.now = h.now.Add(-10 * time.Minute)
	h.node("n1", 1000)
	tick()
	if got := h.Latest().View.Nodes[0]; got.Measured[0][0] != 1000 || got.Age > time.Second {
		t.Errorf("the newest sample is %v, %v old; want the one after the step", got.Measured[0], got.Age)
	}
}
