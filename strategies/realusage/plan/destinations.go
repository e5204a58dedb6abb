package plan

import (
	"cmp"
	"iter"
	"slices"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/thresholds"
)

// coolIndex is the place of a destination among all.
type coolIndex int32

// destination is a cool node with what the plan has landed on it so far.
type destination struct {
	name      string
	ceiling   cluster.Amounts // the most that may be predicted
	predicted cluster.Amounts
	fill      float64           // by which destinations are ordered
	index     coolIndex         // among the destinations
	at        cluster.NodeIndex // among the input's nodes
}

// takes reports whether the destination would stay at or under its ceiling with
// an additional pod.
func (d *destination) takes(pod cluster.Amounts) bool {
	for r := range pod {
		if d.predicted[r]+pod[r] > d.ceiling[r] {
			return false
		}
	}
	return true
}

// headroom is what a destination has left under its ceiling.
func (d *destination) headroom() cluster.Amounts { return d.ceiling.Minus(d.predicted) }

// fill returns how much of a ceiling amounts are, 1 being all of it.
func fill(used, ceiling cluster.Amounts) float64 {
	highest := 0.0
	for r := range used {
		highest = max(highest, float64(used[r])/max(float64(ceiling[r]), 1))
	}
	return highest
}

// order says in which order destinations are tried.
type order bool

const (
	coolestFirst  order = true
	tightestFirst order = false
)

// ports are the destinations of a plan.
type ports struct {
	placement Placement
	cool      []destination
	byFill    []coolIndex       // indices of cool, coolest first; numbers, because they are shifted at every landing
	left      []cluster.Amounts // the headroom of each of cool, side by side, because every landing reads many
	room      room
	first     order
	asked     int // how many destinations were looked at for a pod
}

func newPorts(in *Input, first order) *ports {
	p := &ports{placement: in.Placement, first: first}
	size := len(in.Nodes)
	p.cool, p.byFill, p.left = make([]destination, 0, size), make([]coolIndex, 0, size), make([]cluster.Amounts, 0, size)
	for i := range in.Nodes {
		if n := &in.Nodes[i]; n.open() {
			index := coolIndex(len(p.cool))
			p.cool = append(p.cool, destination{
				name: n.Name, ceiling: n.Ceiling, predicted: n.Predicted, fill: fill(n.Predicted, n.Ceiling),
				index: index, at: cluster.NodeIndex(i),
			})
			p.byFill, p.left = append(p.byFill, index), append(p.left, n.Ceiling.Minus(n.Predicted))
		}
	}
	slices.SortFunc(p.byFill, p.compareFill)
	p.room = newRoom(p)
	return p
}

// compareFill orders destinations; those filled alike in the order of their
// names, which is that of their indices.
func (p *ports) compareFill(a, b coolIndex) int {
	if c := cmp.Compare(p.cool[a].fill, p.cool[b].fill); c != 0 {
		return c
	}
	return cmp.Compare(a, b)
}

// size orders pods across resources by the share of the first destination that
// they would take.
func (p *ports) size(pod *strategies.Pod) float64 {
	if len(p.cool) == 0 {
		return 0
	}
	return fill(pod.Usage, p.cool[0].ceiling)
}

// shift changes what is on a destination and brings it to its place in the
// order.
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

// blockSize is how many destinations that follow each other in the order of
// fill share one entry of room.
const blockSize = 64

// room is, for each block of byFill, no less than the most that a destination
// of it has left of each resource. A pod that needs more of one of them is not
// offered to the block. Entries grow when destinations move between blocks, and
// are brought down to the truth when a block turns out to have no place for a
// pod in spite of its entry.
type room []cluster.Amounts

func newRoom(p *ports) room {
	blocks := make(room, (len(p.byFill)+blockSize-1)/blockSize)
	for b := range blocks {
		blocks.measure(p, b)
	}
	return blocks
}

// measure brings a block's entry to what is true now.
func (r room) measure(p *ports, b int) {
	from, to := p.block(b)
	r[b] = p.left[p.byFill[from]]
	for _, i := range p.byFill[from+1 : to] {
		r.admit(b, p.left[i])
	}
}

// admit raises a block's entry to include a destination.
func (r room) admit(b int, headroom cluster.Amounts) {
	for k := range headroom {
		r[b][k] = max(r[b][k], headroom[k])
	}
}

// shifted brings the entries up to date after the destinations at the places
// from to to have moved by one place each.
func (r room) shifted(p *ports, from, to int) {
	up := from <= to // then those between have moved down, and each block has got one at its end
	from, to = min(from, to), max(from, to)
	for b := from / blockSize; b <= to/blockSize; b++ {
		first, end := p.block(b)
		came := max(first, from)
		if up {
			came = min(end-1, to)
		}
		r.admit(b, p.left[p.byFill[came]])
	}
}

// mayTake reports whether a destination of the block may have room for a pod.
func (r room) mayTake(b int, pod cluster.Amounts) bool {
	for k := range pod {
		if pod[k] > r[b][k] {
			return false
		}
	}
	return true
}

// block returns the places that a block spans.
func (p *ports) block(b int) (from, to int) {
	return b * blockSize, min((b+1)*blockSize, len(p.byFill))
}

// withRoom yields the destinations that a pod would leave at or under their
// ceilings, in an order. A destination may be shifted only once no further one
// is asked for.
func (p *ports) withRoom(pod cluster.Amounts, by order) iter.Seq[*destination] {
	return func(yield func(*destination) bool) {
		for b := range p.room {
			if by == tightestFirst {
				b = len(p.room) - 1 - b
			}
			p.asked++
			if p.room.mayTake(b, pod) && !p.offer(b, pod, by, yield) {
				return
			}
		}
	}
}

// offer yields the destinations of one block and reports whether further ones
// are wanted.
func (p *ports) offer(b int, pod cluster.Amounts, by order, yield func(*destination) bool) bool {
	from, to := p.block(b)
	found := false
	for i := range to - from {
		place := from + i
		if by == tightestFirst {
			place = to - 1 - i
		}
		p.asked++
		d := &p.cool[p.byFill[place]]
		if !d.takes(pod) {
			continue
		}
		found = true
		if !yield(d) {
			return false
		}
	}
	if !found {
		p.room.measure(p, b)
	}
	return true
}

// open reports whether a node takes landings.
func (n *Node) open() bool { return n.State == thresholds.Cool && n.Closed == "" }
