package plan

import (
	"fmt"
	"slices"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// leastRelief is the share of the usage above a node's evict line that must be able to
// leave before a node that stays hot is relieved. It applies to memory, too, because
// memory that is freed may save one of the other pods from being OOM-killed. It does not
// apply if only a limit on moves stands in the way: such a node is cooled over several
// cycles, which a limit that always allows less than this share would prevent.
const leastRelief = 0.5

// relievePinned moves pods off nodes that stay hot because of pods that must not be
// moved. Otherwise, the other pods would suffer for as long as the immovable ones run. It
// runs after all nodes that can be cooled, because those have the first choice of
// destinations.
func (p *planner) relievePinned() {
	p.relieveAll(func(at cluster.NodeIndex) bool {
		return p.notes[at] == reasons.HotThroughImmovable || p.notes[at] == reasons.GainTooSmall
	})
}

// relieveCrowded does the same as relievePinned for nodes that stay hot because the cool
// nodes do not take enough of their pods. Those nodes come last. If the total CPU demand
// is too high to keep all nodes at or below their lines, it skips nodes that are hot by
// CPU alone, because free space is then better kept for cooling a whole node.
func (p *planner) relieveCrowded() {
	p.relieveAll(func(at cluster.NodeIndex) bool {
		n := &p.in.Nodes[at]
		return p.notes[at] == reasons.NoLanding && (!n.ByCPU || !p.beyondLines(n.Domain))
	})
}

func (p *planner) relieveAll(stays func(cluster.NodeIndex) bool) {
	var nodes []cluster.NodeIndex
	for _, at := range p.hot {
		if stays(at) && p.in.MinHotMinutesSaved > 0 && !p.leaves(at) {
			nodes = append(nodes, at)
		}
	}
	if len(nodes) == 0 {
		return
	}
	p.add(func() {
		for _, at := range nodes {
			p.landed = append(p.landed, p.relieve(at)...)
		}
	})
}

// relieve moves as much usage off a node as the other nodes can take, provided that it is
// enough. For nodes that are hot by CPU alone, the moves must also shorten the time above
// the resulting level by as much as moves that cool a node must shorten hot time. No such
// forecast exists for other nodes. Only usage that is due leaves those, because the rest
// of their CPU usage may be a peak.
func (p *planner) relieve(at cluster.NodeIndex) []landing {
	n := &p.in.Nodes[at]
	need := n.Need.AtLeastZero()
	if !n.ByCPU {
		need = n.due(need)
	}
	movable, waits := p.relieving(n, need)
	can := atMostOf(need, sum(movable))
	if !positive(need) || waits || !mostOf(sum(movable), n.ifUsageLasts(need)) || p.budget() == 0 {
		return nil
	}
	landed, _ := p.least(movable, p.scale(n.above(need.Minus(can)), can))
	if landed == nil {
		landed = p.landMost(movable, can)
		can = atMostOf(can, wantedBy(landed))
	}
	if !mostOf(can, need) || n.ByCPU && !p.worth(n.above(need.Minus(can)), landed).enough() {
		p.destinations.takeBack(landed)
		return nil
	}
	for _, l := range landed {
		p.forget(l.pod)
	}
	landed, _ = p.within(at, landed)
	return landed
}

// relieving returns the pods that may leave a node and have a destination. waits reports
// whether the node could be cooled later, once other pods that must not move at present
// may move.
func (p *planner) relieving(n *Node, need cluster.Amounts) (movable []*strategies.Pod, waits bool) {
	least := n.leastGain(need, p.in.MinGainPercent)
	var later cluster.Amounts
	for i := range n.Pods {
		pod := &n.Pods[i]
		switch exceeds, _ := p.exceeds(pod); {
		case pod.Refused.Lasts():
		case pod.Refused != "" || exceeds != "":
			later = later.Plus(pod.Wanted())
		case gain(pod, n, need) >= least && p.destinations.takes(pod):
			movable = append(movable, pod)
		}
	}
	slices.SortFunc(movable, compareKey)
	now := sum(movable)
	return movable, !covers(now, need) && covers(now.Plus(later), need)
}

// above returns the node with its evict line for CPU raised by the given amounts.
func (n *Node) above(by cluster.Amounts) *Node {
	raised := *n
	raised.HotLine += by[cluster.CPU]
	return &raised
}

// mostOf reports whether leastRelief of what a node needs can leave.
func mostOf(can, need cluster.Amounts) bool {
	for r := range need {
		if float64(can[r]) < leastRelief*float64(need[r]) {
			return false
		}
	}
	return true
}

func atMostOf(a, b cluster.Amounts) cluster.Amounts {
	for r := range a {
		a[r] = min(a[r], b[r])
	}
	return a
}

// leaving returns the usage that the plan moves off a node.
func (p *planner) leaving(at cluster.NodeIndex) cluster.Amounts {
	return wantedBy(slices.DeleteFunc(slices.Clone(p.landed), func(l landing) bool { return l.from != at }))
}

func wantedBy(landed []landing) (total cluster.Amounts) {
	for i := range landed {
		total = total.Plus(landed[i].pod.Wanted())
	}
	return total
}

// landMost places pods until the need is covered or none of the other pods has a place.
// Pods of low priority come first, and among them those that relieve most for their cost.
func (p *planner) landMost(pods []*strategies.Pod, need cluster.Amounts) (landed []landing) {
	left := need
	for _, pod := range byWorth(pods, need) {
		if relief(pod, left) <= 0 {
			continue
		}
		if l, ok := p.destinations.landOne(pod, coolestFirst); ok {
			landed, left = append(landed, l), left.Minus(pod.Wanted())
		}
	}
	return landed
}

// pinnedBy describes how much the pods that must not leave a node use of the resource
// with the greatest need, and which namespace uses most of it; empty if these pods use
// nothing.
func (n *Node) pinnedBy(need cluster.Amounts) string {
	resource := cluster.CPU
	for _, r := range cluster.Resources() {
		if share(need[r], n.Allocatable[r]) > share(need[resource], n.Allocatable[resource]) {
			resource = r
		}
	}
	var total int64
	largest, of := map[string]*strategies.Pod{}, map[string]int64{}
	for i := range n.Pods {
		pod := &n.Pods[i]
		if pod.Refused == "" || pod.Usage[resource] <= 0 {
			continue
		}
		total += pod.Usage[resource]
		of[pod.Namespace] += pod.Usage[resource]
		if most := largest[pod.Namespace]; most == nil || pod.Usage[resource] > most.Usage[resource] {
			largest[pod.Namespace] = pod
		}
	}
	if total == 0 {
		return ""
	}
	var most *strategies.Pod
	for namespace, pod := range largest {
		if most == nil || of[namespace] > of[most.Namespace] || of[namespace] == of[most.Namespace] && namespace < most.Namespace {
			most = pod
		}
	}
	percent := func(amount int64) float64 { return 100 * share(amount, n.Allocatable[resource]) }
	return fmt.Sprintf("pods that are not moved use %.1f%% of its %s, those of namespace %s %.1f%% (%s: %s)",
		percent(total), resource, most.Namespace, percent(of[most.Namespace]), most.Name, most.Refused)
}
