package schedulerplugin

import (
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/steering"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// asked is what is known of a pod in one of its scheduling cycles. Copies of
// kube-scheduler's state share it.
type asked struct {
	// cycle is the state that it was opened for; copies of it have another.
	cycle fwk.CycleState
	// steering is nil where nobody can be asked yet.
	steering *steering.Cycle
	// places are nil where no PreFilter was asked; then nodes are judged one by
	// one.
	places *places
	// refused says of each node that is known why it is refused; nil where none
	// is.
	refused []extender.Reject
	// left are the nodes that are scored.
	left    []fwk.NodeInfo
	landing once[string]
	others  once[bool]
}

var _ fwk.StateData = (*asked)(nil)

// Clone returns the same: nothing of it depends on which pods a node holds.
func (a *asked) Clone() fwk.StateData { return a }

// judge judges all nodes at once, and reports whether the filter has to be
// asked about them one by one.
func (a *asked) judge(known *placesCache, nodes []fwk.NodeInfo) bool {
	if a.steering == nil || a.steering.Neutral() {
		return false
	}
	a.places = known.of(a.steering, nodes)
	a.refused = a.steering.Rejects()
	return a.refused != nil || a.steering.Replaces()
}

// reject says why a node, looked at by itself, is not for the pod.
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

// among returns the indices of nodes that are scored, which come in the order
// in which PreScore has seen them.
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
