package evictor

import (
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/scorer"
)

// seen returns an observation of three nodes with ten cores each: cool, hot and warm. The hot one
// uses hotMilli.
func seen(t testing.TB, hotMilli int64) *observer.Observation {
	t.Helper()
	set, err := thresholds.New([]thresholds.Pool{{Name: "default", Rules: []thresholds.Rule{
		{Metric: usage.CPU, Window: usage.Avg5m, Levels: thresholds.Levels{Low: 45, Reject: 60, Evict: 65, Leave: 60}},
		{Metric: usage.Memory, Window: usage.Avg5m, Levels: thresholds.Levels{Low: 60, Reject: 75, Evict: 80, Leave: 75}},
	}}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	view := &usage.View{Windows: []usage.Window{usage.Last, usage.Avg5m}, Snapshot: &cluster.Snapshot{}}
	states := map[string]thresholds.NodeState{}
	for _, n := range []struct {
		name  string
		cpu   int64
		state thresholds.State
	}{{"cool", 1000, thresholds.Cool}, {"hot", hotMilli, thresholds.Hot}, {"warm", 5000, thresholds.Warm}} {
		size := cluster.Amounts{10_000, 100 << 30}
		view.Snapshot.Nodes = append(view.Snapshot.Nodes, &cluster.NodePods{Node: cluster.Node{
			Name: n.name, Allocatable: size, Capacity: size, Ready: true, Schedulable: true,
		}})
		used := []cluster.Amounts{{n.cpu, 1 << 30}, {n.cpu, 1 << 30}}
		view.Nodes = append(view.Nodes, usage.NodeUsage{
			Measured: used, Current: used, Predicted: used, SourceSpan: make([]time.Duration, 2), Sampled: time.Now(),
		})
		states[n.name] = thresholds.NodeState{State: n.state}
	}
	lines := set.Resolve(view)
	return &observer.Observation{View: view, Lines: lines, States: states, Board: scorer.NewBoard(view, lines, scorer.Config{})}
}
