package scorer

import (
	"math"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// Formula defines how measured usage is converted to a score; see policy.Formula.
type Formula uint8

// The formulas.
const (
	FormulaCrane Formula = iota
	FormulaMemoryLoad
	FormulaMinMax
)

// Measured scores and limits nodes by measured windows instead of predicted
// usage. Percentages are of a node's capacity.
type Measured struct {
	Formula Formula
	// Terms lists the windows that are scored. MemoryLoad and MinMax use only the first
	// one.
	Terms []Term
	// Limits keep pods off a node that exceeds at least one of them.
	Limits []Limit
}

// Term is one scored window of usage. A window that the View does not have is
// always unknown.
type Term struct {
	Resource cluster.Resource
	Window   usage.Window
	Weight   float64
}

// Limit keeps pods off a node whose usage over one window is above Percent or,
// if From is set, at or above it. Unknown usage never exceeds a limit.
type Limit struct {
	Resource cluster.Resource
	Window   usage.Window
	Percent  float64
	From     bool
}

// standing is a node's result from the measured windows.
type standing struct {
	// score is the result of the formula, from 0 to 100. With MinMax it is the usage in
	// whole percent, -1 if unknown.
	score int16
	// full reports whether a limit is exceeded.
	full bool
}

// mostPercent is far above any usage that a node can have.
const mostPercent = 10_000

// standings evaluates every node of a view.
func (m *Measured) standings(view *usage.View) []standing {
	all := make([]standing, len(view.Nodes))
	for i := range all {
		node := reader{view, i}
		all[i] = standing{score: m.score(node), full: m.full(node)}
	}
	return all
}

func (m *Measured) full(node reader) bool {
	for i := range m.Limits {
		if _, passed := m.Limits[i].check(node); passed {
			return true
		}
	}
	return false
}

// Check returns a node's usage in percent of its capacity, and whether that
// exceeds the limit. Unknown usage is NaN and never exceeds the limit.
func (l *Limit) Check(view *usage.View, node int) (percent float64, passed bool) {
	return l.check(reader{view, node})
}

func (l *Limit) check(node reader) (percent float64, passed bool) {
	percent = node.share(l.Resource, l.Window) / perPercent
	return percent, percent > l.Percent || l.From && percent == l.Percent
}

func (m *Measured) score(node reader) int16 {
	if m.Formula == FormulaCrane {
		return m.crane(node)
	}
	percent := node.wholePercent(m.Terms)
	switch {
	case m.Formula == FormulaMinMax:
		return percent
	case percent < 0:
		return scoreStep
	}
	return scoreStep * (max(maxScore100-percent, 0) / scoreStep)
}

// crane applies Crane's formula.
//
//	score = int( sum of (1-u)*w*100 / sum of w )    u: usage as a fraction of capacity; a term not known adds to w alone
func (m *Measured) crane(node reader) int16 {
	const lost = 1e-9 // floating-point error that could cost a whole point
	var free, weights float64
	for i := range m.Terms {
		term := &m.Terms[i]
		if u := node.share(term.Resource, term.Window) / perWhole; !math.IsNaN(u) {
			free += (1 - u) * term.Weight * maxScore100
		}
		weights += term.Weight
	}
	if !(weights > 0) {
		return 0
	}
	return int16(min(max(free/weights+lost, 0), maxScore100))
}

// reader reads the measured windows of one node.
type reader struct {
	view *usage.View
	node int
}

// Shares are in hundred-millionths of a node. This is finer than the values of any
// source, and coarse enough to hide the rounding error of converting a percentage to
// cores or bytes and back.
const (
	perWhole   = 1e8
	perPercent = 1e6
)

// share returns a node's usage as a share of its capacity; NaN if unknown.
func (r reader) share(resource cluster.Resource, window usage.Window) float64 {
	reported, place := r.view.Nodes[r.node].Reported, r.view.WindowIndex(window)
	whole := r.view.Snapshot.Nodes[r.node].Node.Capacity[resource]
	if place < 0 || place >= len(reported) || whole <= 0 {
		return math.NaN()
	}
	return math.Round(reported[place][resource] / float64(whole) * perWhole)
}

// wholePercent returns the usage of the first term in percent, rounded down; -1
// if unknown.
func (r reader) wholePercent(terms []Term) int16 {
	if len(terms) == 0 {
		return -1
	}
	share := r.share(terms[0].Resource, terms[0].Window)
	if math.IsNaN(share) {
		return -1
	}
	return int16(min(max(share/perPercent, 0), mostPercent))
}
