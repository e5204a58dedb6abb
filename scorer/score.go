package scorer

import (
	"math"
	"slices"

	"github.com/evenkeel/evenkeel/cluster"
)

// Best returns the node of a request that would be the coolest with the pod on it, or -1.
// Nodes that are unknown, full, closed or excluded do not qualify. Hot values are
// ignored. The lowest index wins a tie, so the result is deterministic.
func (b *Board) Best(nodes []cluster.NodeIndex, pod cluster.Amounts, excluded func(cluster.NodeIndex) bool) cluster.NodeIndex {
	best, lowest := cluster.NodeIndex(-1), math.Inf(1)
	for _, i := range nodes {
		if !b.known(i) || b.full(i) || b.closed(i) || excluded(i) {
			continue
		}
		load, under := b.gauges[i].load(pod[cluster.CPU], pod[cluster.Memory], b.shares[cluster.CPU], b.shares[cluster.Memory])
		if under && (load < lowest || load == lowest && i < best) {
			best, lowest = i, load
		}
	}
	return best
}

// Score writes one score from 0 to MaxScore per node of the request. It is a tenth of the
// score of Score100, rounded to the nearest integer for predicted usage and down for
// measured usage.
func (b *Board) Score(nodes []cluster.NodeIndex, pod cluster.Amounts, scores []int8) {
	b.Score100(nodes, pod, scores)
	half := int8(scoreStep / 2)
	if b.Measured() {
		half = 0
	}
	for k := range nodes {
		scores[k] = (scores[k] + half) / scoreStep
	}
}

// Score100 writes one score from 0 to 100 per node of the request: 100 for the coolest
// node, 0 for the hottest one under the reject line and for all nodes above it, and
// linear in between. Absolute percentages would result in too many ties in an extender's
// steps of ten. If the request's nodes hardly differ, the spread shrinks towards the
// middle, so that a few percent of usage do not overrule every other plugin. Unknown
// nodes get the median of the known ones. A board that uses measured windows scores by
// their formula instead. Finally, every score, even an unknown node's, drops by ten times
// the node's hot value, but not below 0. A node closed by taints gets 0 and does not
// influence the other scores.
//
//	load  = (max over r of p_r + weighted mean of p_r) / 2    p_r: predicted percent of allocatable with the pod, of CPU when the node is busiest
//	score = 50 + (100·(hottest−load)/(hottest−coolest) − 50) · min(1, (hottest−coolest)/DampPercent) − 10·hot
func (b *Board) Score100(nodes []cluster.NodeIndex, pod cluster.Amounts, scores []int8) {
	if b.Measured() {
		b.scoreMeasured(nodes, scores)
	} else {
		b.scorePredicted(nodes, pod, scores)
	}
	b.chill(nodes, scores)
	if b.closing {
		b.close(nodes, scores)
	}
}

// close sets the score of nodes that taints close to 0.
func (b *Board) close(nodes []cluster.NodeIndex, scores []int8) {
	for k, i := range nodes {
		if b.closed(i) {
			scores[k] = 0
		}
	}
}

func (b *Board) scorePredicted(nodes []cluster.NodeIndex, pod cluster.Amounts, scores []int8) {
	scratch, ok := b.scratch.Get().(*[]float64)
	if !ok {
		scratch = new([]float64)
	}
	defer b.scratch.Put(scratch)
	*scratch = slices.Grow((*scratch)[:0], len(nodes))[:len(nodes)]
	all, under := b.weigh(nodes, pod, scores, *scratch)
	if under.coolest > under.hottest { // every known node is above the line, so the least hot one is the best
		b.fill(scores[:len(nodes)], *scratch, all, false)
	} else {
		b.fill(scores[:len(nodes)], *scratch, under, true)
	}
}

// weigh writes the nodes' loads with the pod, and the placeholder scores that fill needs.
// It returns the range of all loads, and the range of those under the reject line.
func (b *Board) weigh(nodes []cluster.NodeIndex, pod cluster.Amounts, scores []int8, loads []float64) (all, under scale) {
	all.reset()
	under.reset()
	cpuShare, memShare := b.shares[cluster.CPU], b.shares[cluster.Memory]
	for k, i := range nodes {
		if !b.known(i) {
			scores[k] = unknownScore
			continue
		}
		load, isUnder := b.gauges[i].load(pod[cluster.CPU], pod[cluster.Memory], cpuShare, memShare)
		loads[k], scores[k] = load, overLine
		all.add(load)
		if isUnder && !b.closed(i) {
			scores[k] = 0
			under.add(load)
		}
	}
	return all, under
}

// MostLikely returns the node that kube-scheduler will most likely choose. Of the nodes
// with the highest score, this is the one with the least requests, because
// kube-scheduler's own plugins prefer it. It returns -1 if no node is known.
func (b *Board) MostLikely(nodes []cluster.NodeIndex, requests cluster.Amounts, scores []int8) cluster.NodeIndex {
	best, top, least := cluster.NodeIndex(-1), int8(-1), math.Inf(1)
	for k, i := range nodes {
		if score := scores[k]; score >= top && b.known(i) {
			if share := b.requestedWith(i, requests[cluster.CPU], requests[cluster.Memory]); score > top || share < least {
				best, top, least = i, score, share
			}
		}
	}
	return best
}

// requestedWith returns a node's requests including those of the given pod, in percent of
// allocatable, summed over the resources. By default, NodeResourcesFit prefers the node
// with the least requests (LeastAllocated). gauge explains why the arguments are
// separate.
func (b *Board) requestedWith(i cluster.NodeIndex, cpuMilli, memBytes int64) float64 {
	r, perUnit := &b.requested[i], &b.gauges[i].perUnit
	cpu := float64(r[cluster.CPU].Load()+cpuMilli) * perUnit[cluster.CPU]
	mem := float64(r[cluster.Memory].Load()+memBytes) * perUnit[cluster.Memory]
	return min(cpu, 100) + min(mem, 100)
}

// fill converts loads to scores. If lines is true, nodes over their line get 0.
func (b *Board) fill(scores []int8, loads []float64, span scale, lines bool) {
	var given tally
	spread := newSpreader(span, b.config.DampPercent)
	for k, was := range scores {
		if was == unknownScore {
			continue
		}
		score := int8(0)
		if was != overLine || !lines {
			score = spread.score(loads[k])
		}
		scores[k] = score
		given.add(score)
	}
	given.fill(scores)
}

// known reports whether the board knows a node and its usage.
func (b *Board) known(i cluster.NodeIndex) bool {
	return i >= 0 && int(i) < len(b.gauges) && b.gauges[i].known
}

// HotValue returns the number of points of MaxScore that a node loses for recently bound
// pods, whether or not its usage is known.
//
//	hot = sum over the terms of floor(n / count)    n: pods bound to the node within the term's time
func (b *Board) HotValue(i cluster.NodeIndex) int {
	if b.hot == nil || i < 0 || int(i) >= len(b.nodes) {
		return 0
	}
	return b.hot.of(i)
}

// chill subtracts hot values from scores of 0 to 100, as Crane does: ten for
// each point.
func (b *Board) chill(nodes []cluster.NodeIndex, scores []int8) {
	if b.hot == nil {
		return
	}
	for k, i := range nodes {
		scores[k] -= int8(min(scoreStep*b.HotValue(i), int(scores[k]))) // at most the score, so it fits
	}
}

// scoreMeasured writes scores from 0 to 100 by measured windows. A node unknown
// to the board counts as unmeasured.
func (b *Board) scoreMeasured(nodes []cluster.NodeIndex, scores []int8) {
	if b.measured.Formula == FormulaMinMax {
		b.scoreMinMax(nodes, scores)
		return
	}
	for k, i := range nodes {
		scores[k] = int8(b.standing(i)) // at most 100
	}
}

func (b *Board) standing(i cluster.NodeIndex) int16 {
	switch {
	case i >= 0 && int(i) < len(b.standings):
		return b.standings[i].score
	case b.measured.Formula == FormulaMinMax:
		return -1
	case b.measured.Formula == FormulaMemoryLoad:
		return scoreStep
	}
	return 0
}

// scoreMinMax spreads whole percentages of usage over the nodes of a request.
//
//	score = 100 - (u-min)*100/(max-min)    whole numbers; 0 where all are equal
func (b *Board) scoreMinMax(nodes []cluster.NodeIndex, scores []int8) {
	least, most := int16(math.MaxInt16), int16(-1)
	for _, i := range nodes {
		if u := b.standing(i); u >= 0 {
			least, most = min(least, u), max(most, u)
		}
	}
	var known tally
	for k, i := range nodes {
		u := b.standing(i)
		switch {
		case u < 0:
			scores[k] = unknownScore
			continue
		case most == least:
			scores[k] = 0
		default:
			scores[k] = int8(maxScore100 - int(u-least)*maxScore100/int(most-least)) // 0 to 100
		}
		known.add(scores[k])
	}
	known.fill(scores[:len(nodes)])
}
