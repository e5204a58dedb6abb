package plan

import (
	"fmt"
	"slices"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// worth is what the moves off a node bring and what they have to.
type worth struct {
	// minutes is for how much less the node and the destinations of its pods are
	// expected to be hot. saved is the same with every minute weighted by how far
	// above its line a node is, asked the least that it has to be.
	minutes, saved, asked float64
	// again is how many of the pods were moved within a day, so that more is asked.
	again int
}

// enough reports whether the moves are worth making.
func (w worth) enough() bool { return w.saved >= w.asked }

// sentence says why moves are not worth making.
func (w worth) sentence(moves int) string {
	sentence := fmt.Sprintf("%s would cool the node: they save %.0f hot minutes within %.0f hours, which count as %.0f for how far it is above its evict line; "+
		"what they disrupt requires %.0f",
		reasons.Count(moves, "move"), max(w.minutes, 0), forecast.Horizon.Hours(), max(w.saved, 0), w.asked)
	if w.again > 0 {
		sentence += fmt.Sprintf(", with %s moved within a day", reasons.Count(w.again, "pod"))
	}
	return sentence
}

// worth judges the moves off a node, and notes what each saves.
func (p *planner) worth(n *Node, landed []landing) worth {
	w := worth{asked: p.in.MinHotMinutesSaved * asked(n, landed)}
	w.minutes, w.saved = n.saves(p.in.Nodes, landed)
	for i := range landed {
		if landed[i].pod.Disruption.Again {
			w.again++
		}
		landed[i].saves = w.minutes / float64(len(landed))
	}
	return w
}

// wholePod is the share of its node from which on a pod counts as one. Of smaller
// pods as many as use that much count as one together, or the relief of a node
// would be asked for more the more pods it has.
const wholePod = 0.05

// asked returns for how many plain pods the moves off a node have to save hot time:
// for the dearest of them at least, however small. What a little relief saves is
// within what a forecast is wrong by, so at a price as small it would be made for
// peaks that coincide.
func asked(n *Node, landed []landing) (plain float64) {
	dearest := 0.0
	for _, l := range landed {
		plain += n.inPlainPods(l.pod)
		dearest = max(dearest, l.pod.Disruption.InPlainPods())
	}
	return max(plain, dearest)
}

// inPlainPods returns as how many plain pods one counts that leaves the node with others.
func (n *Node) inPlainPods(pod *strategies.Pod) float64 {
	part := share(pod.Wanted()[cluster.CPU], n.Allocatable[cluster.CPU]) / wholePod
	return min(max(part, 0), 1) * pod.Disruption.InPlainPods()
}

// saves returns for how much less, in minutes, a node and the destinations of its
// pods are expected to be hot, as minutes and weighted.
func (n *Node) saves(nodes []Node, landed []landing) (minutes, weighted float64) {
	without := n.Load
	add := func(at *Node, load *forecast.Load, sign float64) {
		minutes += sign * at.hotMinutes(load)
		weighted += sign * at.weightedHotMinutes(load)
	}
	add(n, &n.Load, 1)
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
		add(to, &l.to.load, -1)
		add(to, &before, 1)
	}
	add(n, &without, -1)
	return minutes, weighted
}
