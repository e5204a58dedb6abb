package plan

import (
	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/strategies"
)

// scale weighs the pods of one hot node against each other.
type scale struct {
	need, allocatable cluster.Amounts
	// steep is how far the node is above the coolest destinations, in shares of
	// allocatable.
	steep cluster.Percents
}

// othersWeigh is the weight of the squares of resources not in need relative to
// usage of those in need. It was tuned by measurement: docs/tuning.md.
const othersWeigh = 2

// nearest is how many of the coolest destinations represent the one where a pod
// will land.
const nearest = 4

// weight is the cost of choosing a pod when others cover the need as well. It
// adds the pod's usage of resources in need, since more would leave than has
// to, and the rise in the sum over nodes of the squares of the others. Moving m
// from a node at a to one at b changes a² + b² by 2m(b − a + m), all in shares
// of allocatable.
func (s *scale) weight(pod *strategies.Pod) float64 {
	total := 0.0
	for r := range s.need {
		m := share(pod.Usage[r], s.allocatable[r])
		if s.need[r] > 0 {
			total += m
		} else {
			total += othersWeigh * 2 * m * (m - s.steep[r])
		}
	}
	return total
}

func share(amount, of int64) float64 { return float64(amount) / float64(max(of, 1)) }
