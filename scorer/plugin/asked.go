package plugin

import (
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/scorer/answer"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// asked is the state of a pod in one of its scheduling cycles. Copies of
// kube-scheduler's state share it.
type asked struct {
	// cycle is the state for which asked was opened. It differs from its copies.
	cycle fwk.CycleState
	// steering is nil while the Side has no Answerer.
	steering *answer.Cycle
	// places is nil if PreFilter was not called; nodes are then checked one by
	// one.
	places *places
	// refused holds the reason for refusing each known node; nil if none is refused.
	refused []extender.Reject
	// left holds the nodes that remain to be scored.
	left        []fwk.NodeInfo
	destination once[string]
	others      once[bool]
}

var _ fwk.StateData = (*asked)(nil)

// Clone returns the same object, because nothing in it depends on which pods a
// node has.
func (a *asked) Clone() fwk.StateData { return a }

// judge checks all nodes at once, and reports whether Filter must be called for
// each.
func (a *asked) judge(known *placesCache, nodes []fwk.NodeInfo) bool {
	if a.steering == nil || a.steering.Neutral() {
		return false
	}
	a.places = known.of(a.steering, nodes)
	a.refused = a.steering.Rejects()
	return a.refused != nil || a.steering.Replaces()
}

// reject returns the reason for which a node, considered alone, is refused.
func (a *asked) reject(node *v1.Node) extender.Reject {
	place := a.place(node)
	if a.places == nil {
		return a.steering.Reject(place)
	}
	if place < 0 || a.refused == nil {
		return extender.RejectNone
	}
	return a.refused[place]
}

// place returns the index of a node, or -1.
func (a *asked) place(node *v1.Node) cluster.NodeIndex {
	if a.places != nil {
		if place, ok := a.places.find(node); ok {
			return place
		}
	}
	return a.steering.Node(node.Name)
}

// among returns the indices of scored nodes, which usually arrive in the order
// that PreScore received.
func (a *asked) among(scores fwk.NodeScoreList) []cluster.NodeIndex {
	places := make([]cluster.NodeIndex, len(scores))
	for k := range scores {
		if k < len(a.left) {
			if node := a.left[k].Node(); node.Name == scores[k].Name {
				places[k] = a.place(node)
				continue
			}
		}
		places[k] = a.steering.Node(scores[k].Name)
	}
	return places
}
