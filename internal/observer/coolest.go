package observer

import "github.com/evenkeel/evenkeel/cluster"

// Coolest returns the node of these that would be the coolest with a pod on it
// that cannot go where it was planned to: of the zone that it comes from or, if
// none of that takes it, of others, and always of the same capacity type. It
// returns -1 if there is none.
func (o *Observation) Coolest(from string, nodes []cluster.NodeIndex, usage cluster.Amounts, excluded func(cluster.NodeIndex) bool) cluster.NodeIndex {
	known := o.View.Snapshot
	source := known.Index(from)
	if source < 0 {
		return o.Board.Best(nodes, usage, excluded)
	}
	home := known.Nodes[source].Node.Site()
	others := func(i cluster.NodeIndex) bool { return excluded(i) || known.Nodes[i].Node.Site().Spot != home.Spot }
	to := o.Board.Best(nodes, usage, func(i cluster.NodeIndex) bool { return others(i) || known.Nodes[i].Node.Site().Zone != home.Zone })
	if to < 0 {
		to = o.Board.Best(nodes, usage, others)
	}
	return to
}
