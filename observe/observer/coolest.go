package observer

import (
	"slices"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
)

// Coolest returns the node that would be the coolest with the pod of a move on it, or -1
// if there is none. It is used if the pod cannot go to its planned node. It prefers nodes
// in the pod's current zone. The platform always stays the same, and so does the capacity
// type if the source is known.
func (o *Observation) Coolest(move *ledger.Intent, nodes []cluster.NodeIndex, excluded func(cluster.NodeIndex) bool) cluster.NodeIndex {
	known := o.View.Snapshot
	suits := o.platforms(move)
	others := func(i cluster.NodeIndex) bool {
		return excluded(i) || known.Nodes[i].Node.Closed() != "" || !suits(&known.Nodes[i].Node)
	}
	source := known.Index(move.From)
	if source < 0 {
		return o.Board.Best(nodes, move.Usage, others)
	}
	home := known.Nodes[source].Node.Site()
	alike := func(i cluster.NodeIndex) bool { return others(i) || known.Nodes[i].Node.Site().Spot != home.Spot }
	to := o.Board.Best(nodes, move.Usage, func(i cluster.NodeIndex) bool { return alike(i) || known.Nodes[i].Node.Site().Zone != home.Zone })
	if to < 0 {
		to = o.Board.Best(nodes, move.Usage, alike)
	}
	return to
}

// platforms returns a filter for the nodes that the pod of a move can run on:
// nodes of the platform that it ran on and of the platform that it was planned
// to go to. If neither of these two nodes is known any longer, no node is
// accepted unless all nodes have the same platform.
func (o *Observation) platforms(move *ledger.Intent) func(*cluster.Node) bool {
	known := o.View.Snapshot
	var suiting []cluster.Platform
	for _, name := range []string{move.From, move.To} {
		if i := known.Index(name); i >= 0 {
			suiting = append(suiting, known.Nodes[i].Node.Platform())
		}
	}
	if len(suiting) > 0 {
		return func(n *cluster.Node) bool { return slices.Contains(suiting, n.Platform()) }
	}
	mixed := slices.ContainsFunc(known.Nodes, func(n *cluster.NodePods) bool { return n.Node.Platform() != known.Nodes[0].Node.Platform() })
	return func(*cluster.Node) bool { return !mixed }
}
