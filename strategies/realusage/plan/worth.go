package plan

import (
	"fmt"
	"slices"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/usage/forecast"
)

// worthwhile reports whether the moves off a node save as many hot minutes as
// their disruption is worth, and notes what each saves. If not, it declines them:
// the node will cool by itself, or another would be hot in its place.
func (p *planner) worthwhile(at cluster.NodeIndex, landed []landing) bool {
	n := &p.in.Nodes[at]
	if !n.ByCPU || p.in.MinHotMinutesSaved <= 0 {
		return true
	}
	saves := p.saves(n, landed)
	for i := range landed {
		landed[i].saves = saves / float64(len(landed))
	}
	asked := p.in.MinHotMinutesSaved * float64(costOf(landed)) / strategies.PlainQuarters
	if saves >= asked {
		return true
	}
	p.notes[at] = reasons.NotWorthwhile
	for _, l := range landed {
		p.decline(n, l.pod, reasons.NotWorthwhile, fmt.Sprintf(
			"the moves that would cool the node would save %.0f hot minutes within %v, and have to save %.0f", saves, forecast.Horizon, asked))
	}
	return false
}

// saves returns how much less, in minutes, a node and the destinations of its pods
// are expected to be hot.
func (p *planner) saves(n *Node, landed []landing) float64 {
	without, saved := n.Load, n.hotMinutes(&n.Load)
	for i, l := range landed {
		without.Remove(l.pod.Expected)
		if slices.ContainsFunc(landed[:i], func(other landing) bool { return other.to == l.to }) {
			continue
		}
		to, before := &p.in.Nodes[l.to.at], l.to.load
		for _, other := range landed[i:] {
			if other.to == l.to {
				before.Remove(other.pod.Expected)
			}
		}
		saved -= to.hotMinutes(&l.to.load) - to.hotMinutes(&before)
	}
	return saved - n.hotMinutes(&without)
}

// hotMinutes returns how long the node is expected to be hot under a load.
func (n *Node) hotMinutes(load *forecast.Load) float64 {
	return load.HotMinutes(n.HotLine, n.Allocatable[cluster.CPU])
}
