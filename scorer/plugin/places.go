package plugin

import (
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/scorer/answer"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// places maps Node objects to indices of the board, because reading and hashing
// hundreds of names for each pod is most of the cost of asking about nodes. An
// object is replaced when its node changes, so a missing object does not mean
// that the node is unknown.
type places struct {
	list  []fwk.NodeInfo
	index *extender.Index
	of    map[*v1.Node]cluster.NodeIndex
	// missed counts the nodes that had to be looked up by name.
	missed atomic.Int32
}

// placesCache keeps the places until the nodes change or too many objects are new.
type placesCache struct{ newest atomic.Pointer[places] }

// of returns the places of all nodes for a cycle.
func (c *placesCache) of(cycle *answer.Cycle, list []fwk.NodeInfo) *places {
	if known := c.newest.Load(); known != nil && known.hold(cycle.Index(), list) {
		return known
	}
	made := &places{list: list, index: cycle.Index(), of: make(map[*v1.Node]cluster.NodeIndex, len(list))}
	for _, info := range list {
		if node := info.Node(); node != nil {
			made.of[node] = cycle.Node(node.Name)
		}
	}
	c.newest.Store(made)
	return made
}

// staleOne limits stale objects: places are rebuilt if more than one in
// staleOne nodes is missed.
const staleOne = 16

// hold reports whether the places are still valid for a list and an index.
// kube-scheduler makes a new list when nodes are added or removed.
func (p *places) hold(index *extender.Index, list []fwk.NodeInfo) bool {
	return p.index == index && len(p.list) == len(list) && (len(list) == 0 || &p.list[0] == &list[0]) &&
		int(p.missed.Load()) <= len(list)/staleOne
}

// find returns the index of a node, -1 if the board does not know it, and
// whether the object was found.
func (p *places) find(node *v1.Node) (cluster.NodeIndex, bool) {
	place, ok := p.of[node]
	if !ok {
		p.missed.Add(1)
	}
	return place, ok
}
