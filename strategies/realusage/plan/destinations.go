package plan

import (
	"cmp"
	"iter"
	"slices"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/strategies"
)

// coolIndex is the index of a destination.
type coolIndex int32

// destination is a cool node with the pods that the plan has placed on it.
type destination struct {
	name      string
	site      site
	ceiling   cluster.Amounts // the maximum prediction allowed
	predicted cluster.Amounts
	load      forecast.Load
	course    *forecast.Course
	// hotAhead is the number of minutes per period for which it is expected to be hot;
	// negative until computed.
	hotAhead float64
	index    coolIndex         // index among the destinations
	at       cluster.NodeIndex // index among the input's nodes
}

// nearby is a destination with the criteria by which it is compared.
type nearby struct {
	to            *destination
	score         int64
	owned, inZone int // number of pods of the same owner
}

// site is the location of a node.
type site struct{ domain, zone string }

// takes reports whether the destination would stay at or below its ceiling with another
// pod.
func (d *destination) takes(pod cluster.Amounts) bool {
	return !d.predicted.Plus(pod).Exceeds(d.ceiling)
}

// headroom returns the remaining amounts below the destination's ceiling.
func (d *destination) headroom() cluster.Amounts { return d.ceiling.Minus(d.predicted) }

// roomFor reports whether the destinations in the pods' domain together may have space
// for the need of the pods' node. Unserved demand needs no space there.
func (p *destinations) roomFor(pods []*strategies.Pod, need cluster.Amounts) bool {
	if len(pods) == 0 {
		return false
	}
	left, home := need, p.sites[pods[0].Node]
	for _, pod := range pods {
		left[cluster.CPU] -= pod.Unserved // needs no space at a destination
	}
	for i := range p.cool {
		if p.cool[i].site.domain != home.domain {
			continue
		}
		for r := range left {
			if left[r] > 0 { // add unbounded space only once, to avoid an overflow
				left[r] -= max(p.left[i][r], 0)
			}
		}
	}
	return !positive(left)
}

// fill returns the fullest resource's share of its ceiling; 1 means full.
func fill(used, ceiling cluster.Amounts) float64 {
	highest := 0.0
	for r := range used {
		highest = max(highest, float64(used[r])/max(float64(ceiling[r]), 1))
	}
	return highest
}

// fillOf returns how full a destination is expected to be once short-term variations have
// averaged out.
func (p *destinations) fillOf(d *destination) float64 {
	used := d.predicted
	if !p.unforeseen {
		used[cluster.CPU] = d.load.Lasting()
	}
	return fill(used, d.ceiling)
}

// order is the order in which destinations are tried.
type order bool

const (
	coolestFirst  order = true
	tightestFirst order = false
)

// destinations are the destinations of a plan.
type destinations struct {
	placement  Placement
	cool       []destination
	byFill     []coolIndex       // indices into cool, coolest first; every landing reorders them
	left       []cluster.Amounts // headroom by index into cool; contiguous because every landing reads many
	fills      []float64         // fill by index into cool, also contiguous; byFill is ordered by it
	room       room
	first      order
	unforeseen bool
	recurs     bool             // the usage of some destination recurs
	pod        *forecast.Course // course of a pod; destinations that would be hot at its peak hour are skipped
	looks      int              // how many more destinations are checked for a peak
	examined   int              // number of destinations examined for pods
	sites      map[string]site  // by the names of hot nodes
	nodes      []Node
	residents  Residents
	zones      map[strategies.Owner]map[string]int // residents by zone, counted when needed
	came       Residents                           // pods that the plan has placed
	cameTo     map[zoneResidence]int               // the resulting changes in zones
	names      []string                            // reused between calls
	nearby     []nearby                            // reused between calls
}

// zoneResidence identifies an owner in a zone.
type zoneResidence struct {
	owner strategies.Owner
	zone  string
}

func newDestinations(in *Input, first order) *destinations {
	p := &destinations{
		placement: in.Placement, first: first, unforeseen: in.Unforeseen, sites: map[string]site{}, nodes: in.Nodes, residents: in.Residents,
		zones: map[strategies.Owner]map[string]int{}, came: Residents{}, cameTo: map[zoneResidence]int{},
	}
	size := len(in.Nodes)
	p.cool, p.byFill = make([]destination, 0, size), make([]coolIndex, 0, size)
	p.left, p.fills = make([]cluster.Amounts, 0, size), make([]float64, 0, size)
	for i := range in.Nodes {
		if n := &in.Nodes[i]; n.Open() {
			index := coolIndex(len(p.cool))
			p.recurs = p.recurs || n.Course != nil
			p.cool = append(p.cool, destination{
				name: n.Name, site: site{n.Domain, n.Zone}, ceiling: n.Ceiling, predicted: n.Predicted,
				load: n.Load, course: n.Course, hotAhead: -1, index: index, at: cluster.NodeIndex(i),
			})
			p.byFill, p.left = append(p.byFill, index), append(p.left, n.Ceiling.Minus(n.Predicted))
			p.fills = append(p.fills, p.fillOf(&p.cool[index]))
		}
		if at := (site{in.Nodes[i].Domain, in.Nodes[i].Zone}); at != (site{}) && in.Nodes[i].Pods != nil {
			p.sites[in.Nodes[i].Name] = at
		}
	}
	slices.SortFunc(p.byFill, p.compareFill)
	p.room = newRoom(p)
	return p
}

// compareFill orders destinations by fill, then by index, which is the order of names.
func (p *destinations) compareFill(a, b coolIndex) int {
	if c := cmp.Compare(p.fills[a], p.fills[b]); c != 0 {
		return c
	}
	return cmp.Compare(a, b)
}

// size makes pods comparable across resources. It returns the share of the first
// destination's ceiling that the pod would take.
func (p *destinations) size(pod *strategies.Pod) float64 {
	if len(p.cool) == 0 {
		return 0
	}
	return fill(pod.Usage, p.cool[0].ceiling)
}

// add adds a pod that the plan places on the destination; remove removes it again.
func (d *destination) add(pod *strategies.Pod) {
	if pod.Pattern.Recurs() {
		d.course = d.expected() // also if nothing recurs on the node yet
	}
	d.predicted = d.predicted.Plus(pod.Usage)
	d.load.Add(pod.Expected)
	d.course = d.courseWith(pod)
	d.hotAhead = -1
}

func (d *destination) remove(pod *strategies.Pod) {
	d.predicted = d.predicted.Minus(pod.Usage)
	d.load.Remove(pod.Expected)
	if d.course != nil {
		without := *d.course
		without.Remove(pod.Expected, pod.Pattern)
		d.course = &without
	}
	d.hotAhead = -1
}

// courseWith returns the course with another pod; nil if none is known.
func (d *destination) courseWith(pod *strategies.Pod) *forecast.Course {
	if d.course == nil {
		return nil
	}
	with := *d.course
	with.Add(pod.Expected, pod.Pattern)
	return &with
}

// expected returns the destination's course; if none is known, its lasting usage as a
// constant course.
func (d *destination) expected() *forecast.Course {
	if d.course != nil {
		return d.course
	}
	course := new(forecast.Course)
	course.Shift(d.load.Lasting())
	return course
}

// peakWith returns the maximum usage that is expected at any hour with a pod.
func (d *destination) peakWith(pod *forecast.Course) int64 {
	if d.course != nil {
		return d.course.PeakWith(pod)
	}
	_, peak := pod.Peak()
	return d.load.Lasting() + peak
}

// shift changes a destination and restores the order of byFill.
func (p *destinations) shift(d *destination, change func()) {
	from, _ := slices.BinarySearchFunc(p.byFill, d.index, p.compareFill)
	change()
	p.fills[d.index], p.left[d.index] = p.fillOf(d), d.headroom()
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

// blockSize is the number of consecutive destinations in byFill that share one entry of
// room.
const blockSize = 64

// room holds, for each block of byFill, an upper bound of each resource's headroom on its
// destinations. A block whose bound is too small for a pod is skipped. Bounds grow when
// destinations move between blocks. If a block turns out to have no destination for a pod
// despite its bound, the bound is recomputed exactly.
type room []cluster.Amounts

func newRoom(p *destinations) room {
	blocks := make(room, (len(p.byFill)+blockSize-1)/blockSize)
	for b := range blocks {
		blocks.measure(p, b)
	}
	return blocks
}

// measure sets a block's bound to the current maximum.
func (r room) measure(p *destinations, b int) {
	from, to := p.block(b)
	r[b] = p.left[p.byFill[from]]
	for _, i := range p.byFill[from+1 : to] {
		r.admit(b, p.left[i])
	}
}

// admit raises a block's bound to include a destination.
func (r room) admit(b int, headroom cluster.Amounts) {
	for k := range headroom {
		r[b][k] = max(r[b][k], headroom[k])
	}
}

// shifted updates the bounds after destinations between two places have moved by one
// place each.
func (r room) shifted(p *destinations, from, to int) {
	up := from <= to // the destinations in between moved down, and each of their blocks has a new last one
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

// mayTake reports whether a destination in the block may have space for a pod.
func (r room) mayTake(b int, pod cluster.Amounts) bool { return !pod.Exceeds(r[b]) }

// block returns the range of places in a block.
func (p *destinations) block(b int) (from, to int) {
	return b * blockSize, min((b+1)*blockSize, len(p.byFill))
}

// withRoom yields, in the given order, the destinations in a pod's domain that would stay
// at or below their ceilings with it, either in all zones or only in the pod's own. The
// caller must not shift a destination before the iteration has ended.
func (p *destinations) withRoom(of *strategies.Pod, by order, ownZone bool) iter.Seq[*destination] {
	pod, home := of.Usage, p.sites[of.Node]
	return func(yield func(*destination) bool) {
		within := func(d *destination) bool {
			if d.site.domain != home.domain || ownZone && d.site.zone != home.zone {
				return true
			}
			if p.pod != nil {
				if p.looks--; p.looks < 0 {
					return false
				}
				if p.peaks(d) {
					return true
				}
			}
			return yield(d)
		}
		for b := range p.room {
			if by == tightestFirst {
				b = len(p.room) - 1 - b
			}
			p.examined++
			if p.room.mayTake(b, pod) && !p.offer(b, pod, by, within) {
				return
			}
		}
	}
}

// peaks reports whether recurring usage would make a destination hot with the pod.
func (p *destinations) peaks(d *destination) bool {
	return d.peakWith(p.pod) > p.nodes[d.at].HotLine
}

// offer yields the destinations in one block and reports whether the caller wants more.
func (p *destinations) offer(b int, pod cluster.Amounts, by order, yield func(*destination) bool) bool {
	from, to := p.block(b)
	found := false
	for i := range to - from {
		place := from + i
		if by == tightestFirst {
			place = to - 1 - i
		}
		p.examined++
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

// Open reports whether a node takes pods.
func (n *Node) Open() bool { return n.State == thresholds.Cool && n.Closed == "" }
