package steering

import (
	"fmt"
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
)

// Pods that kube-scheduler places before any of them is seen bound spread as if
// each were: what is answered to one counts for the next.
func TestPodsOfABurstCountAtOnce(t *testing.T) {
	b := newBridge(t)
	nodes := []string{"a", "b", "c", "d"}
	for _, node := range nodes {
		b.node(node, 1000)
	}
	b.observe()
	placed := map[string]int{}
	for n := range 20 {
		pod := strange(fmt.Sprintf("p%d", n), 235) // 200m is expected
		scores := b.prioritize(pod, nodes...)
		best := nodes[0]
		for _, node := range nodes {
			if scores[node] > scores[best] {
				best = node
			}
		}
		placed[best]++
	}
	for _, node := range nodes {
		if placed[node] < 3 || placed[node] > 7 {
			t.Errorf("placed %v, want about 5 on each", placed)
		}
	}
	b.observe()
	board := b.observer.Latest().Board
	for _, node := range nodes {
		if used, _ := board.Predicted(board.Node([]byte(node))); used[cluster.CPU] != 1000 {
			t.Errorf("%s is predicted at %v long after; none of the pods came", node, used)
		}
	}
}
