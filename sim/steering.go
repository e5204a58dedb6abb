package sim

import (
	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/scorer/answer"
	"github.com/evenkeel/evenkeel/scorer/extender"
	"github.com/evenkeel/evenkeel/sim/kubescheduler"
)

// directExtender calls the extender's code as kube-scheduler would, but without HTTP.
type directExtender struct{ answerer *answer.Answerer }

var _ kubescheduler.Extender = directExtender{}

// Filter implements kubescheduler.Extender. If every node is rejected, it keeps all of
// them, as the HTTP response does.
func (a directExtender) Filter(pod *v1.Pod, nodes []string) []int {
	round := a.answerer.Begin()
	reasons := make([]extender.Reject, len(nodes))
	round.Filter(answer.Describe(pod), places(round, nodes), reasons)
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
func (a directExtender) Prioritize(pod *v1.Pod, nodes []string) []int64 {
	round := a.answerer.Begin()
	scores := make([]int8, len(nodes))
	round.Prioritize(answer.Describe(pod), places(round, nodes), scores)
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
