package observed

import (
	"math"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// Requests are to blame only for nodes that are hot by CPU usage, not for those that are hot by
// memory or by a signal, and not if CPU has no evict line.
func TestOnlyHeatOfCPUHasToDoWithRequests(t *testing.T) {
	inf := math.Inf(1)
	cpu := thresholds.Rule{Metric: usage.CPU, Window: usage.Avg5m, Levels: thresholds.Levels{Low: 45, Reject: 60, Evict: 65, Leave: 60}}
	memory := thresholds.Rule{Metric: usage.Memory, Window: usage.Avg5m, Levels: thresholds.Levels{Low: 45, Reject: 60, Evict: 65, Leave: 60}}
	pressure := thresholds.Rule{
		Metric: usage.IOPressure, Window: usage.Avg5m, Levels: thresholds.Levels{Low: inf, Reject: inf, Evict: 45, Leave: inf}, Relieves: cluster.CPU,
	}
	for name, tc := range map[string]struct {
		rules    []thresholds.Rule
		used     cluster.Amounts
		pressure float64
		want     int
	}{
		"CPU":                             {rules: []thresholds.Rule{cpu, memory, pressure}, used: cluster.Amounts{7000, 10}, want: 1},
		"CPU and a signal":                {rules: []thresholds.Rule{cpu, memory, pressure}, used: cluster.Amounts{7000, 10}, pressure: 50, want: 1},
		"CPU, by now just below its line": {rules: []thresholds.Rule{cpu, memory, pressure}, used: cluster.Amounts{6400, 10}, want: 1},
		"memory":                          {rules: []thresholds.Rule{cpu, memory, pressure}, used: cluster.Amounts{1000, 70}},
		"a signal":                        {rules: []thresholds.Rule{cpu, memory, pressure}, used: cluster.Amounts{1000, 10}, pressure: 50},
		"CPU has no line":                 {rules: []thresholds.Rule{memory, pressure}, used: cluster.Amounts{9000, 10}, pressure: 50},
	} {
		t.Run(name, func(t *testing.T) {
			node := &cluster.NodePods{Node: cluster.Node{Name: "n", Allocatable: cluster.Amounts{10_000, 100}, Ready: true, Schedulable: true}}
			amounts := []cluster.Amounts{tc.used, tc.used}
			view := &usage.View{
				Snapshot: &cluster.Snapshot{Nodes: []*cluster.NodePods{node}}, Windows: []usage.Window{usage.Last, usage.Avg5m}, Signals: []usage.Metric{usage.IOPressure},
				Nodes: []usage.NodeUsage{{
					Sampled: time.Unix(1, 0), SourceSpan: make([]time.Duration, 2), Measured: amounts, Current: amounts, Predicted: amounts,
					Signals: [][]float64{{tc.pressure, tc.pressure}},
				}},
			}
			set, err := thresholds.New([]thresholds.Pool{{Rules: tc.rules}}, 1)
			if err != nil {
				t.Fatal(err)
			}
			o := &observer.Observation{View: view, Lines: set.Resolve(view), States: map[string]thresholds.NodeState{"n": {State: thresholds.Hot}}}
			if got := Requests(o, nil, nil).Nodes; len(got) != tc.want {
				t.Errorf("%d nodes are hot by CPU, want %d: %+v", len(got), tc.want, got)
			}
		})
	}
}
