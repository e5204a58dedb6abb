package observer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
)

// chronicle is a source with history: nodes have always used this much CPU.
type chronicle struct {
	*meter
	used  int64
	calls []string
	// failing lists the calls that fail, by their number, starting at 0.
	failing []int
}

var _ Historian = (*chronicle)(nil)

var errPast = errors.New("too many samples")

func (c *chronicle) History(_ context.Context, snapshot *cluster.Snapshot, since time.Time, step time.Duration) ([]usage.Batch, error) {
	now := c.clock()
	c.calls = append(c.calls, fmt.Sprintf("%v by %v", now.Sub(since), step))
	if slices.Contains(c.failing, len(c.calls)-1) {
		return nil, errPast
	}
	var past []usage.Batch
	for at := since; !at.After(now); at = at.Add(step) {
		batch := usage.Batch{Source: c.name, Received: at}
		for _, node := range snapshot.Nodes {
			readings := usage.LastReadings(at, cluster.Amounts{c.used, 0})
			batch.Nodes = append(batch.Nodes, usage.NodeSample{Name: node.Node.Name, Readings: readings})
		}
		past = append(past, batch)
	}
	return past, nil
}

// remembering puts a chronicle at a position in the chain.
func remembering(place int, c *chronicle) func(*harbor, *Config) {
	return func(h *harbor, config *Config) {
		c.meter = newMeter(fmt.Sprintf("chronicle%d", place), config.Now)
		config.Sources = slices.Insert(config.Sources, place, Source(c))
		if place == 0 {
			h.meter = c.meter
			config.Sources = config.Sources[:1]
		}
	}
}

var (
	hour    = usage.Window{Kind: usage.KindMaxAvg, Over: time.Hour}
	quarter = usage.Window{Kind: usage.KindAvg, Over: 15 * time.Minute}
)

func windows(w ...usage.Window) func(*harbor, *Config) {
	return func(_ *harbor, config *Config) { config.Usage.Windows = w }
}

// measured returns a window of a node's CPU in the newest observation.
func (h *harbor) measured(t *testing.T, node string, w usage.Window) int64 {
	t.Helper()
	view := h.Latest().View
	i, k := view.Snapshot.Index(node), view.WindowIndex(w)
	if i < 0 || k < 0 {
		t.Fatalf("%s over %v is not read", node, w)
	}
	return view.Nodes[i].Measured[k][cluster.CPU]
}

// The past is queried before the first sample is ingested, starting with the span that reaches back
// furthest, and never again.
func TestHistoryFillsWindows(t *testing.T) {
	c := &chronicle{used: 7000}
	h := newHarbor(t, remembering(0, c), windows(hour, quarter))
	h.node("n1", 1000)
	h.pass(15 * time.Second)
	want := []string{"1h0m0s by 5m0s", "15m0s by 15s"}
	if diff := cmp.Diff(want, c.calls); diff != "" {
		t.Errorf("queried (-want +got):\n%s", diff)
	}
	// One sample at 10 % follows an hour at 70 %, which holds 21 samples in five minutes and 61 in
	// fifteen. The past already includes the current sample, and a sample that is not newer is not
	// counted twice.
	for w, want := range map[usage.Window]int64{hour: 7000, usage.Avg5m: 7000, quarter: 7000} {
		if got := h.measured(t, "n1", w); got != want {
			t.Errorf("%v is %d, want %d", w, got, want)
		}
	}
	if latest := h.Latest(); latest.Blocked != "" || latest.Batches != 1 || latest.View.Nodes[0].Span != 5*time.Minute {
		t.Errorf("gate %q after %d readings that span %v", latest.Blocked, latest.Batches, latest.View.Nodes[0].Span)
	}
	h.pass(5 * time.Minute)
	if diff := cmp.Diff(want, c.calls); diff != "" {
		t.Errorf("queried later (-want +got):\n%s", diff)
	}
	if got := h.measured(t, "n1", usage.Avg5m); got >= 1500 {
		t.Errorf("the mean of five minutes is %d after five minutes at 1000", got)
	}
	if got := h.measured(t, "n1", hour); got != 7000 {
		t.Errorf("the highest mean of the last hour is %d, want 7000", got)
	}
}

// Usage before this process started is not enough to make a node hot, because its samples were not
// observed in a row.
func TestHistoryCountsNoSamples(t *testing.T) {
	h := newHarbor(t, remembering(0, &chronicle{used: 9000}))
	h.node("n1", 9000)
	var got []thresholds.State
	for range 3 {
		h.pass(15 * time.Second)
		got = append(got, h.Latest().States["n1"].State)
		if h.Latest().Settled {
			t.Error("settled by windows that were summed up here")
		}
	}
	if diff := cmp.Diff([]thresholds.State{thresholds.Warm, thresholds.Warm, thresholds.Hot}, got); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
}

// The past is queried up to now. A sample that was measured earlier still counts, so the decision
// does not wait for the next one.
func TestSamplesOlderThanThePastCount(t *testing.T) {
	h := newHarbor(t, remembering(0, &chronicle{used: 9000}), func(h *harbor, _ *Config) {
		h.window = usage.Avg5m
		h.bend = func(batch *usage.Batch) {
			for _, node := range batch.Nodes {
				for i := range node.Readings {
					node.Readings[i].At = node.Readings[i].At.Add(-10 * time.Second)
				}
			}
		}
	})
	h.node("n1", 9000)
	h.pass(15 * time.Second)
	if latest := h.Latest(); !latest.Settled || latest.States["n1"].State != thresholds.Hot {
		t.Errorf("after the first sample: settled %v, %+v", latest.Settled, latest.States["n1"])
	}
}

// If the past cannot be read, observing continues without it.
func TestHistoryFails(t *testing.T) {
	cases := map[string]struct {
		failing []int
		hour    int64 // the highest mean of the last hour, after the first sample
		gate    reasons.Reason
	}{
		"none of it":                {failing: []int{0, 1}, hour: 1000, gate: reasons.UsageWindowsFilling},
		"except for the older half": {failing: []int{1}, hour: 7000, gate: reasons.UsageWindowsFilling},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := &chronicle{used: 7000, failing: tc.failing}
			h := newHarbor(t, remembering(0, c), windows(hour))
			h.node("n1", 1000)
			h.pass(15 * time.Second)
			if latest := h.Latest(); latest.Blocked != tc.gate || latest.Batches != 1 || latest.SourceError() != nil {
				t.Errorf("gate %q, %d readings, error %v", latest.Blocked, latest.Batches, latest.SourceError())
			}
			if got := h.measured(t, "n1", hour); got != tc.hour {
				t.Errorf("the highest mean of the last hour is %d, want %d", got, tc.hour)
			}
			calls := len(c.calls)
			h.pass(75 * time.Second)
			if latest := h.Latest(); latest.Blocked != "" || len(c.calls) != calls {
				t.Errorf("later: %q; asked %d times more", latest.Closed(), len(c.calls)-calls)
			}
		})
	}
}

// The first source with history is asked for the past, wherever it is in the chain and even if
// others provide current usage.
func TestHistoryOfALaterSource(t *testing.T) {
	second, third := &chronicle{used: 7000}, &chronicle{used: 9000}
	h := newHarbor(t, remembering(1, second), remembering(2, third))
	h.node("n1", 1000)
	h.pass(15 * time.Second)
	if len(second.calls) != 1 || second.asked != 0 || len(third.calls) != 0 {
		t.Errorf("the second is asked for its past %d times and its present %d times, the third for its past %d times",
			len(second.calls), second.asked, len(third.calls))
	}
	if latest := h.Latest(); latest.Blocked != "" || latest.View.Nodes[0].Source != "test" || h.measured(t, "n1", usage.Last) != 1000 {
		t.Errorf("%s; from %q", latest.Closed(), latest.View.Nodes[0].Source)
	}
}

// While no source can be read, the past is queried again and ingested anew
// without counting anything twice.
func TestHistoryWhileDown(t *testing.T) {
	c := &chronicle{used: 7000}
	h := newHarbor(t, remembering(0, c))
	h.node("n1", 7000)
	h.fail = errSource
	h.pass(30 * time.Second)
	if latest := h.Latest(); latest.Blocked != reasons.UsageSourceUnavailable || len(c.calls) != 2 {
		t.Errorf("gate %q, the past was queried %d times", latest.Blocked, len(c.calls))
	}
	h.fail = nil
	h.pass(30 * time.Second)
	if latest := h.Latest(); latest.Blocked != "" || len(c.calls) != 3 || h.measured(t, "n1", usage.Avg5m) != 7000 {
		t.Errorf("%s; the past was queried %d times", latest.Closed(), len(c.calls))
	}
}
