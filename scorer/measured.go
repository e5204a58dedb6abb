package scorer

import (
	"math"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/usage"
)

// Formula is how measured usage becomes a score; policy.Formula says what each
// does.
type Formula uint8

// The formulas.
const (
	FormulaCrane Formula = iota
	FormulaMemoryLoad
	FormulaMinMax
)

// Measured judges nodes by measured windows instead of predicted usage.
// Percentages are of a node's capacity.
type Measured struct {
	Formula Formula
	// Terms are what is scored. MemoryLoad and MinMax take the first.
	Terms []Term
	// Limits are what keeps pods off a node, any one of them.
	Limits []Limit
}

// Term is one window of usage that is scored. A window that the View does not
// have is never known.
type Term struct {
	Resource cluster.Resource
	Window   usage.Window
	Weight   float64
}

// Limit is one window of usage that keeps pods off a node: above Percent, or
// from Percent on. One that is not known keeps none off.
type Limit struct {
	Resource cluster.Resource
	Window   usage.Window
	Percent  float64
	From     bool
}

// standing is what measured windows say of a node.
type standing struct {
	// score is that of the formula, from 0 to 100; with MinMax it is the usage
	// in whole percent, -1 where it is not known.
	score int16
	// full says that a limit is passed.
	full bool
}

// mostPercent is far more usage than any node is measured at.
const mostPercent = 10_000

// standings judges every node of a view.
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
		if _, passed := m.Limits[i].judge(node); passed {
			return true
		}
	}
	return false
}

// Judge returns what a node of a view uses of its capacity, in percent, and
// whether that passes the limit. What is not known is NaN and passes none.
func (l *Limit) Judge(view *usage.View, node int) (percent float64, passed bool) {
	return l.judge(reader{view, node})
}

func (l *Limit) judge(node reader) (percent float64, passed bool) {
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

// crane is Crane's formula.
//
//	score = int( sum of (1-u)*w*100 / sum of w )    u: usage as a fraction of capacity; a term not known adds to w alone
func (m *Measured) crane(node reader) int16 {
	const lost = 1e-9 // what computing may have taken off a whole point
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

// Shares are counted in hundred-millionths of a node: finer than any source
// writes, and coarse enough to undo what turning a percentage into cores or
// bytes and back has changed in its last digits.
const (
	perWhole   = 1e8
	perPercent = 1e6
)

// share is how much of its capacity a node uses, NaN where that is not known.
func (r reader) share(resource cluster.Resource, window usage.Window) float64 {
	told, place := r.view.Nodes[r.node].Told, r.view.WindowIndex(window)
	whole := r.view.Snapshot.Nodes[r.node].Node.Capacity[resource]
	if place < 0 || place >= len(told) || whole <= 0 {
		return math.NaN()
	}
	return math.Round(told[place][resource] / float64(whole) * perWhole)
}

// wholePercent is the usage of the first term without the fraction of a
// percent, -1 where it is not known.
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
