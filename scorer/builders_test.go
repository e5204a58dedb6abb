package scorer

import (
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/usage"
)

const gib = 1 << 30

// at is a node of 10 cores and 100 GiB, so that 100m and 1 GiB are a percent each, predicted at these percentages.
type at struct{ cpu, memory int64 }

// unknown is a node without usage.
var unknown = at{-1, -1}

// boardOf has one node per entry, named n0, n1 and so on.
func boardOf(t testing.TB, config Config, nodes ...at) *Board {
	t.Helper()
	view := &usage.View{Snapshot: &cluster.Snapshot{}}
	for i, n := range nodes {
		info := cluster.Node{Name: name(i), Allocatable: cluster.Amounts{10_000, 100 * gib}}
		read := usage.NodeUsage{Predicted: usage.Every(cluster.Amounts{n.cpu * 100, n.memory * gib})}
		if n == unknown {
			read.Unknown = usage.StaleSample
		}
		view.Snapshot.Nodes = append(view.Snapshot.Nodes, &cluster.NodePods{Node: info})
		view.Nodes = append(view.Nodes, read)
	}
	return NewBoard(view, config)
}

func name(i int) string { return string(rune('a' + i)) }

// testConfig rejects above 60 % of CPU and 75 % of memory and damps below 5 percent points, as shipped.
func testConfig() Config {
	return Config{Lines: Lines{Reject: cluster.Percents{60, 75}}, Weights: cluster.Percents{1, 1}, DampPercent: 5}
}

// indices are the nodes of a request; -1 is a node the board does not know.
func indices(n int) []int32 {
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

var pod = cluster.Amounts{500, 2 * gib} // 5 % and 2 %
