package sim

import (
	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/sim/kubescheduler"
	"github.com/evenkeel/evenkeel/internal/steering"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// asked is the extender as kube-scheduler asks it, without the wire between
// them.
type asked struct{ judge *steering.Judge }

var _ kubescheduler.Extender = asked{}

// Filter implements kubescheduler.Extender. Where every node is rejected all
// are kept, as the reply does.
func (a asked) Filter(pod *v1.Pod, nodes []string) []int {
	round := a.judge.Begin()
	reasons := make([]extender.Reject, len(nodes))
	round.Filter(steering.Describe(pod), places(round, nodes), reasons)
	kept := make([]int, 0, len(nodes))
	for k, reason := range reasons {
		if reason == extender.RejectNone {
			kept = append(kept, k)
		}
	}
	if len(kept) == 0 {
		for k := range nodes {
			kept = append(kept, k)
		}
	}
	return kept
}

// Prioritize implements kubescheduler.Extender.
func (a asked) Prioritize(pod *v1.Pod, nodes []string) []int64 {
	round := a.judge.Begin()
	scores := make([]int8, len(nodes))
	round.Prioritize(steering.Describe(pod), places(round, nodes), scores)
	points := make([]int64, len(nodes))
	for k, score := range scores {
		points[k] = int64(score)
	}
	return points
}

func places(round extender.Round, nodes []string) []cluster.NodeIndex {
	indices := make([]cluster.NodeIndex, len(nodes))
	for k, name := range nodes {
		indices[k] = round.Node([]byte(name))
	}
	return indices
}
