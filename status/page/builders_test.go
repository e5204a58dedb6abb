package page

import (
	"fmt"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/scorer"
	"github.com/evenkeel/evenkeel/status"
	"github.com/evenkeel/evenkeel/strategies"
)

const gib = 1 << 30

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// yard is a cluster of nodes with 10 cores and 100 GiB, so that 100m are one percent. They are judged by CPU over five
// minutes: low 45, reject 60, evict 65, leave 55.
type yard struct {
	t      testing.TB
	view   *usage.View
	states map[string]thresholds.NodeState
}

func newYard(t testing.TB) *yard {
	return &yard{
		t: t, states: map[string]thresholds.NodeState{},
		view: &usage.View{At: noon, Snapshot: &cluster.Snapshot{}, Windows: []usage.Window{usage.Last, usage.Avg5m}},
	}
}

// node adds a node with the given CPU usage in its newest reading and over five minutes. Nodes are
// named in order.
func (y *yard) node(name string, state thresholds.State, newest, average int64, change ...func(*usage.NodeUsage)) {
	whole := cluster.Amounts{10_000, 100 * gib}
	read := usage.NodeUsage{Source: "prometheus", Sampled: noon, Age: 12 * time.Second, Span: 5 * time.Minute, SourceSpan: make([]time.Duration, 2)}
	for _, cpu := range []int64{newest, average} {
		used := cluster.Amounts{cpu, 40 * gib}
		read.Measured, read.Current, read.Predicted = append(read.Measured, used), append(read.Current, used), append(read.Predicted, used)
	}
	for _, c := range change {
		c(&read)
	}
	info := &cluster.NodePods{Node: cluster.Node{Name: name, Allocatable: whole, Capacity: whole, Ready: true, Schedulable: true}}
	y.view.Snapshot.Nodes, y.view.Nodes = append(y.view.Snapshot.Nodes, info), append(y.view.Nodes, read)
	y.states[name] = thresholds.NodeState{State: state, Since: noon.Add(-27 * time.Minute), Unknown: read.Unknown}
}

func unknown(reason reasons.Reason) func(*usage.NodeUsage) {
	return func(read *usage.NodeUsage) { read.Unknown = reason }
}

// pod adds a pod to the most recently added node.
func (y *yard) pod(namespace, name, owner string, cpu int64) {
	i := len(y.view.Nodes) - 1
	node := y.view.Snapshot.Nodes[i]
	node.Pods = append(node.Pods, &cluster.Pod{
		UID: namespace + name, Namespace: namespace, Name: name, Node: node.Node.Name, Ready: true,
		Owner: cluster.Owner{UID: owner, Kind: "ReplicaSet", Name: owner},
	})
	y.view.Nodes[i].Pods = append(y.view.Nodes[i].Pods, usage.PodUsage{Measured: true, Used: cluster.Amounts{cpu, gib}})
}

// facts returns what is known about the yard.
func (y *yard) facts() *Facts {
	y.t.Helper()
	rule := thresholds.Rule{Metric: usage.CPU, Window: usage.Avg5m, Levels: thresholds.Levels{Low: 45, Reject: 60, Evict: 65, Leave: 55}}
	set, err := thresholds.New([]thresholds.Pool{{Rules: []thresholds.Rule{rule}}}, 3)
	if err != nil {
		y.t.Fatal(err)
	}
	lines := set.Resolve(y.view)
	return &Facts{
		Facts: status.Facts{View: y.view, Lines: lines, Board: scorer.NewBoard(y.view, lines, scorer.Config{}), States: y.states, SamplesNeeded: 3},
		Now:   noon.Add(5 * time.Second), Ready: len(y.view.Nodes), Fresh: len(y.view.Nodes), Stops: Stops{Left: -1},
		Process: Process{Identity: "evenkeel-1_uid", Role: "leads", Leader: "evenkeel-1_uid", Replicas: []Replica{}},
		Sources: []Source{{Source: status.Source{Name: "prometheus", Asked: true}, Nodes: len(y.view.Nodes)}},
	}
}

// burning returns a cluster with a hot, a warm and a cool node.
func burning(t testing.TB) *yard {
	y := newYard(t)
	y.node("node-a", thresholds.Cool, 1000, 1000)
	y.node("node-b", thresholds.Hot, 9660, 9600)
	y.pod("shop", "web-1", "web", 900)
	y.pod("shop", "web-2", "web", 1900)
	y.node("node-c", thresholds.Warm, 5000, 5000)
	return y
}

// move returns a move off node-b.
func move(pod string, state ledger.State, to string, before time.Duration) ledger.Move {
	m := ledger.Move{
		Intent: ledger.Intent{
			Namespace: "shop", Pod: pod, PodUID: "shop" + pod, Owner: cluster.Owner{UID: "web", Kind: "ReplicaSet", Name: "web"}, From: "node-b", To: to,
		},
		State: state, Recorded: noon.Add(-before),
	}
	if !m.InFlight() {
		m.Ended = m.Recorded.Add(time.Minute)
	}
	return m
}

// cycle returns a cycle of a minute ago that planned moves off node-b.
func cycle(reason reasons.Reason, moves ...string) *status.Cycle {
	c := &status.Cycle{At: noon.Add(-time.Minute), Plan: strategies.Plan{Nodes: []strategies.NodeReport{
		{Name: "node-a", State: thresholds.Cool}, {Name: "node-b", State: thresholds.Hot, Reason: reason},
	}}}
	for _, name := range moves {
		pod := strategies.Pod{Pod: &cluster.Pod{Namespace: "shop", Name: name}}
		c.Plan.Moves = append(c.Plan.Moves, strategies.Move{Pod: pod, From: "node-b", To: "node-a"})
	}
	return c
}

// fleet returns a cluster of many nodes whose names look like those of cloud providers. One in
// fifty nodes is hot, and has moves and declined pods.
func fleet(t testing.TB, nodes int) *Facts {
	y := newYard(t)
	states := [...]thresholds.State{thresholds.Cool, thresholds.Warm, thresholds.Cool, thresholds.Unknown}
	for i := range nodes {
		cpu := int64(500 + i*7919%5400)
		name := fmt.Sprintf("ip-10-%03d-%03d-%03d.eu-central-1.compute.internal", i/10_000, i/100%100, i%100)
		switch state := states[i%len(states)]; {
		case i%50 == 0:
			y.node(name, thresholds.Hot, 6600+cpu/3, 6600+cpu/3)
		case state == thresholds.Unknown && i%20 != 3:
			y.node(name, thresholds.Cool, cpu, cpu)
		case state == thresholds.Unknown:
			y.node(name, state, cpu, cpu, unknown(reasons.UsageStale))
		default:
			y.node(name, state, cpu, cpu)
		}
		y.pod("shop", fmt.Sprintf("web-%05d", i), fmt.Sprintf("web-%d", i/30), 300)
	}
	f := y.facts()
	f.Cycle = &status.Cycle{At: noon}
	for i := 0; i < nodes; i += 50 {
		info := y.view.Snapshot.Nodes[i]
		f.Cycle.Plan.Nodes = append(f.Cycle.Plan.Nodes, strategies.NodeReport{Name: info.Node.Name, State: thresholds.Hot, Reason: reasons.NoLanding})
		f.Cycle.Plan.Declined = append(f.Cycle.Plan.Declined, strategies.Declined{Pod: strategies.Pod{Pod: info.Pods[0]}, Node: info.Node.Name, Reason: reasons.NoLanding})
		ended := move(info.Pods[0].Name, ledger.Landed, info.Node.Name, time.Duration(i%3000)*time.Second)
		f.Ended = append(f.Ended, ended)
	}
	return f
}
