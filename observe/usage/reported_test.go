package usage

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/evenkeel/evenkeel/cluster"
)

// A window that no source reported is not zero. If individual windows are judged, no other window
// replaces it.
func TestReportedWindows(t *testing.T) {
	hour := Window{Kind: KindMaxAvg, Over: time.Hour}
	nothing := Reported{math.NaN(), math.NaN()}
	cases := map[string]struct {
		readings []Reading
		at       int // the second of the view; the only reading is at second 0
		want     []Reported
	}{
		"no reading": {want: []Reported{nothing, nothing, nothing}},
		"every window on its own": {
			readings: []Reading{{Metric: CPU, Window: Avg5m, Value: 0}, {Metric: CPU, Window: hour, Value: 70.5}, {Metric: Memory, Window: Avg5m, Value: 9.25}},
			want:     []Reported{nothing, {0, 9.25}, {70.5, math.NaN()}},
		},
		"an hour does not stand for five minutes": {
			readings: []Reading{{Metric: CPU, Window: hour, Value: 70}, {Metric: Memory, Window: hour, Value: 8}},
			want:     []Reported{nothing, nothing, {70, 8}},
		},
		"one resource without the other": {
			readings: []Reading{{Metric: Memory, Window: Avg5m, Value: 8}},
			want:     []Reported{nothing, {math.NaN(), 8}, nothing},
		},
		"five minutes are over before the hour is": {
			readings: []Reading{
				{Metric: CPU, Window: Avg5m, Value: 50, MaxAge: 8 * time.Second}, {Metric: CPU, Window: hour, Value: 70, MaxAge: 20 * time.Second},
				{Metric: Memory, Window: Avg5m, Value: 5}, {Metric: Memory, Window: hour, Value: 7},
			},
			at:   9,
			want: []Reported{nothing, {math.NaN(), 5}, {70, 7}},
		},
		"a window is good to the last second": {
			readings: []Reading{{Metric: CPU, Window: Avg5m, Value: 50, MaxAge: 8 * time.Second}, {Metric: Memory, Window: Avg5m, Value: 5}},
			at:       8,
			want:     []Reported{nothing, {50, 5}, nothing},
		},
		"no window outlives its batch": {
			readings: []Reading{{Metric: CPU, Window: Avg5m, Value: 50, MaxAge: time.Hour}, {Metric: Memory, Window: Avg5m, Value: 5}},
			at:       91, // newStore has a MaxAge of 90 s
			want:     []Reported{nothing, nothing, nothing},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			store, snapshot := newStore(t, wanting(t, "max_avg_1h")), snapshotOf(nodeWith("n1"))
			for i := range tc.readings {
				tc.readings[i].At = at(0)
			}
			if tc.readings != nil {
				store.Ingest(snapshot, Batch{Source: "s", Received: at(0), Nodes: []NodeSample{{Name: "n1", Readings: tc.readings}}})
			}
			got := store.View(snapshot, at(tc.at), nil).Nodes[0].Reported
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("reported (-want +got):\n%s", diff)
			}
		})
	}
}

// If a source provides single samples, windows are computed from them. They are known if and only
// if the node is.
func TestReportedWindowsOfSamples(t *testing.T) {
	store, snapshot := newStore(t, wanting(t, "max_avg_1h")), snapshotOf(nodeWith("n1"))
	told := func(second int) []Reported { return store.View(snapshot, at(second), nil).Nodes[0].Reported }
	feed(store, snapshot, 0, 0, amounts(3000, 100), map[string]cluster.Amounts{})
	if got := told(1); !math.IsNaN(got[AtAvg5m][cluster.CPU]) {
		t.Errorf("%v is reported after one sample", got)
	}
	feed(store, snapshot, 15, 300, amounts(3000, 100), map[string]cluster.Amounts{})
	for w, got := range told(301) {
		if got[cluster.CPU] != 3000 {
			t.Errorf("%s of CPU is %v, want 3000", store.windows[w], got[cluster.CPU])
		}
	}
	if got := told(600); !math.IsNaN(got[AtAvg5m][cluster.CPU]) {
		t.Errorf("%v is reported for a node that was sampled five minutes ago", got)
	}
}
