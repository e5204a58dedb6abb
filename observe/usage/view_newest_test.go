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

// Every window holds the newest sample of a node if that is fresh, and the original View does not
// change.
func TestNewest(t *testing.T) {
	sampled := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	node := func(unknown reasons.Reason) NodeUsage {
		n := NodeUsage{Unknown: unknown, Sampled: sampled, Rise: Rise{BytesPerMinute: 1}}
		n.Measured = []cluster.Amounts{{9, 90}, {5, 50}}
		n.Current, n.Predicted = []cluster.Amounts{{8, 80}, {4, 40}}, []cluster.Amounts{{7, 70}, {3, 30}}
		n.Signals = [][]float64{{2, math.NaN()}}
		return n
	}
	newest := NodeUsage{Sampled: sampled, Signals: [][]float64{{2, 2}}}
	newest.Measured = []cluster.Amounts{{9, 90}, {9, 90}}
	newest.Current, newest.Predicted = newest.Measured, newest.Measured
	never := NodeUsage{Unknown: reasons.NoUsageSample}
	cases := map[string]struct{ node, want NodeUsage }{
		"windows that are filled": {node(""), newest},
		"windows that fill":       {node(reasons.WindowTooShort), newest},
		"a stale sample":          {node(reasons.UsageStale), node(reasons.UsageStale)},
		"no sample":               {never, never},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			view := &View{Windows: []Window{Last, Avg5m}, Signals: []Metric{IOPressure}, Nodes: []NodeUsage{tc.node}}
			got := view.Newest()
			if diff := cmp.Diff(tc.want, got.Nodes[0], cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("newest (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.node, view.Nodes[0], cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("the view has changed (-before +after):\n%s", diff)
			}
		})
	}
}
