// Package plan decides which pods to move, and to which nodes. It is the pure part of
// RealUsageLowNodeUtilization.
//
// New makes a Plan of the cheapest moves, each with a named destination. The same input
// gives the same plan. A Placement determines which nodes would take a pod, and Refused
// states why a pod must not be moved. The package evicts nothing.
package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// planner is one attempt at a plan.
type planner struct {
	in           *Input
	destinations *destinations
	hot          []cluster.NodeIndex // indices of the input's nodes
	notes        []reasons.Reason    // by input node
	landed       []landing
	planned      strategies.Tally  // of the moves in the plan
	waiting      []strategies.Move // moves that the plan's limits leave to later cycles
	declined     []strategies.Declined
	// cooled is the number of nodes that were cooled, crowded the number left hot for
	// lack of space. excess is the cost beyond that of cooling each node on its own.
	cooled, crowded, excess int
	limited                 bool // the plan has reached its limit
}

func newPlanner(in *Input, by order) *planner {
	p := &planner{in: in, destinations: newDestinations(in, by), planned: strategies.Tally{}, notes: make([]reasons.Reason, len(in.Nodes))}
	for i := range p.in.Nodes {
		if p.in.Nodes[i].State == thresholds.Hot {
			p.hot = append(p.hot, cluster.NodeIndex(i))
		}
	}
	return p
}

// ideal reports whether trying another order is pointless: either no node lacked space or
// cost more than it would on its own, or the plan has reached its limit on moves, in
// which case the hottest nodes must come first.
func (p *planner) ideal() bool { return p.limited || p.crowded == 0 && p.excess == 0 }

// better reports whether p cools more nodes than other, or as many with pods of lower
// priority, or otherwise at a lower cost.
func (p *planner) better(other *planner) bool {
	return cmp.Or(cmp.Compare(p.cooled, other.cooled), -cmp.Compare(p.priority(), other.priority()),
		-cmp.Compare(costOf(p.landed), costOf(other.landed)), -cmp.Compare(len(p.landed), len(other.landed))) > 0
}

// priority returns the highest priority of the moved pods.
func (p *planner) priority() int32 {
	highest := int32(math.MinInt32)
	for i := range p.landed {
		highest = max(highest, p.landed[i].pod.Priority)
	}
	return highest
}

// cool plans the moves for one hot node. For a full node, it first tries to move the
// estimated excess demand and, if that is not possible or not worthwhile, the measured
// excess. If that is not worthwhile either, it moves what is due.
func (p *planner) cool(at cluster.NodeIndex) {
	n := &p.in.Nodes[at]
	need := n.Need.AtLeastZero()
	if n.Unserved > 0 && need[cluster.CPU] > 0 {
		all, before := need, *p
		all[cluster.CPU] += n.Unserved
		if p.coolBy(at, all); p.notes[at] == reasons.MoveLimit || len(p.landed) > len(before.landed) {
			return
		}
		p.crowded, p.excess, p.declined, p.waiting, p.notes[at] = before.crowded, before.excess, before.declined, before.waiting, ""
	}
	made, declined := len(p.landed), slices.Clip(p.declined)
	if p.coolBy(at, need); p.notes[at] != reasons.NotWorthwhile || !positive(n.due(need)) {
		return
	}
	all := p.declined[len(declined):]
	p.declined, p.notes[at] = declined, ""
	if p.coolBy(at, n.due(need)); p.notes[at] != "" {
		return
	}
	p.notes[at] = reasons.NotWorthwhile // it remains hot by CPU
	p.declined = append(declined, slices.DeleteFunc(all, func(d strategies.Declined) bool {
		return slices.ContainsFunc(p.landed[made:], func(l landing) bool { return l.pod.Pod == d.Pod.Pod })
	})...)
}

// coolBy plans the moves that take the given need off a node.
func (p *planner) coolBy(at cluster.NodeIndex, need cluster.Amounts) {
	n := &p.in.Nodes[at]
	if !positive(need) {
		return // only its leave line keeps it hot, and that justifies no move
	}
	movable, small := p.movable(n, need)
	if lasting := n.ifUsageLasts(need); !covers(sum(movable), lasting) {
		why := reasons.HotThroughImmovable
		if covers(sum(movable).Plus(sum(small)), lasting) {
			why = reasons.GainTooSmall
		}
		p.leave(at, why, movable, need)
		return
	}
	if p.budget() == 0 {
		p.notes[at], p.limited = reasons.MoveLimit, true
		p.wait(at, movable, need)
		return
	}
	by := p.scale(n, need)
	allowed := p.allowed(movable, need, false)
	done, held := p.coolWith(at, allowed, by, true)
	if held { // held up by the hourly limit of a namespace, which usually allows more moves than a node needs
		done, _ = p.coolWith(at, p.allowed(movable, need, true), by, true)
	}
	if !done && (held || len(allowed) < len(movable)) {
		done, _ = p.coolWith(at, movable, by, false)
	}
	if !done {
		p.giveUp(at, movable, need)
	}
}

// coolWith plans moves of some of the given pods that cover a node's need. done reports
// that the pods have destinations or are not worth moving. If atOnce is set and an hourly
// limit holds up some of the moves, it plans none of them, and reports held.
func (p *planner) coolWith(at cluster.NodeIndex, movable []*strategies.Pod, by *scale, atOnce bool) (done, held bool) {
	first := true
	for _, priority := range priorities(movable) {
		band := upTo(movable, priority)
		if !covers(sum(band), by.need) {
			continue
		}
		if landed, best := p.least(band, by); landed != nil {
			if atOnce && p.heldUp(landed) {
				p.destinations.takeBack(landed)
				return false, true
			}
			if !p.worthwhile(at, landed, by.need) {
				p.destinations.takeBack(landed)
				return true, false
			}
			if !best || !first {
				p.excess += p.beyondLeast(movable, by, priority, costOf(landed))
			}
			p.commit(at, landed)
			return true, false
		}
		first = false
	}
	return false, false
}

// worthwhile reports whether the moves off a node save enough hot time to justify their
// disruption, and records what each saves. If they do not, it declines them, because the
// node will cool on its own or another node would become hot instead. Moves that are due
// need not save anything, and their savings do not count for other moves.
func (p *planner) worthwhile(at cluster.NodeIndex, landed []landing, need cluster.Amounts) bool {
	if !p.judged(&p.in.Nodes[at], need) {
		return true
	}
	n := p.in.Nodes[at]
	due := dueFirst(landed, n.due(need))
	for _, l := range landed[:due] {
		n.Load.Remove(l.pod.Expected)
	}
	landed = landed[due:]
	w := p.worth(&n, landed)
	if w.enough() {
		return true
	}
	p.notes[at] = reasons.NotWorthwhile
	for _, l := range landed {
		p.decline(&n, l.pod, reasons.NotWorthwhile, w.sentence(len(landed)))
	}
	return false
}

// judged reports whether moves that cover the given need of a node have to save hot time.
func (p *planner) judged(n *Node, need cluster.Amounts) bool {
	return p.in.MinHotMinutesSaved > 0 && need[cluster.CPU] > n.due(need)[cluster.CPU]
}

// dueFirst moves those of a node's landings to the front that suffice for what is due,
// and counts them.
func dueFirst(landed []landing, due cluster.Amounts) int {
	pods := make([]*strategies.Pod, len(landed))
	for i := range landed {
		pods[i] = landed[i].pod
	}
	chosen := greedy(pods, due)
	slices.SortStableFunc(landed, func(a, b landing) int {
		return cmp.Compare(orderOf(slices.Contains(chosen, a.pod)), orderOf(slices.Contains(chosen, b.pod)))
	})
	return len(chosen)
}

// giveUp records whether a node is left alone because pods lack destinations or because
// there is not enough space for all of its moves.
func (p *planner) giveUp(at cluster.NodeIndex, movable []*strategies.Pod, need cluster.Amounts) {
	n := &p.in.Nodes[at]
	landable, stuck := p.landable(movable)
	if covers(sum(landable), need) { // each alone has a destination, but not all of them together
		p.crowded++
		p.notes[at] = reasons.NoLanding
		for _, pod := range landable {
			p.decline(n, pod, reasons.NoLanding, "a cool node would take it, but together the cool nodes cannot take enough pods to cool its node")
		}
		return
	}
	for _, pod := range stuck {
		p.decline(n, pod, reasons.NoLanding, p.destinations.refusals(pod))
	}
	p.leave(at, reasons.NoLanding, landable, need)
	if len(p.landed) > 0 {
		p.crowded++ // possibly: earlier moves of the plan may have taken the space
	}
}

// movable returns the pods that may be moved, and separately those that are only too
// small. It declines all other pods, including the small ones, with their reasons.
func (p *planner) movable(n *Node, need cluster.Amounts) (movable, small []*strategies.Pod) {
	least := n.leastGain(need, p.in.MinGainPercent)
	for i := range n.Pods {
		switch pod := &n.Pods[i]; {
		case pod.Refused != "":
			p.decline(n, pod, pod.Refused, "")
		case gain(pod, n, need) < least:
			small = append(small, pod)
			p.decline(n, pod, reasons.GainTooSmall, "")
		default:
			movable = append(movable, pod)
		}
	}
	slices.SortFunc(movable, compareKey)
	return movable, small
}

// allowed returns the pods that the hourly limits of their owners still allow to be moved
// and, if namespaces is set, those of their namespaces, too. If there are more pods than
// moves, the moves go to pods of low priority first, and then to those that relieve most
// for their cost.
func (p *planner) allowed(pods []*strategies.Pod, need cluster.Amounts, namespaces bool) (allowed []*strategies.Pod) {
	if p.in.Beside == nil {
		return pods
	}
	more := strategies.Tally{}
	for _, pod := range byWorth(pods, need) {
		if reason, _ := p.beside(pod, more); reason == "" {
			allowed = append(allowed, pod)
			if more.Add(pod.Pod); !namespaces {
				delete(more, strategies.Owner{Namespace: pod.Namespace})
			}
		}
	}
	slices.SortFunc(allowed, compareKey)
	return allowed
}

// byWorth returns pods of low priority first, and among them those that relieve most for
// their cost.
func byWorth(pods []*strategies.Pod, need cluster.Amounts) []*strategies.Pod {
	worth := map[*strategies.Pod]float64{}
	for _, pod := range pods {
		worth[pod] = relief(pod, need) / float64(pod.Disruption.Cost())
	}
	pods = slices.Clone(pods)
	slices.SortFunc(pods, func(a, b *strategies.Pod) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(worth[b], worth[a]), compareDisruption(a, b), compareKey(a, b))
	})
	return pods
}

// exceeds returns which limit a move of the pod would exceed in addition to the plan's
// moves; empty if none.
func (p *planner) exceeds(pod *strategies.Pod) (reasons.Reason, string) { return p.beside(pod, nil) }

// beside is like exceeds, but also counts the moves in more.
func (p *planner) beside(pod *strategies.Pod, more strategies.Tally) (reasons.Reason, string) {
	if p.in.Beside == nil {
		return "", ""
	}
	owner, namespace := p.planned.Beside(pod.Pod)
	ofOwner, ofNamespace := more.Beside(pod.Pod)
	return p.in.Beside(pod.Pod, owner+ofOwner, namespace+ofNamespace)
}

// within returns those of a node's landings that the plan's limits allow. It undoes the
// others, which must wait for a later cycle, and returns the limit that delays them.
func (p *planner) within(at cluster.NodeIndex, landed []landing) (taken []landing, limit reasons.Reason) {
	budget := p.budget()
	if len(landed) > budget || p.heldUp(landed) {
		landed = alternating(landed)
	}
	for _, l := range landed {
		reason, detail := p.exceeds(l.pod)
		switch {
		case reason != "":
			p.decline(&p.in.Nodes[at], l.pod, reason, detail)
			limit = cmp.Or(limit, reason)
		case len(taken) == budget:
			limit = reasons.MoveLimit
		default:
			p.planned.Add(l.pod.Pod)
			l.from = at
			taken = append(taken, l)
			continue
		}
		p.waiting = append(p.waiting, strategies.Move{Pod: *l.pod, From: p.in.Nodes[at].Name, To: l.to.name, Reason: reasons.NodeHot})
		p.destinations.takeBack([]landing{l})
	}
	return taken, limit
}

// wait records the smallest set of pods that would cool a node if the plan had moves left
// for it.
func (p *planner) wait(at cluster.NodeIndex, movable []*strategies.Pod, need cluster.Amounts) {
	for _, priority := range priorities(movable) {
		band := upTo(movable, priority)
		if !covers(sum(band), need) {
			continue
		}
		slices.SortStableFunc(band, func(a, b *strategies.Pod) int { return -cmp.Compare(relief(a, need), relief(b, need)) })
		for _, pod := range greedy(band, need) {
			p.waiting = append(p.waiting, strategies.Move{Pod: *pod, From: p.in.Nodes[at].Name, Reason: reasons.NodeHot})
		}
		return
	}
}

// heldUp reports whether hourly limits allow only some of a node's landings.
func (p *planner) heldUp(landed []landing) bool {
	more := strategies.Tally{}
	for _, l := range landed {
		if reason, _ := p.beside(l.pod, more); reason != "" {
			return true
		}
		more.Add(l.pod.Pod)
	}
	return false
}

// alternating returns landings of one owner after another, so that the first ones do not
// all disrupt the same owner.
func alternating(landed []landing) []landing {
	turn, turns := strategies.Tally{}, make(map[*strategies.Pod]int, len(landed))
	for _, l := range landed {
		turns[l.pod] = turn[strategies.OwnerOf(l.pod.Pod)]
		turn[strategies.OwnerOf(l.pod.Pod)]++
	}
	landed = slices.Clone(landed)
	slices.SortStableFunc(landed, func(a, b landing) int { return cmp.Compare(turns[a.pod], turns[b.pod]) })
	return landed
}

// landable separates the pods that would have a destination as the only move from those
// that would not.
func (p *planner) landable(pods []*strategies.Pod) (landable, stuck []*strategies.Pod) {
	for _, pod := range pods {
		if p.destinations.takes(pod) {
			landable = append(landable, pod)
		} else {
			stuck = append(stuck, pod)
		}
	}
	return landable, stuck
}

// least places the cheapest set of pods that covers the need and in which every pod finds
// a place. If a set does not fit, it tries the next best set without the pods that have
// no place even on their own or, if there are none, without the first pod that found no
// place. best reports whether the first set fitted. Pods that are not chosen are not
// checked, because some filters take a millisecond per check. It checks nothing if the
// cool nodes have too little space for the need, however it is distributed.
func (p *planner) least(band []*strategies.Pod, by *scale) (landed []landing, best bool) {
	if !p.destinations.roomFor(band, by.need) {
		return nil, false
	}
	for best = true; covers(sum(band), by.need); best = false {
		chosen := cheapest(band, by)
		landed, stuck := p.destinations.land(chosen)
		if stuck == nil {
			return landed, best
		}
		_, hopeless := p.landable(chosen)
		if len(hopeless) == 0 {
			hopeless = []*strategies.Pod{stuck}
		}
		band = slices.DeleteFunc(slices.Clone(band), func(pod *strategies.Pod) bool { return slices.Contains(hopeless, pod) })
	}
	return nil, false
}

// beyondLeast returns how much more the moves cost than they would with unlimited space.
// Moving pods of a higher priority counts as a cost, too.
func (p *planner) beyondLeast(movable []*strategies.Pod, by *scale, used int32, paid int) int {
	for _, priority := range priorities(movable) {
		band := upTo(movable, priority)
		switch {
		case !covers(sum(band), by.need):
		case priority < used:
			return 1
		default:
			return max(paid-cost(cheapest(band, by)), 0)
		}
	}
	return 0
}

// left returns how many more moves the plan may have.
func (p *planner) left() int {
	if p.in.MaxMoves > 0 {
		return max(p.in.MaxMoves-len(p.landed), 0)
	}
	return math.MaxInt
}

// budget returns how many of the remaining moves may leave one node.
func (p *planner) budget() int {
	if p.in.MaxPerNode > 0 {
		return min(p.left(), p.in.MaxPerNode)
	}
	return p.left()
}

// leave records why a node is left alone, and declines those of the given pods that would
// have relieved it.
func (p *planner) leave(at cluster.NodeIndex, why reasons.Reason, pods []*strategies.Pod, need cluster.Amounts) {
	p.notes[at] = why
	detail := ""
	switch why {
	case reasons.HotThroughImmovable:
		detail = "moving every movable pod would not bring the node below its evict line"
		if covers(sum(pods), need) {
			detail += fmt.Sprintf(" if the %.1f%% of CPU that it used in the last sample lasts", 100*share(p.in.Nodes[at].LatestMilliCores, p.in.Nodes[at].Allocatable[cluster.CPU]))
		}
		if by := p.in.Nodes[at].pinnedBy(need); by != "" {
			detail += ": " + by
		}
	case reasons.GainTooSmall:
		detail = "the node could be cooled only by moving pods that each use too little"
	case reasons.NoLanding:
		detail = "a cool node would take it, but not enough of the other pods that would have to leave its node as well"
	default: // the reason is sufficient
	}
	for _, pod := range pods {
		if relief(pod, need) > 0 {
			p.decline(&p.in.Nodes[at], pod, why, detail)
		}
	}
}

func (p *planner) decline(n *Node, pod *strategies.Pod, why reasons.Reason, detail string) {
	p.declined = append(p.declined, strategies.Declined{Pod: *pod, Node: n.Name, Reason: why, Detail: detail})
}

// commit adds moves to the plan, up to its limits. The remaining moves wait for a later
// cycle.
func (p *planner) commit(at cluster.NodeIndex, landed []landing) {
	taken, limit := p.within(at, landed)
	if limit != "" {
		p.notes[at] = limit
		p.limited = p.limited || limit == reasons.MoveLimit
	} else {
		p.cooled++
	}
	p.landed = append(p.landed, taken...)
}

func (p *planner) plan() strategies.Plan {
	after := make([]cluster.Amounts, len(p.in.Nodes))
	for i := range p.in.Nodes {
		after[i] = p.in.Nodes[i].used()
	}
	plan := strategies.Plan{Moves: p.moves(after), Waiting: p.waiting, Declined: p.declined, Nodes: make([]strategies.NodeReport, len(p.in.Nodes))}
	for i := range p.in.Nodes {
		n := &p.in.Nodes[i]
		plan.Nodes[i] = strategies.NodeReport{
			Name: n.Name, State: n.State, Reason: p.notes[i],
			Before: n.used().PercentOf(n.Allocatable), After: after[i].PercentOf(n.Allocatable),
		}
		if p.notes[i] == reasons.NoLanding {
			plan.Nodes[i].NoRoom = n.Need.Minus(p.leaving(cluster.NodeIndex(i))).AtLeastZero()
		}
		if p.notes[i] == reasons.HotThroughImmovable {
			plan.Nodes[i].Pinned = n.pinnedBy(n.Need.AtLeastZero())
		}
	}
	return plan
}

// moves turns the landings into moves, each starting from the usage that the earlier ones
// left, and updates after to the final usage.
func (p *planner) moves(after []cluster.Amounts) []strategies.Move {
	if len(p.landed) == 0 {
		return nil
	}
	change := func(at cluster.NodeIndex, by cluster.Amounts) (before, now cluster.Percents) {
		before = after[at].PercentOf(p.in.Nodes[at].Allocatable)
		after[at] = after[at].Plus(by)
		return before, after[at].PercentOf(p.in.Nodes[at].Allocatable)
	}
	moves := make([]strategies.Move, len(p.landed))
	for i, l := range p.landed {
		move := strategies.Move{
			Pod: *l.pod, From: p.in.Nodes[l.from].Name, To: l.to.name, Reason: reasons.NodeHot, HotMinutesSaved: l.saves, Ahead: l.ahead,
		}
		if l.ahead != nil {
			move.Reason = reasons.NodeHotAhead
		}
		if l.compared {
			move.Reason, move.CeilingMilliCores = reasons.NodeFull, l.to.ceiling[cluster.CPU]
		}
		move.FromBefore, move.FromAfter = change(l.from, cluster.Amounts{}.Minus(l.pod.Usage))
		move.ToBefore, move.ToAfter = change(l.to.at, l.pod.Usage)
		moves[i] = move
	}
	return moves
}

func (p *planner) scale(n *Node, need cluster.Amounts) *scale {
	s := &scale{need: need, allocatable: n.Allocatable, residents: p.in.Residents, weights: map[*strategies.Pod]float64{}}
	coolest := p.destinations.byFill[:min(nearest, len(p.destinations.byFill))]
	for r := range need {
		s.steep[r] = share(n.Current[r], n.Allocatable[r])
		for _, i := range coolest {
			d := &p.destinations.cool[i]
			s.steep[r] -= share(d.predicted[r], p.in.Nodes[d.at].Allocatable[r]) / float64(len(coolest))
		}
	}
	if p.judged(n, need) && len(coolest) > 0 {
		s.from, s.to = n, &p.in.Nodes[p.destinations.cool[coolest[0]].at]
	}
	return s
}

// Idle returns the plan that does nothing, with the nodes unchanged.
func Idle(in Input) strategies.Plan { return newPlanner(&in, coolestFirst).plan() }
