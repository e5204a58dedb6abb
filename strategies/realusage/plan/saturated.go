package plan

import (
	"cmp"
	"math"
	"slices"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

const (
	// comparedMargin is by how much less of its allocatable CPU the destination must be
	// predicted to use than its source is asked for after the move.
	comparedMargin = 0.1
	// leastUnserved is the share of a full node's CPU that its pods are assumed to want
	// and not to get: after some hours of it their peaks show no more than what they get.
	leastUnserved = 0.3
	// fullForHours is the share of its CPU that such a node has used for hours. Where it
	// comes and goes, peaks show what pods want, and the node that is full now is not asked
	// for more than the others are at other times.
	fullForHours = 0.95
	// alwaysFull is the same share of a node that, in addition, was not below full once as
	// long as peaks are remembered. It takes half a day of that to come up to it from 70%,
	// so a node that is full by turns of a day seldom does.
	alwaysFull = 0.98
	// comparedWorth is how many times as much hot time such a move must save as another:
	// it makes its destination hotter, and the plan cannot cool the source with it.
	comparedWorth = 20
	// servedWorth takes its place off a node that is always full, where a move has to serve
	// more. A pod there serves at most twelve times what a plain one is asked for, so one
	// that costs twice as much is worth moving, and one that costs three times as much is not.
	servedWorth = 5
	// mostCompared bounds the moves off a full node in a plan, because what its pods want
	// is an estimate, and comparedPods how many pods are tried for each of them.
	mostCompared, comparedPods = 4, 16
)

// saturated is a full node for whose relief the cool nodes have no room.
type saturated struct {
	*planner

	at cluster.NodeIndex
	// node is a copy whose load, like the expectation of each of its pods, contains
	// what they want and do not get.
	node  Node
	pods  []*strategies.Pod
	asked int64 // for how much CPU the node is asked, without the pods that were moved
	stays bool  // it is always full
}

// relieveSaturated moves pods off full nodes for whose relief the cool nodes have no
// room to nodes that are asked for less. It does so only while the nodes are asked for
// more than their evict lines allow them all together: then cooling every node is out
// of reach, and what counts is how much is served. Otherwise the next room that becomes
// free cools a whole node. It reports whether it moved any.
//
// A pod that was moved alone does not come back while usage is steady. Without it its node,
// which was full, uses all of its CPU but what the pod used there. The pod uses no less
// where it went, so with it the node would be above strategies.FullCeiling again. After
// several moves it could, because more left its node. So pods stay, see hasStayed.
func (p *planner) relieveSaturated() (moved bool) {
	sources := p.saturated()
	if len(sources) == 0 || !p.beyondLines() {
		return false
	}
	to := newDestinations(p.compared(), p.destinations.first)
	for i := range p.landed {
		to.place(&p.landed[i])
	}
	before := len(p.landed)
	p.add(func() {
		for _, s := range sources {
			for range min(p.budget(), mostCompared) {
				l, ok := s.relieve(to)
				if !ok {
					break
				}
				p.landed = append(p.landed, l)
			}
		}
	})
	return len(p.landed) > before
}

// beyondLines reports whether the nodes are asked for more CPU than would keep them all
// at their evict lines.
func (p *planner) beyondLines() bool {
	used, lines := 0.0, 0.0
	for i := range p.in.Nodes {
		if n := &p.in.Nodes[i]; n.State != thresholds.Unknown && n.Closed == "" {
			used += float64(n.Predicted[cluster.CPU] + n.Unserved)
			lines += float64(n.HotLine)
		}
	}
	return used > lines
}

// saturated returns the full nodes that the plan leaves as they are for lack of room,
// those that are asked for most first.
func (p *planner) saturated() (nodes []*saturated) {
	for _, at := range p.hot {
		n := &p.in.Nodes[at]
		stays := p.notes[at] == reasons.NoLanding || p.notes[at] == reasons.HotThroughImmovable
		if !n.Full || !n.ByCPU || !stays || p.in.MinHotMinutesSaved <= 0 {
			continue
		}
		if !p.leaves(at) {
			nodes = append(nodes, p.asSaturated(at))
		}
	}
	slices.SortStableFunc(nodes, func(a, b *saturated) int { return cmp.Compare(b.share(), a.share()) })
	return nodes
}

// leaves reports whether the plan moves a pod off a node.
func (p *planner) leaves(at cluster.NodeIndex) bool {
	return slices.ContainsFunc(p.landed, func(l landing) bool { return l.from == at })
}

func (p *planner) asSaturated(at cluster.NodeIndex) *saturated {
	s := &saturated{planner: p, at: at, node: p.in.Nodes[at]}
	unserved := s.node.Unserved
	used := share(s.node.Load.Lasting(), s.node.Allocatable[cluster.CPU])
	s.stays = s.node.FullForHours && used >= alwaysFull
	if used >= fullForHours {
		unserved = max(unserved, int64(leastUnserved*float64(s.node.Allocatable[cluster.CPU])))
	}
	s.asked = s.node.Current[cluster.CPU] + unserved
	s.node.Load.Grow(1 + share(unserved-s.node.Unserved, s.node.Current[cluster.CPU]))
	for i := range p.in.Nodes[at].Pods {
		pod := p.in.Nodes[at].Pods[i]
		if pod.Refused != "" {
			continue
		}
		if used := pod.Usage[cluster.CPU]; pod.Unserved > 0 && used > 0 {
			s.node.Load.Remove(pod.Expected)
			pod.Expected = pod.Expected.Times(float64(pod.Wanted()[cluster.CPU]) / float64(used))
			s.node.Load.Add(pod.Expected)
		}
		if pod.Wanted()[cluster.CPU] > 0 && p.hasStayed(&pod) {
			s.pods = append(s.pods, &pod)
		}
	}
	slices.SortStableFunc(s.pods, func(a, b *strategies.Pod) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(perCost(b), perCost(a)), compareKey(a, b))
	})
	return s
}

// hasStayed reports whether a pod has run for as long as moves are judged ahead, and was
// not moved within a day. Where every node is full by turns, the node that is asked for
// least is another one some hours later, so pods would go on, or back, with each turn.
// A pod without a creation time is an old one.
func (p *planner) hasStayed(pod *strategies.Pod) bool {
	return !pod.Disruption.Again && (pod.Created.IsZero() || p.in.At.Sub(pod.Created) >= forecast.Horizon)
}

// perCost is how much CPU a move takes off a full node for what it disrupts.
func perCost(pod *strategies.Pod) float64 {
	return float64(pod.Wanted()[cluster.CPU]) / float64(pod.Disruption.Cost())
}

// share is how much of its CPU the node is asked for.
func (s *saturated) share() float64 { return share(s.asked, s.node.Allocatable[cluster.CPU]) }

// compared returns the input with the destinations of full nodes: those that are known,
// of which nothing but CPU is above its line, that are not full themselves, and that the
// plan moves nothing off. They take pods up to strategies.FullCeiling instead of to their
// reject line of CPU.
func (p *planner) compared() *Input {
	in := *p.in
	in.Nodes = slices.Clone(in.Nodes)
	for i := range in.Nodes {
		n := &in.Nodes[i]
		if n.State == thresholds.Unknown || n.Full || n.OverOther || n.Ceiling[cluster.CPU] <= 0 || p.leaves(cluster.NodeIndex(i)) {
			n.State = thresholds.Unknown
			continue
		}
		n.State = thresholds.Cool
		n.Ceiling[cluster.CPU] = int64(strategies.FullCeiling * float64(n.Allocatable[cluster.CPU]))
	}
	return &in
}

// relieve makes the one move off the node that saves most for what it disrupts, if it
// is worth it and its destination is asked for less than the node will be.
func (s *saturated) relieve(to *destinations) (landing, bool) {
	var best landing
	most, tried := 0.0, 0
	for _, pod := range s.pods {
		if tried == comparedPods || best.pod != nil && pod.Priority > best.pod.Priority {
			break
		}
		if reason, _ := s.exceeds(pod); reason != "" {
			continue
		}
		tried++
		l, ok := to.landOne(pod, coolestFirst)
		if !ok {
			continue
		}
		one := []landing{l}
		w := s.compare(one)
		below := s.isAbove(&l) && (!s.stays || s.in.Nodes[l.to.at].hasRoomForHours(&l.to.load))
		to.takeBack(one)
		if per := w.saved / w.asked; below && w.enough() && (best.pod == nil || per > most) {
			best, most = one[0], per
		}
	}
	if best.pod == nil {
		return landing{}, false
	}
	l, ok := to.try(best.pod, best.to)
	if !ok {
		return landing{}, false
	}
	s.node.Load.Remove(l.pod.Expected)
	s.asked -= l.pod.Wanted()[cluster.CPU]
	s.pods = slices.DeleteFunc(s.pods, func(pod *strategies.Pod) bool { return pod == l.pod })
	s.planned.Add(l.pod.Pod)
	s.forget(l.pod)
	// Both nodes may be above their lines after it, so it saves no hot minutes to speak of.
	l.from, l.compared = s.at, true
	return l, true
}

// compare judges a move. Off a node that is always full it has to serve more: the node
// stays hot in any case, and its pods have no peaks that would show what else they want.
// Others follow it as long as the node stays full, so a small one costs its part of them.
// Off other nodes it has to save hot minutes, so destinations that are not hot mostly stay so.
func (s *saturated) compare(one []landing) worth {
	w := s.worth(&s.node, one)
	if !s.stays {
		w.asked *= comparedWorth
		return w
	}
	l, to := &one[0], &s.in.Nodes[one[0].to.at]
	left, before := s.node.Load, l.to.load
	left.Remove(l.pod.Expected)
	before.Remove(l.pod.Expected)
	w.saved = s.node.unserved(&s.node.Load) - s.node.unserved(&left) + to.unserved(&before) - to.unserved(&l.to.load)
	w.asked = servedWorth * s.in.MinHotMinutesSaved * s.node.inPlainPods(l.pod)
	return w
}

// unserved returns what is expected to be asked of a node beyond its CPU under a load, in
// hot minutes that count as much.
func (n *Node) unserved(load *forecast.Load) float64 {
	return load.HotMinutes(math.MaxInt64, n.Allocatable[cluster.CPU])
}

// isAbove reports whether the node will be asked for more than the destination of a
// landing, by comparedMargin.
func (s *saturated) isAbove(l *landing) bool {
	there := share(l.to.predicted[cluster.CPU], s.in.Nodes[l.to.at].Allocatable[cluster.CPU])
	left := share(s.asked-l.pod.Wanted()[cluster.CPU], s.node.Allocatable[cluster.CPU])
	return there <= left-comparedMargin
}

// hasRoomForHours reports whether a load leaves a node below strategies.FullCeiling for as
// long as one can see. A node that stays full can wait for that: what has room at the
// moment only would be full itself by the next wave.
func (n *Node) hasRoomForHours(load *forecast.Load) bool {
	return float64(load.Lasting()) <= strategies.FullCeiling*float64(n.Allocatable[cluster.CPU])
}

// forget takes a pod that is moved after all out of those that are declined.
func (p *planner) forget(pod *strategies.Pod) {
	p.declined = slices.DeleteFunc(p.declined, func(d strategies.Declined) bool { return d.Pod.Pod == pod.Pod })
}
