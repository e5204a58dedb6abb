package usage

import (
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
)

// sized returns a node with a capacity and a smaller allocatable.
func sized(capacity, allocatable cluster.Amounts, pods ...*cluster.Pod) *cluster.NodePods {
	node := nodeWith("n1", pods...)
	node.Node.Capacity, node.Node.Allocatable = capacity, allocatable
	return node
}

// Allocatable excludes the reserve, so the system's usage within the reserve is excluded as well.
// Only pods, and system usage beyond the reserve, fill a node.
func TestReserveCountsOnce(t *testing.T) {
	pod, hidden := aPod("a"), aPod("hidden", owner("other"), requesting(amounts(100, 50)))
	small, large := cluster.Amounts{2000, 4 * gib}, cluster.Amounts{64_000, 256 * gib}
	smallPods, largePods := cluster.Amounts{940, 3 * gib}, cluster.Amounts{63_600, 120 * gib}
	cases := map[string]struct {
		capacity, allocatable cluster.Amounts
		pods                  []*cluster.Pod
		node, sampled         cluster.Amounts
		want                  cluster.Amounts
		hugePages             int64
	}{
		"the system is within its reserve":                {small, smallPods, []*cluster.Pod{pod}, amounts(640, 1500), amounts(451, 900), amounts(451, 900), 0},
		"the system is beyond its reserve":                {small, smallPods, []*cluster.Pod{pod}, amounts(1800, 3000), amounts(300, 1000), amounts(740, 1976), 0},
		"the system uses all of the machine":              {small, smallPods, []*cluster.Pod{pod}, amounts(2000, 4096), amounts(100, 100), smallPods, 0},
		"a large node, and huge pages":                    {large, largePods, []*cluster.Pod{pod}, amounts(40_000, 240*1024), amounts(38_000, 110*1024), amounts(39_600, 110*1024), 0},
		"huge pages that the usage leaves out":            {large, largePods, []*cluster.Pod{pod}, amounts(40_000, 130*1024), amounts(38_000, 110*1024), amounts(39_600, 122*1024), 128 * gib},
		"huge pages that the usage includes":              {large, largePods, []*cluster.Pod{pod}, amounts(40_000, 250*1024), amounts(38_000, 110*1024), amounts(39_600, 114*1024), 128 * gib},
		"no pod is measured":                              {small, smallPods, []*cluster.Pod{pod}, amounts(640, 2048), cluster.Amounts{}, amounts(301, 1536), 0}, // of 32 %, on half the machine
		"a pod that was never sampled":                    {small, smallPods, []*cluster.Pod{pod, hidden}, amounts(1600, 2048), amounts(100, 100), amounts(752, 1536), 0},
		"allocatable is all there is":                     {small, small, []*cluster.Pod{pod}, amounts(640, 1500), amounts(451, 900), amounts(640, 1500), 0},
		"no capacity is stated":                           {cluster.Amounts{}, smallPods, []*cluster.Pod{pod}, amounts(640, 1500), amounts(451, 900), amounts(640, 1500), 0},
		"more is allocatable than there is, by a webhook": {smallPods, small, []*cluster.Pod{pod}, amounts(640, 1500), amounts(451, 900), amounts(640, 1500), 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			store, snapshot := newStore(t), snapshotOf(sized(tc.capacity, tc.allocatable, tc.pods...))
			snapshot.Nodes[0].Node.HugePages = tc.hugePages
			sampled := map[string]cluster.Amounts{"a": tc.sampled}
			if tc.sampled == (cluster.Amounts{}) {
				sampled = nil
			}
			feed(store, snapshot, 0, 600, tc.node, sampled)
			got := node1(store, snapshot, 600)
			for w := range got.Measured {
				if got.Measured[w] != tc.want || got.Current[w] != tc.want {
					t.Errorf("%s: measured %v, current %v, want %v", store.windows[w], got.Measured[w], got.Current[w], tc.want)
				}
				if got.Predicted[w].Minus(tc.want).Exceeds(cluster.Amounts{1, 0}) || tc.want.Exceeds(got.Predicted[w]) {
					t.Errorf("%s: predicted %v, want %v", store.windows[w], got.Predicted[w], tc.want)
				}
				if got.Whole(w) != tc.node {
					t.Errorf("%s: the machine uses %v, want %v", store.windows[w], got.Whole(w), tc.node)
				}
			}
			if newest := store.View(snapshot, at(600), nil).Newest().Nodes[0]; newest.Whole(AtAvg5m) != tc.node || newest.Current[AtAvg5m] != tc.want {
				t.Errorf("by the newest sample: %v of %v", newest.Current, newest.Whole(AtAvg5m))
			}
		})
	}
}

// The system's usage of the reserve stays known while samples of pods are lost or have yet to
// arrive. Otherwise the node would seem fuller, and could become hot for lack of data.
func TestLostSamplesLeaveTheReserveOut(t *testing.T) {
	both := map[string]cluster.Amounts{"a": amounts(400, 1000), "b": amounts(200, 600)}
	for name, kept := range map[string]map[string]cluster.Amounts{
		"of no pod":              both,
		"of one pod":             {"a": both["a"]},
		"of all pods":            nil,
		"of the node's newcomer": both,
	} {
		t.Run(name, func(t *testing.T) {
			store := starting(t)
			pods := []*cluster.Pod{aPod("a"), aPod("b", owner("other"))}
			node, beside := sized(cluster.Amounts{2000, 4 * gib}, cluster.Amounts{940, 3 * gib}, pods...), nodeWith("n2", aPod("c", owner("beside")))
			snapshot := snapshotOf(node, beside)
			tell := func(second int, pods map[string]cluster.Amounts) {
				read := readAt(second).node("n1", amounts(1600, 2600)).node("n2", amounts(1000, 1000)).pod("c", amounts(900, 900))
				for name, used := range pods {
					read.pod(name, used)
				}
				store.Ingest(snapshot, read.Batch)
			}
			for second := 0; second <= 600; second += 15 {
				tell(second, both)
			}
			if name == "of the node's newcomer" {
				node.Pods = append(node.Pods, aPod("new", owner("new"), requesting(amounts(10, 10)), startedAt(600)))
			}
			for second := 615; second <= 720; second += 15 {
				tell(second, kept)
				got := node1(store, snapshot, second)
				for w := range got.Current { // 1000m and 1000 MiB of the reserve are in use
					if got.Current[w] != amounts(600, 1600) {
						t.Errorf("second %d: %s counts as %v, want 600m and 1600 MiB", second, store.windows[w], got.Current[w])
					}
				}
			}
		})
	}
}
