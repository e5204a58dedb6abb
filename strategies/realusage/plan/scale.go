package plan

import (
	"math"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/strategies"
)

// scale compares the pods of one hot node.
type scale struct {
	need, allocatable cluster.Amounts
	// steep is the difference between the node's usage and that of the coolest
	// destinations, as shares of allocatable.
	steep cluster.Percents
	// from is the node, or nil if it is unknown how long it will be hot. to is the
	// coolest destination.
	from, to *Node
	// residents holds the nodes of each owner's pods. Their number is needed because a
	// batch takes an equal share of every owner's pods.
	residents Residents
	weights   map[*strategies.Pod]float64 // weights computed so far
}

// othersWeigh is the weight of the squares of resources that are not needed, relative to
// the usage of those that are. It was tuned by measurement; see docs/tuning.md.
const othersWeigh = 2

// nearest is the number of coolest destinations whose mean represents the one where a pod
// will land.
const nearest = 4

// weight returns the cost of choosing a pod instead of others that cover the need as
// well. If it is known how long the node will be hot, the weight is lower the more hot
// time the move saves. Otherwise, it includes the pod's usage of the needed resources,
// because a larger pod moves more usage than necessary. In both cases it includes, for
// the other resources, the increase in the sum of squares over all nodes: moving m from a
// node at a to one at b changes a² + b² by 2m(b − a + m), all as shares of allocatable.
func (s *scale) weight(pod *strategies.Pod) float64 {
	weight, known := s.weights[pod]
	if !known {
		weight = s.weigh(pod)
		s.weights[pod] = weight
	}
	return weight
}

func (s *scale) weigh(pod *strategies.Pod) (total float64) {
	for r := range s.need {
		m := share(pod.Wanted()[r], s.allocatable[r])
		if s.need[r] > 0 {
			if s.from != nil && cluster.Resource(r) == cluster.CPU {
				total -= s.worth(pod)
				continue
			}
			total += m
		} else {
			total += othersWeigh * 2 * m * (m - s.steep[r])
		}
	}
	return total
}

// worth returns what moving a pod to the coolest destination saves, in weighted hot
// minutes as a share of Horizon. A pod that does not cool its node on its own saves
// nothing.
func (s *scale) worth(pod *strategies.Pod) float64 {
	without, with := s.from.Load, s.to.Load
	without.Remove(pod.Expected)
	with.Add(pod.Expected)
	saved := s.from.weightedHotMinutes(&s.from.Load) - s.from.weightedHotMinutes(&without) + s.to.weightedHotMinutes(&s.to.Load) - s.to.weightedHotMinutes(&with)
	return saved / forecast.Horizon.Minutes()
}

// negligible is the share of a node by which pods may differ and still count as alike.
const negligible = 0.0025

// alike reports whether a pod may replace a chosen one regardless of their weights.
func (s *scale) alike(chosen, other *strategies.Pod) bool {
	more := other.Wanted().Minus(chosen.Wanted())
	for r := range more {
		if math.Abs(share(more[r], s.allocatable[r])) > negligible {
			return false
		}
	}
	return other.Disruption.Alike(chosen.Disruption) && s.weight(other) <= s.weight(chosen)+negligible
}

// pods counts an owner's pods.
func (s *scale) pods(of strategies.Owner) int { return max(len(s.residents[of]), 1) }

func share(amount, of int64) float64 { return float64(amount) / float64(max(of, 1)) }
