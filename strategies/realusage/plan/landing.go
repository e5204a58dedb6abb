package plan

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/strategies"
)

// landing is a pod placed on a destination, with a function that undoes it.
type landing struct {
	pod  *strategies.Pod
	to   *destination
	undo func()
	// from is the pod's node. These fields, including the hot minutes that the move
	// saves, are set once the landing is in the plan.
	from  cluster.NodeIndex
	saves float64
	ahead *strategies.Ahead // for a move off a node that is not hot yet
	// compared is true if the destination need not be cool, because it is compared with a
	// full source that has more demand.
	compared bool
}

func costOf(landed []landing) (total int) {
	for i := range landed {
		total += landed[i].pod.Disruption.Cost()
	}
	return total
}

// land places every pod on a destination, the largest first. If one finds no place, it
// places none and returns that pod. If the preferred order of destinations leaves a pod
// without a place, it tries the other order.
func (p *destinations) land(pods []*strategies.Pod) (landed []landing, stuck *strategies.Pod) {
	if landed, stuck = p.landBy(pods, p.first); stuck == nil {
		return landed, nil
	}
	if landed, stuckAgain := p.landBy(pods, !p.first); stuckAgain == nil {
		return landed, nil
	}
	return nil, stuck
}

func (p *destinations) landBy(pods []*strategies.Pod, by order) (landed []landing, stuck *strategies.Pod) {
	pods = slices.Clone(pods)
	slices.SortStableFunc(pods, func(a, b *strategies.Pod) int {
		return cmp.Or(-cmp.Compare(p.size(a), p.size(b)), compareKey(a, b))
	})
	for _, pod := range pods {
		one, ok := p.landOne(pod, by)
		if !ok {
			p.takeBack(landed)
			return nil, pod
		}
		landed = append(landed, one)
	}
	return landed, nil
}

// takes reports whether any destination would take the pod now.
func (p *destinations) takes(pod *strategies.Pod) bool {
	for to := range p.withRoom(pod, coolestFirst, false) {
		if ok, _ := p.placement.Fits(pod.Pod, to.name); ok {
			return true
		}
	}
	return false
}

// These constants limit the work of spreading: by how much a destination's fill may
// exceed the coolest one's if the two still count as about equally cool, and how many
// destinations are considered. Scoring takes microseconds for each, so only the coolest
// of them are scored.
const (
	spreadMargin = 0.1
	spreadWidth  = 64
	scoredWidth  = 16
	// peakWidth is how many destinations are checked for recurring usage.
	peakWidth = 512
)

// landOne places a pod on a destination. It prefers a destination that is not expected to
// become hot with the pod when their busy hours coincide.
func (p *destinations) landOne(pod *strategies.Pod, by order) (landing, bool) {
	if p.recurs || pod.Pattern.Recurs() {
		p.pod, p.looks = new(forecast.Course), peakWidth
		p.pod.Add(pod.Expected, pod.Pattern)
		l, ok := p.landWithin(pod, by)
		if p.pod = nil; ok {
			return l, true
		}
	}
	return p.landWithin(pod, by)
}

// landWithin places a pod on a destination in its own zone or, if none takes it, in
// another.
func (p *destinations) landWithin(pod *strategies.Pod, by order) (landing, bool) {
	if p.sites[pod.Node].zone != "" {
		if l, ok := p.landAmong(pod, by, true); ok {
			return l, true
		}
	}
	return p.landAmong(pod, by, false)
}

// landAmong places a pod on a destination that takes it. In the order coolest first,
// destinations that are about as cool as the coolest compete: first by the pod's
// preferences, then by how few pods of its owner the node has, then by zone.
func (p *destinations) landAmong(pod *strategies.Pod, by order, ownZone bool) (landing, bool) {
	tried := 0
	if by == coolestFirst {
		var l landing
		var ok bool
		if l, tried, ok = p.landNear(pod, ownZone); ok {
			return l, true
		}
	}
	for to := range p.withRoom(pod, by, ownZone) {
		if tried--; tried >= 0 {
			continue
		}
		if l, ok := p.try(pod, to); ok {
			return l, true
		}
	}
	return landing{}, false
}

// landNear places a pod on one of the destinations that are about as cool as the coolest,
// and returns how many it has tried. Usually kube-scheduler prefers none of them, and the
// coolest one without a pod of the same owner takes it.
func (p *destinations) landNear(pod *strategies.Pod, ownZone bool) (l landing, tried int, ok bool) {
	p.names = p.names[:0]
	for to := range p.near(pod, ownZone, scoredWidth) {
		p.names = append(p.names, to.name)
	}
	scores := p.placement.Scores(pod.Pod, p.names)
	byZone := !ownZone && p.sites[pod.Node].zone != ""
	others, siblings := p.nearby[:0], p.siblings(pod)
	defer func() { p.nearby = others }()
	for to := range p.near(pod, ownZone, spreadWidth) {
		n := nearby{to: to, owned: siblings.on(to.at), score: -1}
		switch {
		case tried < len(scores):
			n.score = scores[tried]
		case scores == nil && !byZone && n.owned == 0:
			if l, ok := p.try(pod, to); ok {
				return l, tried, true
			}
			tried++
			continue
		}
		if byZone {
			n.inZone = p.inZone(strategies.OwnerOf(pod.Pod), to.site.zone)
		}
		others, tried = append(others, n), tried+1
	}
	slices.SortStableFunc(others, func(a, b nearby) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.owned, b.owned), cmp.Compare(a.inZone, b.inZone))
	})
	for i := range others {
		if l, ok := p.try(pod, others[i].to); ok {
			return l, tried, true
		}
	}
	return landing{}, tried, false
}

// near yields the destinations that are about as cool as the coolest and have space for
// the pod, coolest first.
func (p *destinations) near(pod *strategies.Pod, ownZone bool, most int) iter.Seq[*destination] {
	return func(yield func(*destination) bool) {
		limit := -1.0 // no fill is negative
		for to := range p.withRoom(pod, coolestFirst, ownZone) {
			if limit < 0 {
				limit = p.fills[to.index] + spreadMargin
			}
			if most--; most < 0 || p.fills[to.index] > limit || !yield(to) {
				return
			}
		}
	}
}

// siblings holds the nodes of an owner's pods: those of the existing pods, and those of
// the pods that the plan has placed.
type siblings [2][]cluster.NodeIndex

func (p *destinations) siblings(of *strategies.Pod) siblings {
	owner := strategies.OwnerOf(of.Pod)
	return siblings{p.residents[owner], p.came[owner]}
}

// on counts the pods on a node.
func (s siblings) on(node cluster.NodeIndex) (pods int) {
	for _, nodes := range s {
		for i, _ := slices.BinarySearch(nodes, node); i < len(nodes) && nodes[i] == node; i++ {
			pods++
		}
	}
	return pods
}

// inZone counts an owner's pods in a zone.
func (p *destinations) inZone(owner strategies.Owner, zone string) int {
	counted := p.zones[owner]
	if counted == nil {
		counted = map[string]int{}
		for _, i := range p.residents[owner] {
			counted[p.nodes[i].Zone]++
		}
		p.zones[owner] = counted
	}
	return counted[zone] + p.cameTo[zoneResidence{owner, zone}]
}

func (p *destinations) try(pod *strategies.Pod, to *destination) (landing, bool) {
	if ok, _ := p.placement.Fits(pod.Pod, to.name); !ok {
		return landing{}, false
	}
	undo, err := p.placement.Move(pod.Pod, to.name)
	if err != nil {
		return landing{}, false
	}
	p.shift(to, func() { to.add(pod) })
	p.count(pod, to, 1)
	return landing{pod: pod, to: to, undo: undo}, true
}

func (p *destinations) count(pod *strategies.Pod, to *destination, by int) {
	owner, zone := strategies.OwnerOf(pod.Pod), p.sites[pod.Node].zone
	if owner.UID == "" {
		return
	}
	p.came.count(owner, to.at, by)
	if to.site.zone != zone {
		p.cameTo[zoneResidence{owner, to.site.zone}] += by
		p.cameTo[zoneResidence{owner, zone}] -= by
	}
}

// place counts a landing that the plan has made among other destinations.
func (p *destinations) place(l *landing) {
	for i := range p.cool {
		if d := &p.cool[i]; d.at == l.to.at {
			p.shift(d, func() { d.add(l.pod) })
			p.count(l.pod, d, 1)
			return
		}
	}
}

// takeBack undoes landings, newest first.
func (p *destinations) takeBack(landed []landing) {
	for _, l := range slices.Backward(landed) {
		l.undo()
		p.shift(l.to, func() { l.to.remove(l.pod) })
		p.count(l.pod, l.to, -1)
	}
}

// refusals returns a human-readable summary of why no destination takes a pod.
func (p *destinations) refusals(pod *strategies.Pod) string {
	if len(p.cool) == 0 {
		return "no node is cool"
	}
	counts, full := map[string]int{}, len(p.cool)
	for d := range p.withRoom(pod, coolestFirst, false) {
		full--
		if ok, why := p.placement.Fits(pod.Pod, d.name); !ok {
			counts[why]++
		}
	}
	if full > 0 {
		counts["its predicted usage would exceed the reject line"] = full
	}
	parts := make([]string, 0, len(counts))
	for why, n := range counts {
		parts = append(parts, fmt.Sprintf("%d: %s", n, why))
	}
	slices.Sort(parts)
	return fmt.Sprintf("of %d cool nodes, %s", len(p.cool), strings.Join(parts, "; "))
}
