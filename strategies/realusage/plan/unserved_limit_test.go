package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
)

// If one node has reached the limit of moves per node, the planner still tries the moves that
// measured usage requires for the others.
func TestLimitOfAnotherNodeLeavesTheMeasuredAttempt(t *testing.T) {
	at := func(percent int64) cluster.Amounts { return cluster.Amounts{10 * percent, 0} }
	in := Input{MaxPerNode: 1, Placement: anywhere{}, Nodes: shipped().on([]Node{
		hot("a hottest", at(60), pods(4, "a", at(10))...), // 35 % have to leave, which takes four moves
		overfull(hot("b full", at(55), pod("big", at(35)), pod("stays", at(0), wanting(900), refused("x")))),
		cool("roomy", at(0)), cool("roomier", at(0)),
	})}
	var moves []string
	for _, m := range New(in).Moves {
		moves = append(moves, m.Name)
	}
	if diff := cmp.Diff([]string{"a0", "big"}, moves); diff != "" {
		t.Errorf("moves (-want +got):\n%s", diff)
	}
}
