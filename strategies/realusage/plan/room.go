package plan

import (
	"iter"

	"github.com/evenkeel/evenkeel/cluster"
)

// blockSize is how many destinations that follow each other in the order of fill share one entry of room.
const blockSize = 64

// room is, for each block of byFill, no less than the most that a destination of it has left of each resource. A pod that
// needs more of one of them is not offered to the block. Entries grow when destinations move between blocks, and are brought
// down to the truth when a block turns out to have no place for a pod in spite of its entry.
type room []cluster.Amounts

// headroom is what a destination has left under its ceiling.
func (d *destination) headroom() cluster.Amounts { return d.ceiling.Minus(d.predicted) }

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

// shifted brings the entries up to date after the destinations at the places from to to have moved by one place each.
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

// mayTake says whether a destination of the block may have room for a pod.
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

// withRoom yields the destinations that a pod would leave at or under their ceilings, in an order. A destination may be shifted
// only once no further one is asked for.
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

// offer yields the destinations of one block and says whether further ones are wanted.
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
