package plan

import "slices"

// saves returns how much less, in minutes, a node and the destinations of its pods
// are expected to be hot.
func (n *Node) saves(nodes []Node, landed []landing) float64 {
	without, saved := n.Load, n.hotMinutes(&n.Load)
	for i, l := range landed {
		without.Remove(l.pod.Expected)
		if slices.ContainsFunc(landed[:i], func(other landing) bool { return other.to == l.to }) {
			continue
		}
		to, before := &nodes[l.to.at], l.to.load
		for _, other := range landed[i:] {
			if other.to == l.to {
				before.Remove(other.pod.Expected)
			}
		}
		saved -= to.hotMinutes(&l.to.load) - to.hotMinutes(&before)
	}
	return saved - n.hotMinutes(&without)
}
