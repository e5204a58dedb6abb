package thresholds

import "math"

// AboveReject reports whether any metric of a node is predicted above its reject line in
// every window that has one.
func (r *Resolved) AboveReject(i int) bool {
	groups := r.pools[r.of[i]].groups
	for k := range groups {
		if r.aboveReject(i, &groups[k]) {
			return true
		}
	}
	return false
}

func (r *Resolved) aboveReject(i int, g *group) bool {
	above := false
	for k := range g.rules {
		one := &g.rules[k]
		if math.IsInf(one.levels.Reject, 1) {
			continue
		}
		if !(r.worse(i, g, one, r.view.Nodes[i].Predicted) > one.levels.Reject) { // also true for NaN
			return false
		}
		above = true
	}
	return above
}

// BelowReject reports whether a node that was above a reject line is clearly below it
// again, on every metric and window. The gap between AboveReject and BelowReject keeps
// labels and taints of nodes from flapping. Unknown values do not preserve them.
func (r *Resolved) BelowReject(i int) bool {
	return r.under(i, r.view.Nodes[i].Predicted, (*Levels).belowReject)
}

// belowReject returns the level that is as far below Reject as Leave is below
// Evict, but not below Low.
func (l *Levels) belowReject() float64 {
	gap := l.Evict - l.Leave
	if !(gap > 0) || math.IsInf(gap, 1) { // also true for NaN, if both lines are missing
		gap = 0
	}
	line := l.Reject - gap
	if !math.IsInf(l.Low, 1) {
		line = max(line, min(l.Low, l.Reject))
	}
	return line
}
