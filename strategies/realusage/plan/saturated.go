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
	// comparedMargin is how far, as a share of allocatable CPU, the destination's
	// predicted usage must be below the source's demand after the move.
	comparedMargin = 0.1
	// leastUnserved is the share of a full node's CPU that its pods are assumed to want in
	// addition to what they get. The share is a guess, because after some hours the pods'
	// peaks show only what they got.
	leastUnserved = 0.3
	// fullForHours is the share of its CPU that a node must have used for hours before
	// leastUnserved is assumed. On a node whose load comes and goes, peaks show what pods
	// want, and other nodes have as much demand at other times.
	fullForHours = 0.95
	// alwaysFull is the corresponding share for a node that has also been full at each
	// reading for as long as peaks are remembered. A node at 70% that becomes full takes
	// half a day to reach this share, so one that is full only at certain times of day
	// rarely does.
	alwaysFull = 0.98
	// comparedWorth is how many times as much hot time such a move must save as another
	// one, because it makes its destination hotter and does not cool its source.
	comparedWorth = 20
	// servedWorth replaces comparedWorth for a node that is always full, where a move
	// must serve more demand. Moving a pod serves at most twelve times the demand that is
	// required for a plain pod, so a pod that costs twice as much is worth moving, and
	// one that costs three times as much is not.
	servedWorth = 5
	// mostCompared is the maximum number of moves off a full node in a plan, because the
	// demand of its pods is an estimate. comparedPods is how many pods are tried for each
	// of them.
	mostCompared, comparedPods = 4, 16
)

// saturated is a full node that cannot be relieved, because the cool nodes have no
// space.
type saturated struct {
	*planner

	at cluster.NodeIndex
	// node is a copy whose load includes the demand of its pods that is not served. The
	// same applies to the expected usage of each pod.
	node  Node
	pods  []*strategies.Pod
	asked int64 // CPU demand, without the pods that were moved
	stays bool  // it is always full
}

// relieveSaturated moves pods off full nodes that the cool nodes have no space to
// relieve, to nodes with less demand. It does so while the total demand on all nodes
// exceeds their evict lines: cooling every node is then impossible, and the goal is to
// serve more demand. Otherwise, free space is better kept for cooling a whole node. If
// the usage of the other nodes is steady, no space becomes free, so pods leave nodes that
// stay full in any case.
//
// A pod that was moved alone does not come back while usage is steady. Without it, its
// node, which was full, uses all of its CPU except what the pod used there. The pod uses
// no less on its new node, so if it came back, the node would be above
// strategies.FullCeiling again. After several moves a pod could come back, because more
// usage left its node. hasStayed prevents that.
func (p *planner) relieveSaturated() {
	sources := p.saturated()
	sources = slices.DeleteFunc(sources, func(s *saturated) bool { return !s.stays && !p.beyondLines(s.node.Domain) })
	if len(sources) == 0 {
		return
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
	for i := range p.landed[before:] {
		p.destinations.place(&p.landed[before+i])
	}
}

// beyondLines reports whether the total CPU demand on the nodes of a domain, which pods
// do not leave, exceeds the sum of their evict lines.
func (p *planner) beyondLines(domain string) bool {
	used, lines := 0.0, 0.0
	for i := range p.in.Nodes {
		if n := &p.in.Nodes[i]; n.Domain == domain && n.State != thresholds.Unknown && n.Closed == "" {
			used += float64(n.Predicted[cluster.CPU] + n.Unserved)
			lines += float64(n.HotLine)
		}
	}
	return used > lines
}

// saturated returns the full nodes that the plan leaves unchanged for lack of space,
// those with the highest demand first.
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

// busy reports whether the plan moves pods off full nodes of a domain whose demand
// exceeds its lines, so that no node in it has quiet hours.
func (p *planner) busy(domain string) bool {
	return slices.ContainsFunc(p.landed, func(l landing) bool { return l.compared && p.in.Nodes[l.from].Domain == domain }) && p.beyondLines(domain)
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

// hasStayed reports whether a pod has run for the length of a forecast and was not moved
// within a day. If all nodes are full in turn, the node with the least demand changes
// every few hours, so without this check pods would be moved on, or back, each time. A
// pod without a creation time counts as old.
func (p *planner) hasStayed(pod *strategies.Pod) bool {
	return !pod.Disruption.Again && (pod.Created.IsZero() || p.in.At.Sub(pod.Created) >= forecast.Horizon)
}

// perCost returns how much CPU a move takes off a full node per unit of disruption.
func perCost(pod *strategies.Pod) float64 {
	return float64(pod.Wanted()[cluster.CPU]) / float64(pod.Disruption.Cost())
}

// share returns the node's demand as a share of its CPU.
func (s *saturated) share() float64 { return share(s.asked, s.node.Allocatable[cluster.CPU]) }

// compared returns the input with the destinations for full nodes. These are known nodes
// that are above no line other than that of CPU, are not full themselves, and from which
// the plan moves nothing. They take pods up to strategies.FullCeiling instead of their
// reject line for CPU.
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

// relieve makes the move off the node that saves most per unit of disruption, if it is
// worthwhile and its destination has less demand than the node will have.
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
	// Both nodes may be above their lines afterwards, so the move saves hardly any hot
	// minutes.
	l.from, l.compared = s.at, true
	return l, true
}

// compare judges a move. Off a node that is always full, a move must serve more demand,
// because the node stays hot in any case and its pods have no peaks that would show their
// demand. More moves follow for as long as the node stays full, so a small move only has
// to justify its share of the cost. Off other nodes, a move must save hot minutes, so
// destinations that are not hot usually stay so.
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

// unserved returns by how much a load is expected to exceed a node's CPU, converted to
// hot minutes of equal weight.
func (n *Node) unserved(load *forecast.Load) float64 {
	return load.HotMinutes(math.MaxInt64, n.Allocatable[cluster.CPU])
}

// isAbove reports whether the node's remaining demand exceeds the predicted usage of a
// landing's destination by at least comparedMargin.
func (s *saturated) isAbove(l *landing) bool {
	there := share(l.to.predicted[cluster.CPU], s.in.Nodes[l.to.at].Allocatable[cluster.CPU])
	left := share(s.asked-l.pod.Wanted()[cluster.CPU], s.node.Allocatable[cluster.CPU])
	return there <= left-comparedMargin
}

// hasRoomForHours reports whether a load leaves a node below strategies.FullCeiling for
// the whole length of the forecast. A source that stays full can wait for such a
// destination. A node that has space only at the moment would itself be full at the next
// wave.
func (n *Node) hasRoomForHours(load *forecast.Load) bool {
	return float64(load.Lasting()) <= strategies.FullCeiling*float64(n.Allocatable[cluster.CPU])
}

// forget removes a pod from the declined ones, because it is moved after all.
func (p *planner) forget(pod *strategies.Pod) {
	p.declined = slices.DeleteFunc(p.declined, func(d strategies.Declined) bool { return d.Pod.Pod == pod.Pod })
}
