package scorer

import (
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
)

const gib = 1 << 30

// at is the predicted usage, in percent, of a node with 10 cores and 100 GiB, so that one percent
// is 100m or 1 GiB.
type at struct{ cpu, memory int64 }

// unknown is a node without usage.
var unknown = at{-1, -1}

// lined configures a test's board: the reject lines of CPU and memory, and the scoring.
type lined struct {
	reject cluster.Percents
	Config
}

// boardOf returns a board with one node per entry, named a, b and so on.
func boardOf(t testing.TB, by lined, nodes ...at) *Board {
	t.Helper()
	infos, reads := make([]cluster.Node, len(nodes)), make([]usage.NodeUsage, len(nodes))
	for i, n := range nodes {
		infos[i] = cluster.Node{Name: name(i), Allocatable: cluster.Amounts{10_000, 100 * gib}}
		reads[i] = predicted(cluster.Amounts{n.cpu * 100, n.memory * gib})
		if n == unknown {
			reads[i].Unknown = reasons.UsageStale
		}
	}
	return by.board(t, viewOf(infos, reads))
}

// predicted returns a node with the same predicted usage over every window.
func predicted(used cluster.Amounts) usage.NodeUsage {
	every := []cluster.Amounts{used, used}
	return usage.NodeUsage{Current: every, Predicted: every}
}

func viewOf(infos []cluster.Node, reads []usage.NodeUsage) *usage.View {
	view := &usage.View{Snapshot: &cluster.Snapshot{}, Windows: []usage.Window{usage.Last, usage.Avg5m}, Nodes: reads}
	for _, info := range infos {
		view.Snapshot.Nodes = append(view.Snapshot.Nodes, &cluster.NodePods{Node: info})
	}
	return view
}

func (l lined) board(t testing.TB, view *usage.View) *Board {
	t.Helper()
	return NewBoard(view, l.set(t).Resolve(view), l.Config)
}

func (l lined) set(t testing.TB) *thresholds.Set {
	t.Helper()
	var rules []thresholds.Rule
	for r, metric := range []usage.Metric{usage.CPU, usage.Memory} {
		levels := thresholds.NoLevels()
		levels.Reject = l.reject[r]
		rules = append(rules, thresholds.Rule{Metric: metric, Window: usage.Avg5m, Levels: levels})
	}
	set, err := thresholds.New([]thresholds.Pool{{Name: "default", Rules: rules}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func name(i int) string { return string(rune('a' + i)) }

// testConfig rejects above 60 % of CPU and 75 % of memory, and damps differences below 5 percentage
// points, as shipped.
func testConfig() lined {
	return lined{cluster.Percents{60, 75}, Config{Weights: cluster.Percents{1, 1}, DampPercent: 5}}
}

// indices returns the first n node indices.
func indices(n int) []cluster.NodeIndex {
	all := make([]cluster.NodeIndex, n)
	for i := range all {
		all[i] = cluster.NodeIndex(i)
	}
	return all
}

var pod = cluster.Amounts{500, 2 * gib} // 5 % and 2 %

// Accepts is the opposite of Refused for a single node. It reports whether kube-scheduler may put a
// pod with the given usage on the node. That is so if the node stays at or under the reject line
// with the pod or, with measured windows, if it is within their limits. An unknown node accepts
// every pod.
func (b *Board) Accepts(i cluster.NodeIndex, pod cluster.Amounts) bool {
	if b.Measured() {
		return !b.full(i)
	}
	return b.under(i, pod)
}
