package scorer

import (
	"math"
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// A move may fill its destination up to a CPU ceiling instead of the reject line of CPU. All other
// lines apply, and no ceiling exceeds the node's capacity.
func TestLandsUpTo(t *testing.T) {
	const pressed = 31
	large := cluster.Amounts{500, 10 * gib}
	for name, tc := range map[string]struct {
		node     at
		pod      cluster.Amounts
		upTo     int64
		pressure float64
		closed   bool
		want     bool
	}{
		"without one, at the reject line":     {node: at{55, 0}, pod: pod, want: true},
		"without one, above the reject line":  {node: at{56, 0}, pod: pod},
		"a ceiling below 0 does not count":    {node: at{56, 0}, pod: pod, upTo: -1},
		"up to it":                            {node: at{85, 0}, pod: pod, upTo: 9000, want: true},
		"above it":                            {node: at{86, 0}, pod: pod, upTo: 9000},
		"below the reject line and above it":  {node: at{50, 0}, pod: pod, upTo: 5400},
		"up to the memory line":               {node: at{80, 65}, pod: large, upTo: 9000, want: true},
		"above the memory line":               {node: at{80, 66}, pod: large, upTo: 9000},
		"more than the node has":              {node: at{96, 0}, pod: pod, upTo: 20_000},
		"all that the node has":               {node: at{95, 0}, pod: pod, upTo: 20_000, want: true},
		"beyond a signal's reject line":       {node: at{50, 0}, pod: pod, upTo: 9000, pressure: pressed},
		"the same, and it uses no memory":     {node: at{50, 0}, pod: cluster.Amounts{500, 0}, upTo: 9000, pressure: pressed},
		"closed by a taint":                   {node: at{50, 0}, pod: pod, upTo: 9000, closed: true},
		"not known, so not found to be under": {node: unknown, pod: pod, upTo: 9000},
	} {
		t.Run(name, func(t *testing.T) {
			view := viewOf([]cluster.Node{{Name: "a", Allocatable: cluster.Amounts{10_000, 100 * gib}}}, []usage.NodeUsage{predicted(cluster.Amounts{tc.node.cpu * 100, tc.node.memory * gib})})
			view.Signals = []usage.Metric{usage.CPUPressure}
			view.Nodes[0].Signals = [][]float64{{tc.pressure, tc.pressure}}
			if tc.node == unknown {
				view.Nodes[0].Unknown = "UsageStale"
			}
			rules := make([]thresholds.Rule, 0, 3)
			for metric, line := range map[usage.Metric]float64{usage.CPU: 60, usage.Memory: 75, usage.CPUPressure: 30} {
				levels := thresholds.NoLevels()
				levels.Reject = line
				rules = append(rules, thresholds.Rule{Metric: metric, Window: usage.Avg5m, Levels: levels})
			}
			set, err := thresholds.New([]thresholds.Pool{{Name: "default", Rules: rules}}, 3)
			if err != nil {
				t.Fatal(err)
			}
			b := NewBoard(view, set.Resolve(view), testConfig().Config)
			if tc.closed {
				b.closing, b.nodes[0].closed = true, true
			}
			if got := b.LandsUpTo(0, tc.pod, tc.upTo); got != tc.want {
				t.Errorf("lands: %v, want %v", got, tc.want)
			}
		})
	}
	b := boardOf(t, testConfig(), at{0, 0})
	for _, i := range []cluster.NodeIndex{-1, 1} {
		if b.LandsUpTo(i, pod, math.MaxInt64) {
			t.Errorf("a pod lands on node %d, which there is not", i)
		}
	}
}
