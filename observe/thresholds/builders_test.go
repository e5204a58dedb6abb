package thresholds

import (
	"math"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

const (
	gib  = 1 << 30
	swap = usage.Metric("swap.free") // lower is worse
)

// hour is a window that every view here has, besides last and avg_5m.
var hour = usage.Window{Kind: usage.KindMaxAvg, Over: time.Hour}

// none is the level of a metric without a line.
func none() float64 { return math.Inf(1) }

// levels returns Levels made of the low, reject, evict and leave lines.
func levels(low, reject, evict, leave float64) Levels { return Levels{low, reject, evict, leave} }

func evictAt(metric usage.Metric, window usage.Window, evict float64) Rule {
	return Rule{Metric: metric, Window: window, Levels: levels(none(), none(), evict, none())}
}

func rejectAt(metric usage.Metric, window usage.Window, reject float64) Rule {
	return Rule{Metric: metric, Window: window, Levels: levels(none(), reject, none(), none())}
}

// reversed turns the rule into one for a metric whose lower values are worse.
func (r Rule) reversed() Rule {
	r.LowerIsWorse = true
	for _, level := range []*float64{&r.Levels.Low, &r.Levels.Reject, &r.Levels.Evict, &r.Levels.Leave} {
		if math.IsInf(*level, 1) {
			*level = math.Inf(-1)
		}
	}
	return r
}

func (r Rule) relieves(resource cluster.Resource) Rule {
	r.Relieves = resource
	return r
}

// node has 10 cores and 100 GiB allocatable of 120 GiB capacity; its usage is
// in milli-cores and GiB.
type node struct {
	// last, average and highest are the current usage over last, avg_5m and
	// max_avg_1h.
	last, average, highest [2]int64
	// more is the amount by which predicted exceeds current.
	more [2]int64
	// io and swap are signals over every window.
	io, swap float64
	labels   map[string]string
	change   func(*cluster.Node, *usage.NodeUsage)
}

// steady returns a node with the same usage over every window.
func steady(cpuMilli, memoryGiB int64) node {
	used := [2]int64{cpuMilli, memoryGiB}
	return node{last: used, average: used, highest: used, io: math.NaN(), swap: math.NaN()}
}

// over returns a node with this CPU usage over last, avg_5m and max_avg_1h.
func over(last, average, highest int64) node {
	n := steady(0, 10)
	n.last[0], n.average[0], n.highest[0] = last, average, highest
	return n
}

func signals(io, swapFree float64) node {
	n := steady(5000, 40)
	n.io, n.swap = io, swapFree
	return n
}

func viewOf(nodes ...node) *usage.View {
	view := &usage.View{
		Snapshot: &cluster.Snapshot{},
		Windows:  []usage.Window{usage.Last, usage.Avg5m, hour},
		Signals:  []usage.Metric{usage.IOPressure, swap},
	}
	for _, n := range nodes {
		record := cluster.Node{
			Allocatable: cluster.Amounts{10_000, 100 * gib}, Capacity: cluster.Amounts{10_000, 120 * gib}, Labels: n.labels,
		}
		read := usage.NodeUsage{
			SourceSpan: []time.Duration{0, 5 * time.Minute, time.Hour},
			Signals:    [][]float64{{n.io, n.io, n.io}, {n.swap, n.swap, n.swap}},
		}
		for _, used := range [][2]int64{n.last, n.average, n.highest} {
			current := cluster.Amounts{used[0], used[1] * gib}
			read.Measured = append(read.Measured, current)
			read.Current = append(read.Current, current)
			read.Predicted = append(read.Predicted, current.Plus(cluster.Amounts{n.more[0], n.more[1] * gib}))
		}
		if n.change != nil {
			n.change(&record, &read)
		}
		view.Snapshot.Nodes = append(view.Snapshot.Nodes, &cluster.NodePods{Node: record})
		view.Nodes = append(view.Nodes, read)
	}
	return view
}

func setOf(t testing.TB, rules ...Rule) *Set {
	t.Helper()
	set, err := New([]Pool{{Rules: rules}}, 5)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func resolve(t testing.TB, n node, rules ...Rule) *Resolved {
	t.Helper()
	return setOf(t, rules...).Resolve(viewOf(n))
}
