package thresholds

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// contended returns a node of ten cores with the given measured and remaining usage, whose
// containers waited for the given share of the time.
func contended(measured, current int64, waited float64) *usage.View {
	of := func(milli int64) []cluster.Amounts { return []cluster.Amounts{{milli}, {milli}} }
	return &usage.View{
		Snapshot: &cluster.Snapshot{Nodes: []*cluster.NodePods{{Node: cluster.Node{Name: "n", Allocatable: cluster.Amounts{10_000, gib}, Ready: true}}}},
		Windows:  []usage.Window{usage.Last, usage.Avg5m}, Signals: []usage.Metric{usage.CPUContention},
		Nodes: []usage.NodeUsage{{Measured: of(measured), Current: of(current), Predicted: of(current), Signals: [][]float64{{waited, waited}}}},
	}
}

// The verdict states how much contention remains, and how much usage has to leave.
func TestContention(t *testing.T) {
	line := Rule{Metric: usage.CPUContention, Window: usage.Avg5m, Levels: levels(none(), 8, 10, 8), Relieves: cluster.CPU}
	cpu := Rule{Metric: usage.CPU, Window: usage.Avg5m, Levels: levels(45, 90, 99, 90)}
	unrelieved := line
	unrelieved.Relieves = Nothing
	type verdict struct {
		Now  float64
		Over bool
		Need int64
	}
	cases := map[string]struct {
		rules             []Rule
		measured, current int64
		waited            float64
		left              int64
		want              verdict
	}{
		// 4500 of 9700 m cause no contention. The other 5200 m wait 50 %. Of these, 1040 m would
		// wait 10 %, so 4160 m have to leave.
		"as measured": {[]Rule{cpu, line}, 9700, 9700, 50, 0, verdict{50, true, 4160}},
		// 4160 m have left in the meantime: 1040 of 5200 m remain.
		"once they have left": {[]Rule{cpu, line}, 9700, 5540, 50, 0, verdict{10, false, 0}},
		// 2600 of 5200 m remain, which wait 25 %. 1040 m may stay.
		"half of the way": {[]Rule{cpu, line}, 9700, 7100, 50, 0, verdict{25, true, 1560}},
		"usage that is leaving is no longer needed": {[]Rule{cpu, line}, 9700, 9700, 50, 1000, verdict{50, true, 3160}},
		"new pods make it no worse":                 {[]Rule{cpu, line}, 9700, 9900, 12, 0, verdict{12, true, 900}},
		"on a node that is cool no pod helps":       {[]Rule{cpu, line}, 4400, 4400, 50, 0, verdict{50, true, 0}},
		"without lines of cpu it is in proportion":  {[]Rule{line}, 9000, 9000, 20, 0, verdict{20, true, 4500}},
		"nothing relieves it":                       {[]Rule{cpu, unrelieved}, 9700, 9700, 50, 0, verdict{50, true, 0}},
		"not known":                                 {[]Rule{cpu, line}, 9700, 9700, math.NaN(), 0, verdict{math.NaN(), false, 0}},
		"at the line":                               {[]Rule{cpu, line}, 9700, 9700, 10, 0, verdict{10, false, 0}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			set, err := New([]Pool{{Rules: tc.rules}}, 3)
			if err != nil {
				t.Fatal(err)
			}
			r := set.Resolve(contended(tc.measured, tc.current, tc.waited))
			now, judged := r.Now(0, usage.CPUContention, usage.Avg5m)
			_, over := r.Over(0)
			got := verdict{now, over, max(r.Need(0, cluster.Amounts{tc.left})[cluster.CPU], 0)}
			if diff := cmp.Diff(tc.want, got, equalNaN); diff != "" || !judged {
				t.Errorf("judged %t (-want +got):\n%s", judged, diff)
			}
		})
	}
}

var equalNaN = cmp.Comparer(func(a, b float64) bool { return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) < 1e-9 })

// A node with contention above its reject line takes no pods.
func TestContendedNodesAcceptNoPods(t *testing.T) {
	set, err := New([]Pool{{Rules: []Rule{rejectAt(usage.CPUContention, usage.Avg5m, 8)}}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	for waited, open := range map[float64]bool{7: true, 8: true, 9: false} {
		if got := set.Resolve(contended(5000, 5000, waited)).Ceiling(0)[cluster.CPU] > 0; got != open {
			t.Errorf("at %v%% it accepts pods: %t, want %t", waited, got, open)
		}
	}
	if _, judged := set.Resolve(contended(1, 1, 1)).Now(0, usage.IOPressure, usage.Last); judged {
		t.Error("a metric without lines is judged")
	}
}
