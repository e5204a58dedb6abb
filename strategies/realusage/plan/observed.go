package plan

import (
	"github.com/evenkeel/evenkeel/scorer"
	"github.com/evenkeel/evenkeel/thresholds"
	"github.com/evenkeel/evenkeel/usage"
)

// Observed is what a strategy plans on.
type Observed struct {
	View   *usage.View
	Board  *scorer.Board
	States map[string]thresholds.NodeState
	Lines  *thresholds.Resolved
	// Closed is why nothing may be evicted now; empty when it may.
	Closed string
	// MaxMoves is how many moves may be made beside the policy's bound; negative
	// for no further bound.
	MaxMoves int
}

// PodsOnHotNodes counts the pods that may have to be looked at.
func (o *Observed) PodsOnHotNodes() (pods int) {
	for _, info := range o.View.Snapshot.Nodes {
		if o.States[info.Node.Name].State == thresholds.Hot {
			pods += len(info.Pods)
		}
	}
	return pods
}
