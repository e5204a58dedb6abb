package plan

import (
	"fmt"
	"slices"

	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// Landings reports for every node but the pod's own whether it would take the
// pod, or the first reason of the planner why not. Nothing is moved. Without a
// Placement, filters refuse nothing.
func Landings(in *Input, pod *strategies.Pod) []strategies.Landing {
	landings := make([]strategies.Landing, 0, len(in.Nodes))
	for i := range in.Nodes {
		if n := &in.Nodes[i]; n.Name != pod.Node {
			landings = append(landings, in.landing(n, pod))
		}
	}
	return landings
}

func (in *Input) landing(n *Node, pod *strategies.Pod) strategies.Landing {
	l := strategies.Landing{
		Node: n.Name, State: n.State,
		Before: n.Predicted.PercentOf(n.Allocatable), After: n.Predicted.Plus(pod.Usage).PercentOf(n.Allocatable),
	}
	d := destination{ceiling: n.Ceiling, predicted: n.Predicted}
	from := slices.IndexFunc(in.Nodes, func(n Node) bool { return n.Name == pod.Node })
	switch {
	case n.Closed != "":
		l.Refused, l.Detail = reasons.NodeClosed, n.Closed
	case n.State != thresholds.Cool:
		l.Refused, l.Detail = reasons.NodeNotCool, "it is "+string(n.State)
	case from >= 0 && in.Nodes[from].Domain != n.Domain:
		l.Refused, l.Detail = reasons.OtherDomain, fmt.Sprintf("it is of %s, the pod's node of %s", n.Domain, in.Nodes[from].Domain)
	case !d.takes(pod.Usage):
		l.Refused = reasons.AboveRejectLine
	case in.Placement != nil:
		if ok, why := in.Placement.Fits(pod.Pod, n.Name); !ok {
			l.Refused, l.Detail = reasons.FilterRefuses, why
		}
	}
	return l
}
