package usage

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/evenkeel/evenkeel/reasons"
)

// If no rule judges resources, a node is known as soon as a source reports it, and has only the
// signals of the newest sample. An invalid sample makes the node unknown, as usual.
func TestSignalsOnly(t *testing.T) {
	const disk, free = Metric("disk.busy"), Metric("swap.free")
	nan := math.NaN()
	silent := func(second int) *told {
		b := readAt(second)
		b.Nodes = []NodeSample{{Name: "n1"}}
		return b
	}
	cases := map[string]struct {
		told    []*told
		at      int
		unknown reasons.Reason
		signals []float64 // disk.busy and swap.free, last
	}{
		"nothing was told":                    {unknown: reasons.NoUsageSample, signals: []float64{nan, nan}},
		"told once":                           {told: []*told{readAt(0).reading("n1", disk, Last, 5)}, signals: []float64{5, nan}},
		"reported without a signal":           {told: []*told{silent(0)}, signals: []float64{nan, nan}},
		"a signal that is no longer reported": {told: []*told{readAt(0).reading("n1", disk, Last, 5).reading("n1", free, Last, 7), readAt(15).reading("n1", free, Last, 7)}, at: 15, signals: []float64{nan, 7}},
		"none is reported any longer":         {told: []*told{readAt(0).reading("n1", disk, Last, 5), silent(15)}, at: 15, signals: []float64{nan, nan}},
		"one that is negative":                {told: []*told{readAt(0).reading("n1", disk, Last, -5)}, signals: []float64{-5, nan}},
		"one that is absurd":                  {told: []*told{readAt(0).reading("n1", disk, Last, math.Inf(-1))}, unknown: reasons.UsageAbsurd, signals: []float64{nan, nan}},
		"no source answers any longer":        {told: []*told{readAt(0).reading("n1", disk, Last, 5)}, at: 100, unknown: reasons.UsageStale, signals: []float64{nan, nan}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			store := newStore(t, signalling(disk, free), func(c *Config) {
				c.SignalsOnly = true
				c.Optional[0], c.Optional[1] = true, true
			})
			snapshot := snapshotOf(nodeWith("n1"))
			for _, b := range tc.told {
				store.Ingest(snapshot, b.Batch)
			}
			got := node1(store, snapshot, tc.at)
			if got.Unknown != tc.unknown {
				t.Errorf("unknown %q, want %q", got.Unknown, tc.unknown)
			}
			last := []float64{got.Signals[0][AtLast], got.Signals[1][AtLast]}
			if diff := cmp.Diff(tc.signals, last, cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("signals (-want +got):\n%s", diff)
			}
		})
	}
}

// A policy's own metric may be negative; a pressure may not.
func TestNegativeSignals(t *testing.T) {
	const headroom = Metric("headroom")
	store := newStore(t, signalling(headroom, IOPressure))
	snapshot := snapshotOf(nodeWith("n1"))
	b := readAt(0).node("n1", amounts(1000, 100)).reading("n1", headroom, Last, -3).reading("n1", IOPressure, Last, -3)
	problems := store.Ingest(snapshot, b.Batch)
	got := node1(store, snapshot, 0)
	if got.Signals[0][AtLast] != -3 || !math.IsNaN(got.Signals[1][AtLast]) || problems["test"][Absurd].Count != 1 {
		t.Errorf("signals %v, problems %v; want -3 and an absurd pressure", got.Signals, problems)
	}
}
