package plan

import (
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/strategies"
)

// One pod that must not be moved and was busy for five minutes hours ago does not cause all other
// pods to be moved off its node.
func TestPeakOfOnePodMovesNoOthers(t *testing.T) {
	at := func(percent int64) cluster.Amounts { return cluster.Amounts{10 * percent, 0} }
	node := hot("full", at(3), append(pods(19, "p", at(5)), pod("tenant", at(2), refused("x")))...)
	for i := range node.Pods {
		node.Pods[i].Requests, node.Pods[i].PeakMilliCores = cluster.Amounts{50}, 50
	}
	node.Pods[19].Requests, node.Pods[19].PeakMilliCores = cluster.Amounts{}, 600
	node.Unserved = strategies.EstimateUnserved(node.Pods)
	in := Input{Placement: anywhere{}, Nodes: shipped().on([]Node{node, cool("a", at(0)), cool("b", at(0)), cool("c", at(0))})}
	if moves := len(New(in).Moves); moves > 7 {
		t.Errorf("%d pods are moved where 7 cool the node", moves)
	}
}
