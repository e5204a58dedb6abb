package plan

import (
	"fmt"
	"slices"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// leastRelief is the share of what is above a node's evict line that must be able
// to leave for the node to be relieved although it stays hot: of memory, too, as each
// byte that leaves is one that the others can take before any is killed for want of it.
// It does not hold for what only waits for a bound of moves: the node is cooled in
// several cycles, and would never be by a bound that always allows less than this share.
const leastRelief = 0.5

// relievePinned moves pods off nodes that stay hot because of pods that must not
// be moved: their neighbours would suffer for as long as those run. It comes after
// all nodes that can be cooled, which have the first choice of destinations.
func (p *planner) relievePinned() {
	var pinned []cluster.NodeIndex
	for _, at := range p.hot {
		if p.staysHot(at) && p.in.MinHotMinutesSaved > 0 {
			pinned = append(pinned, at)
		}
	}
	if len(pinned) == 0 {
		return
	}
	p.add(func() {
		for _, at := range pinned {
			p.landed = append(p.landed, p.relieve(at)...)
		}
	})
}

// staysHot reports whether what may be moved off a node is not enough to cool it.
func (p *planner) staysHot(at cluster.NodeIndex) bool {
	return p.notes[at] == reasons.HotThroughImmovable || p.notes[at] == reasons.GainTooSmall
}

// relieve lands the pods that bring a pinned node as low as the others let it be,
// if that takes off enough, and if staying above that level is shortened by as
// much as cooling a node has to shorten hot time. That can be told of nodes that are
// hot by CPU alone. Of others CPU counts for nothing, because it may be a peak.
func (p *planner) relieve(at cluster.NodeIndex) []landing {
	n := p.in.Nodes[at] // a copy, whose line is raised
	need := n.Need.AtLeastZero()
	if !n.ByCPU {
		need[cluster.CPU] = 0
	}
	if !positive(need) {
		return nil
	}
	least := n.leastGain(need, p.in.MinGainPercent)
	var movable []*strategies.Pod
	for i := range n.Pods {
		pod := &n.Pods[i]
		if reason, _ := p.exceeds(pod); reason == "" && pod.Refused == "" && gain(pod, &n, need) >= least && p.destinations.takes(pod) {
			movable = append(movable, pod)
		}
	}
	if !covers(sum(movable), need) && n.waits(need) {
		return nil
	}
	slices.SortFunc(movable, compareKey)
	can := need
	for r, most := range sum(movable) {
		if can[r] = min(can[r], most); float64(can[r]) < leastRelief*float64(need[r]) {
			return nil
		}
	}
	if p.budget() == 0 {
		return nil
	}
	n.HotLine += need[cluster.CPU] - can[cluster.CPU]
	landed, _ := p.least(movable, p.scale(&n, can))
	if landed == nil {
		return nil
	}
	if n.ByCPU && !p.worth(&n, landed).enough() {
		p.destinations.takeBack(landed)
		return nil
	}
	for _, l := range landed {
		p.forget(l.pod)
	}
	landed, _ = p.within(at, landed)
	return landed
}

// waits reports whether the node may be cooled later, with pods that must not be
// moved for now only.
func (n *Node) waits(need cluster.Amounts) bool {
	var later cluster.Amounts
	for i := range n.Pods {
		if pod := &n.Pods[i]; !pod.Refused.Lasts() {
			later = later.Plus(pod.Wanted())
		}
	}
	return covers(later, need)
}

// pinnedBy says what the pods use that must not leave a node, in the resource that
// most has to, and which namespace has most of it; empty if they use nothing.
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
