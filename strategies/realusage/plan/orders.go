package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/strategies"
)

// New makes the plan. It cools each hot node with the pods of the lowest
// sufficient priorities that have a destination and together cost least: the
// fewest, if all disrupt alike. If that cannot cool a node, it is left alone
// with the reason: partial relief costs evictions, and room that a node which
// can be cooled needs. What is left of that room goes to others, if they get much of
// the relief that they need.
//
// Nodes that come first take the room. So if starting with the hottest leaves a
// node without destinations, or costs more than cooling each node alone would,
// other orders are tried as well.
func New(in Input) strategies.Plan {
	best := attempt(&in, orders[0])
	examined := best.destinations.examined
	for _, o := range orders[1:] {
		if best.ideal() || examined > maxExamined {
			break
		}
		other := attempt(&in, o)
		examined += other.destinations.examined
		if other.better(best) {
			best = other
		}
	}
	best.relievePinned()
	if !best.relieveSaturated() { // its destinations are others, and nothing is quiet where it moves pods
		best.relieveCrowded()
		best.relieveAhead()
	}
	return best.plan()
}

// sequence is an order in which to cool hot nodes and one in which to try
// destinations first.
type sequence struct {
	leastHotFirst bool
	destinations  order
}

var orders = [...]sequence{{false, coolestFirst}, {false, tightestFirst}, {true, coolestFirst}, {true, tightestFirst}}

// maxExamined is how many destinations may be examined before no other order is
// tried: less than a second with the slowest filters.
const maxExamined = 50_000

// attempt plans in one order and leaves the Placement unchanged.
func attempt(in *Input, o sequence) *planner {
	p := newPlanner(in, o.destinations)
	slices.SortStableFunc(p.hot, func(i, j cluster.NodeIndex) int {
		a, b := &in.Nodes[i], &in.Nodes[j]
		if a.Begun != b.Begun {
			return orderOf(a.Begun)
		}
		byHeat := cmp.Compare(heat(b), heat(a))
		if o.leastHotFirst {
			byHeat = -byHeat
		}
		return cmp.Or(byHeat, strings.Compare(a.Name, b.Name))
	})
	for _, i := range p.hot {
		p.cool(i)
	}
	for _, l := range slices.Backward(p.landed) {
		l.undo()
	}
	return p
}

// relieveAhead moves pods off nodes that are not hot and will be, as they were at
// that time of earlier periods: in a quiet hour of the pod, where both nodes together
// will be hot for less. What is hot now has come first.
func (p *planner) relieveAhead() {
	var nodes []*relieved
	for i := range p.in.Nodes {
		if n := &p.in.Nodes[i]; n.Pods != nil && n.WillBeHot(p.in.Recurs) {
			nodes = append(nodes, &relieved{
				planner: p, at: cluster.NodeIndex(i), node: n, minutes: n.hotAhead(n.Certain, p.in.Recurs),
				course: *n.Certain, moved: map[*strategies.Pod]bool{},
			})
		}
	}
	if len(nodes) == 0 {
		return
	}
	slices.SortStableFunc(nodes, func(a, b *relieved) int { return cmp.Compare(b.minutes, a.minutes) })
	p.add(func() {
		for _, r := range nodes[:min(len(nodes), mostAhead)] {
			p.landed = append(p.landed, r.relieve(min(p.budget(), mostMovesPerNode))...)
		}
	})
}

// add has more landings planned while the Placement counts those that the plan has, which
// attempt took back. It leaves the Placement unchanged.
func (p *planner) add(more func()) {
	var done []func()
	defer func() {
		for _, undo := range slices.Backward(done) {
			undo()
		}
	}()
	before := len(p.landed)
	for i := range p.landed {
		undo, err := p.in.Placement.Move(p.landed[i].pod.Pod, p.landed[i].to.name)
		if err != nil {
			return
		}
		done = append(done, undo)
	}
	more()
	for _, l := range p.landed[before:] {
		done = append(done, l.undo)
	}
}
