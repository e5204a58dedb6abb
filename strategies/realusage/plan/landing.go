package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/thresholds"
)

// destination is a cool node with what the plan has landed on it so far.
type destination struct {
	name      string
	ceiling   cluster.Amounts // the most that may be predicted
	predicted cluster.Amounts
	fill      float64 // by which destinations are ordered
	index     int32   // among the destinations
	at        int32   // among the input's nodes
}

// open says whether a node takes landings.
func (n *Node) open() bool { return n.State == thresholds.Cool && n.Closed == "" }

// fill returns how much of a ceiling amounts are, 1 being all of it.
func fill(used, ceiling cluster.Amounts) float64 {
	highest := 0.0
	for r := range used {
		highest = max(highest, float64(used[r])/max(float64(ceiling[r]), 1))
	}
	return highest
}

// takes says whether the destination would stay at or under its ceiling with an additional pod.
func (d *destination) takes(pod cluster.Amounts) bool {
	for r := range pod {
		if d.predicted[r]+pod[r] > d.ceiling[r] {
			return false
		}
	}
	return true
}

// ports are the destinations of a plan.
type ports struct {
	placement Placement
	cool      []destination
	byFill    []int32           // indices of cool, coolest first; numbers, because they are shifted at every landing
	left      []cluster.Amounts // the headroom of each of cool, side by side, because every landing reads many
	room      room
	first     order
	asked     int // how many destinations were looked at for a pod
}

func newPorts(in *Input, first order) *ports {
	p := &ports{placement: in.Placement, first: first}
	size := 0
	for i := range in.Nodes {
		if in.Nodes[i].open() {
			size++
		}
	}
	p.cool, p.byFill, p.left = make([]destination, 0, size), make([]int32, 0, size), make([]cluster.Amounts, 0, size)
	for i := range in.Nodes {
		if n := &in.Nodes[i]; n.open() {
			index := int32(len(p.cool)) //nolint:gosec // a cluster has fewer than 2^31 nodes
			p.cool = append(p.cool, destination{
				name: n.Name, ceiling: n.Ceiling, predicted: n.Predicted, fill: fill(n.Predicted, n.Ceiling),
				index: index, at: int32(i), //nolint:gosec // as above
			})
			p.byFill, p.left = append(p.byFill, index), append(p.left, n.Ceiling.Minus(n.Predicted))
		}
	}
	slices.SortFunc(p.byFill, p.compareFill)
	p.room = newRoom(p)
	return p
}

// compareFill orders destinations; those filled alike in the order of their names, which is that of their indices.
func (p *ports) compareFill(a, b int32) int {
	if c := cmp.Compare(p.cool[a].fill, p.cool[b].fill); c != 0 {
		return c
	}
	return cmp.Compare(a, b)
}

// order says in which order destinations are tried.
type order bool

const (
	coolestFirst  order = true
	tightestFirst order = false
)

// landing is a pod on a destination, with the way back.
type landing struct {
	pod  *Pod
	to   *destination
	undo func()
	from int32 // the pod's node among the input's, once the plan holds the landing
}

// land puts every pod on a destination, the largest first, or none: then it returns the first pod that found no place.
// Destinations are tried in the order of choice and, where that leaves a pod without one, in the other.
func (p *ports) land(pods []*Pod) (landed []landing, stuck *Pod) {
	if landed, stuck = p.landBy(pods, p.first); stuck == nil {
		return landed, nil
	}
	if landed, stuckAgain := p.landBy(pods, !p.first); stuckAgain == nil {
		return landed, nil
	}
	return nil, stuck
}

func (p *ports) landBy(pods []*Pod, by order) (landed []landing, stuck *Pod) {
	pods = slices.Clone(pods)
	slices.SortStableFunc(pods, func(a, b *Pod) int {
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

// size orders pods across resources by the share of the first destination that they would take.
func (p *ports) size(pod *Pod) float64 {
	if len(p.cool) == 0 {
		return 0
	}
	return fill(pod.Usage, p.cool[0].ceiling)
}

// takes says whether any destination would take the pod now.
func (p *ports) takes(pod *Pod) bool {
	for to := range p.withRoom(pod.Usage, coolestFirst) {
		if ok, _ := p.placement.Fits(pod.Pod, to.name); ok {
			return true
		}
	}
	return false
}

func (p *ports) landOne(pod *Pod, by order) (landing, bool) {
	for to := range p.withRoom(pod.Usage, by) {
		if ok, _ := p.placement.Fits(pod.Pod, to.name); !ok {
			continue
		}
		undo, err := p.placement.Move(pod.Pod, to.name)
		if err != nil {
			continue
		}
		p.shift(to, pod.Usage)
		return landing{pod: pod, to: to, undo: undo}, true
	}
	return landing{}, false
}

// takeBack undoes landings, newest first.
func (p *ports) takeBack(landed []landing) {
	for _, l := range slices.Backward(landed) {
		l.undo()
		p.shift(l.to, cluster.Amounts{}.Minus(l.pod.Usage))
	}
}

// shift changes what is on a destination and brings it to its place in the order.
func (p *ports) shift(d *destination, by cluster.Amounts) {
	from, _ := slices.BinarySearchFunc(p.byFill, d.index, p.compareFill)
	d.predicted = d.predicted.Plus(by)
	d.fill, p.left[d.index] = fill(d.predicted, d.ceiling), d.headroom()
	left, right := p.byFill[:from], p.byFill[from+1:]
	to, _ := slices.BinarySearchFunc(left, d.index, p.compareFill)
	if to < from {
		copy(p.byFill[to+1:from+1], left[to:])
	} else {
		n, _ := slices.BinarySearchFunc(right, d.index, p.compareFill)
		copy(p.byFill[from:], right[:n])
		to = from + n
	}
	p.byFill[to] = d.index
	p.room.shifted(p, from, to)
}

// refusals sums up, for a person, why no destination takes a pod.
func (p *ports) refusals(pod *Pod) string {
	if len(p.cool) == 0 {
		return "no node is cool"
	}
	counts, full := map[string]int{}, len(p.cool)
	for d := range p.withRoom(pod.Usage, coolestFirst) {
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
