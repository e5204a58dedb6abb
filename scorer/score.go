package scorer

import (
	"math"

	"github.com/evenkeel/evenkeel/cluster"
)

// MaxScore is the highest score of the extender protocol.
const MaxScore = 10

// Best returns the node of a request that would be the coolest with the pod on it among those that are known and accept
// it, except the excluded one, or -1. Ties go to the lower index, so the answer is deterministic.
func (b *Board) Best(nodes []int32, pod cluster.Amounts, excluded func(int32) bool) int32 {
	best, lowest := int32(-1), math.Inf(1)
	for _, i := range nodes {
		percents, known := b.With(i, pod)
		if !known || b.config.Lines.over(percents) || excluded(i) {
			continue
		}
		if load := b.load(percents); load < lowest || load == lowest && i < best {
			best, lowest = i, load
		}
	}
	return best
}

// Score writes one score from 0 to MaxScore per node of the request: MaxScore for the coolest, 0 for the hottest of those
// under the reject line and for all above it, linear between, because one point on the wire is worth ten of a scheduler
// plugin and absolute percentages would tie. When the request's nodes hardly differ the spread shrinks towards the middle,
// so that a few percent of usage do not overrule every other plugin. Unknown nodes get the median of the known ones.
//
//	load  = (max over r of p_r + weighted mean of p_r) / 2    p_r: predicted percent of allocatable with the pod
//	score = 5 + (10·(hottest−load)/(hottest−coolest) − 5) · min(1, (hottest−coolest)/DampPercent)
func (b *Board) Score(nodes []int32, pod cluster.Amounts, scores []int8) {
	coolest, hottest := math.Inf(1), math.Inf(-1)
	for _, i := range nodes {
		if percents, known := b.With(i, pod); known && !b.config.Lines.over(percents) {
			load := b.load(percents)
			coolest, hottest = min(coolest, load), max(hottest, load)
		}
	}
	if coolest > hottest { // every known node is above the line: the least hot is still the best
		b.scoreBetween(nodes, pod, scores, false)
		return
	}
	b.fill(nodes, pod, scores, coolest, hottest, true)
}

func (b *Board) scoreBetween(nodes []int32, pod cluster.Amounts, scores []int8, lines bool) {
	coolest, hottest := math.Inf(1), math.Inf(-1)
	for _, i := range nodes {
		if percents, known := b.With(i, pod); known {
			load := b.load(percents)
			coolest, hottest = min(coolest, load), max(hottest, load)
		}
	}
	b.fill(nodes, pod, scores, coolest, hottest, lines)
}

const unknownScore = -1

func (b *Board) fill(nodes []int32, pod cluster.Amounts, scores []int8, coolest, hottest float64, lines bool) {
	var histogram [MaxScore + 1]int
	known := 0
	for k, i := range nodes {
		percents, ok := b.With(i, pod)
		if !ok {
			scores[k] = unknownScore
			continue
		}
		score := int8(0)
		if !lines || !b.config.Lines.over(percents) {
			score = spread(b.load(percents), coolest, hottest, b.config.DampPercent)
		}
		scores[k] = score
		histogram[score]++
		known++
	}
	neutral := median(histogram, known)
	for k := range nodes {
		if scores[k] == unknownScore {
			scores[k] = neutral
		}
	}
}

func spread(load, coolest, hottest, damp float64) int8 {
	const middle = MaxScore / 2.0
	width := hottest - coolest
	if !(width > 0) { // also when NaN
		return int8(middle)
	}
	strength := 1.0
	if damp > 0 {
		strength = min(1, width/damp)
	}
	score := middle + (MaxScore*(hottest-load)/width-middle)*strength
	return int8(math.Round(min(max(score, 0), MaxScore)))
}

// median returns the lower median of the counted scores, the middle when there are none.
func median(histogram [MaxScore + 1]int, n int) int8 {
	seen := 0
	for score, count := range histogram {
		if seen += count; n > 0 && seen >= (n+1)/2 {
			return int8(score)
		}
	}
	return MaxScore / 2
}

// load sums percentages up in one figure: half the dominant resource, half the weighted mean.
func (b *Board) load(p cluster.Percents) float64 {
	var sum, weights float64
	for r := range p {
		sum += b.config.Weights[r] * p[r]
		weights += b.config.Weights[r]
	}
	return (p.Max() + sum/weights) / 2
}
