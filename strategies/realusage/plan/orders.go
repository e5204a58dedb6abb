package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/strategies"
)

// New makes the plan. To cool a hot node, it moves pods that have a destination, only of
// the lowest priorities that suffice, and with the lowest total cost: the fewest pods if
// all disrupt equally. A node that cannot be cooled is left alone, and the reason is
// reported, because partial relief costs evictions and uses space that other hot nodes
// need. Remaining space goes to such nodes if it gives them much of the relief that they
// need.
//
// Nodes that are cooled first get the space. If starting with the hottest node leaves
// another without destinations, or costs more than cooling each node on its own would,
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
	best.relieveSaturated()
	best.relieveCrowded()
	best.relieveAhead()
	return best.plan()
}

// sequence is an order in which to cool hot nodes, and the order in which to try
// destinations first.
type sequence struct {
	leastHotFirst bool
	destinations  order
}

var orders = [...]sequence{{false, coolestFirst}, {false, tightestFirst}, {true, coolestFirst}, {true, tightestFirst}}

// maxExamined is the number of examined destinations after which no other order is tried.
// Even with the slowest filters, examining that many takes less than a second.
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

// relieveAhead moves pods off nodes that are not hot yet but will be, judging by earlier
// periods. It moves a pod during its quiet hours, to a node where it causes less hot time
// in total. Nodes that are hot now are relieved first.
func (p *planner) relieveAhead() {
	var nodes []*relieved
	for i := range p.in.Nodes {
		if n := &p.in.Nodes[i]; n.Pods != nil && n.WillBeHot(p.in.Recurs) && !p.busy(n.Domain) {
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

// add calls more, which plans further landings, with the landings of the plan applied to
// the Placement again, because attempt has undone them. It leaves the Placement
// unchanged.
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
