package plan

import (
	"fmt"
	"math"
	"slices"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

var _ strategies.Basis = (*Input)(nil)

// Node implements strategies.Basis.
func (in *Input) Node(name string) *strategies.NodeBasis {
	n := in.node(name)
	if n == nil {
		return nil
	}
	return &strategies.NodeBasis{Name: n.Name, State: n.State, Closed: n.Closed, Need: n.Need, Expected: in.expected(n)}
}

// Stays implements strategies.Basis. Pods are moved only off nodes that need relief.
func (in *Input) Stays(pod *cluster.Pod) (reasons.Reason, string) {
	switch n := in.node(pod.Node); {
	case n == nil:
		return "", ""
	case n.State != thresholds.Hot:
		return reasons.NodeNotHot, fmt.Sprintf("its node %s is %s; pods are moved off hot nodes only", n.Name, n.State)
	case n.Need.AtLeastZero() == cluster.Amounts{}:
		return reasons.NodeNotHot, fmt.Sprintf("its node %s is under its evict lines; nothing has to leave", n.Name)
	}
	return "", ""
}

func (in *Input) node(name string) *Node {
	i := slices.IndexFunc(in.Nodes, func(n Node) bool { return n.Name == name })
	if i < 0 {
		return nil
	}
	return &in.Nodes[i]
}

// expected returns how long a node will be hot; nil if that is unknown.
func (in *Input) expected(n *Node) *strategies.Expected {
	if in.Unforeseen || n.HotLine <= 0 || n.HotLine == math.MaxInt64 {
		return nil
	}
	e := &strategies.Expected{HotMinutes: n.HotMinutes(), Unserved: n.Unserved}
	if n.WillBeHot(in.Recurs) {
		e.Recurring = n.Expect(in.Recurs, in.At)
	}
	return e
}
