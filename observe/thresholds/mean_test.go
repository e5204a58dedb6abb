package thresholds

import (
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// Levels that are distances from the mean use the mean of the nodes that accept pods, because nodes
// that are kept idle on purpose must not make other nodes hot.
func TestTheMeanCoversNodesThatAcceptPods(t *testing.T) {
	cases := map[string]func(*cluster.Node){
		"cordoned":     func(n *cluster.Node) { n.Schedulable = false },
		"leaving":      func(n *cluster.Node) { n.Leaving = "karpenter.sh/disrupted" },
		"closing":      func(n *cluster.Node) { n.ClosedBy = "DeletionCandidateOfClusterAutoscaler" },
		"reserved":     func(n *cluster.Node) { n.Reserved = true },
		"not selected": func(n *cluster.Node) { n.Unselected = true },
		"virtual":      func(n *cluster.Node) { n.Labels = map[string]string{"type": "virtual-kubelet"} },
	}
	by := Rule{Metric: usage.CPU, Window: usage.Avg5m, Deviation: true, Levels: levels(10, 10, 15, 10)}
	evict := func(idle func(*cluster.Node)) float64 {
		var nodes []node
		for i := range 8 {
			n := steady(5500, 10)
			if i < 3 {
				n = steady(500, 10)
			}
			n.change = func(record *cluster.Node, _ *usage.NodeUsage) {
				if record.Ready, record.Schedulable = true, true; i < 3 {
					idle(record)
				}
			}
			nodes = append(nodes, n)
		}
		return setOf(t, by).Resolve(viewOf(nodes...)).pools[0].groups[0].rules[0].levels.Evict
	}
	for name, idle := range cases {
		if got := evict(idle); got < 69.9 || got > 70.1 {
			t.Errorf("%s: five workers at 55%% have an evict line of %.1f, want 70", name, got)
		}
	}
	if got := evict(func(*cluster.Node) {}); got > 55 {
		t.Errorf("three nodes that are idle and accept pods: the evict line is %.1f", got)
	}
}

// In a pool that consists of reserved nodes, the nodes are compared with each other. The same
// applies to a pool whose nodes accept no pods at all.
func TestTheMeanOfASeparatePool(t *testing.T) {
	by := Rule{Metric: usage.CPU, Window: usage.Avg5m, Deviation: true, Levels: levels(10, 10, 15, 10)}
	for name, change := range map[string]func(*cluster.Node){
		"reserved": func(n *cluster.Node) { n.Reserved = true },
		"cordoned": func(n *cluster.Node) { n.Schedulable = false },
	} {
		var nodes []node
		for _, used := range []int64{3000, 5000} {
			n := steady(used, 10)
			n.change = func(record *cluster.Node, _ *usage.NodeUsage) {
				record.Ready, record.Schedulable = true, true
				change(record)
			}
			nodes = append(nodes, n)
		}
		levels := setOf(t, by).Resolve(viewOf(nodes...)).pools[0].groups[0].rules[0].levels
		if levels.Evict != 55 {
			t.Errorf("%s: two nodes at 30%% and 50%% have an evict line of %.1f, want 55", name, levels.Evict)
		}
	}
}
