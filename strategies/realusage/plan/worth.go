package plan

import (
	"fmt"
	"slices"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// worth compares what the moves off a node save with what they must save.
type worth struct {
	// minutes is the expected reduction in hot time of the node and the destinations of
	// its pods. saved is the same reduction with every minute weighted by how far a node
	// is above its line. asked is the minimum for saved.
	minutes, saved, asked float64
	// again is the number of pods that were already moved within the last day, which
	// raises asked.
	again int
}

// enough reports whether the moves are worth making.
func (w worth) enough() bool { return w.saved >= w.asked }

// sentence explains why moves are not worth making.
func (w worth) sentence(moves int) string {
	sentence := fmt.Sprintf("%s would cool the node: they save %.0f hot minutes within %.0f hours, weighted to %.0f by how far it is above its evict line; "+
		"the disruption they cause requires %.0f",
		reasons.Count(moves, "move"), max(w.minutes, 0), forecast.Horizon.Hours(), max(w.saved, 0), w.asked)
	if w.again > 0 {
		sentence += fmt.Sprintf(", with %s moved within a day", reasons.Count(w.again, "pod"))
	}
	return sentence
}

// worth judges the moves off a node, and records what each saves.
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

// wholePod is the share of its node above which a pod counts as a whole pod. Smaller pods
// count as one pod per wholePod of usage; otherwise relieving a node would cost more, the
// smaller its pods are.
const wholePod = 0.05

// asked returns the cost of the moves off a node, as the number of plain pods for which
// they must save hot time. It is at least the cost of the most expensive pod, however
// small the pod is: the savings of a small relief are within the error of the forecast,
// so a lower cost would lead to moves because of coinciding peaks.
func asked(n *Node, landed []landing) (plain float64) {
	dearest := 0.0
	for _, l := range landed {
		plain += n.inPlainPods(l.pod)
		dearest = max(dearest, l.pod.Disruption.InPlainPods())
	}
	return max(plain, dearest)
}

// inPlainPods returns the number of plain pods that a pod counts as when it leaves the
// node with others.
func (n *Node) inPlainPods(pod *strategies.Pod) float64 {
	part := share(pod.Wanted()[cluster.CPU], n.Allocatable[cluster.CPU]) / wholePod
	return min(max(part, 0), 1) * pod.Disruption.InPlainPods()
}

// saves returns the expected reduction in hot time of a node and the destinations of its
// pods, in minutes, unweighted and weighted.
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
