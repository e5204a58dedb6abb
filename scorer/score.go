package scorer

import (
	"math"
	"slices"

	"github.com/evenkeel/evenkeel/cluster"
)

// MaxScore is the highest score of the extender protocol.
const MaxScore = 10

// maxScore100 is the highest score of a scheduler plugin, scoreStep what one point on the wire is worth of it.
const (
	maxScore100 = 100
	scoreStep   = maxScore100 / MaxScore
)

// Best returns the node of a request that would be the coolest with the pod on it among those that are known and where it may
// land, except the excluded one, or -1. Hot values do not count. Ties go to the lower index, so the answer is deterministic.
func (b *Board) Best(nodes []int32, pod cluster.Amounts, excluded func(int32) bool) int32 {
	best, lowest := int32(-1), math.Inf(1)
	for _, i := range nodes {
		load, under, known := b.loadWith(i, pod)
		if !known || !under || b.full(i) || excluded(i) {
			continue
		}
		if load < lowest || load == lowest && i < best {
			best, lowest = i, load
		}
	}
	return best
}

// Score writes one score from 0 to MaxScore per node of the request: what Score100 says in steps of ten, to the nearest where
// predicted usage is scored, and without the remainder where measured usage is.
func (b *Board) Score(nodes []int32, pod cluster.Amounts, scores []int8) {
	b.Score100(nodes, pod, scores)
	half := int8(scoreStep / 2)
	if b.Measured() {
		half = 0
	}
	for k := range nodes {
		scores[k] = (scores[k] + half) / scoreStep
	}
}

// Score100 writes one score from 0 to 100 per node of the request: 100 for the coolest, 0 for the hottest of those under the
// reject line and for all above it, linear between, because absolute percentages would tie in the steps of ten that an
// extender has. When the request's nodes hardly differ the spread shrinks towards the middle, so that a few percent of usage
// do not overrule every other plugin. Unknown nodes get the median of the known ones. Where the board judges by measured
// windows their formula is the score in place of all that. From every score, those of unknown nodes too, ten times the node's
// hot value is taken off in the end, down to 0.
//
//	load  = (max over r of p_r + weighted mean of p_r) / 2    p_r: predicted percent of allocatable with the pod
//	score = 50 + (100·(hottest−load)/(hottest−coolest) − 50) · min(1, (hottest−coolest)/DampPercent) − 10·hot
func (b *Board) Score100(nodes []int32, pod cluster.Amounts, scores []int8) {
	if b.Measured() {
		b.scoreMeasured(nodes, scores)
	} else {
		b.scorePredicted(nodes, pod, scores)
	}
	b.chill(nodes, scores)
}

func (b *Board) scorePredicted(nodes []int32, pod cluster.Amounts, scores []int8) {
	scratch, ok := b.scratch.Get().(*[]float64)
	if !ok {
		scratch = new([]float64)
	}
	defer b.scratch.Put(scratch)
	*scratch = slices.Grow((*scratch)[:0], len(nodes))[:len(nodes)]
	all, under := b.weigh(nodes, pod, scores, *scratch)
	if under.coolest > under.hottest { // every known node is above the line: the least hot is still the best
		b.fill(scores[:len(nodes)], *scratch, all, false)
	} else {
		b.fill(scores[:len(nodes)], *scratch, under, true)
	}
}

// weigh writes the nodes' loads with the pod, and as their scores what else fill has to know of them. It returns the span of
// all loads and of those under the reject line.
func (b *Board) weigh(nodes []int32, pod cluster.Amounts, scores []int8, loads []float64) (all, under scale) {
	all.reset()
	under.reset()
	cpuShare, memShare := b.shares[cluster.CPU], b.shares[cluster.Memory]
	for k, i := range nodes {
		if i < 0 || int(i) >= len(b.gauges) || !b.gauges[i].known {
			scores[k] = unknownScore
			continue
		}
		load, isUnder := b.gauges[i].load(pod[cluster.CPU], pod[cluster.Memory], cpuShare, memShare)
		loads[k], scores[k] = load, overLine
		all.add(load)
		if isUnder {
			scores[k] = 0
			under.add(load)
		}
	}
	return all, under
}

// Likeliest returns the node that kube-scheduler is going to choose, as far as scores tell: of those with the highest score
// the coolest with the pod on it. It returns -1 where no node is known.
func (b *Board) Likeliest(nodes []int32, pod cluster.Amounts, scores []int8) int32 {
	best, top, lowest := int32(-1), int8(-1), math.Inf(1)
	for k, i := range nodes {
		if scores[k] < top {
			continue
		}
		load, _, known := b.loadWith(i, pod)
		if known && (scores[k] > top || load < lowest) {
			best, top, lowest = i, scores[k], load
		}
	}
	return best
}

// scale is the span of loads that scores are spread over.
type scale struct{ coolest, hottest float64 }

func (s *scale) reset() { s.coolest, s.hottest = math.Inf(1), math.Inf(-1) }

func (s *scale) add(load float64) { s.coolest, s.hottest = min(s.coolest, load), max(s.hottest, load) }

// What stands in the place of a score until fill has seen it.
const (
	unknownScore int8 = -1 - iota
	overLine
)

// fill turns loads into scores. With lines, nodes over theirs get none.
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

// tally counts the scores that were given.
type tally struct {
	count [maxScore100 + 1]int32
	n     int32
}

func (t *tally) add(score int8) {
	t.count[score]++
	t.n++
}

// fill gives the nodes that are unknown the median of the others.
func (t *tally) fill(scores []int8) {
	if int(t.n) == len(scores) {
		return
	}
	neutral := t.median()
	for k := range scores {
		if scores[k] == unknownScore {
			scores[k] = neutral
		}
	}
}

// median returns the lower median of the counted scores, the middle when there are none.
func (t *tally) median() int8 {
	seen := int32(0)
	for score, count := range t.count {
		if seen += count; t.n > 0 && seen >= (t.n+1)/2 {
			return int8(score)
		}
	}
	return maxScore100 / 2
}

// spreader turns loads into scores: a straight line, because there is one per node.
type spreader struct{ start, slope float64 }

func newSpreader(span scale, damp float64) spreader {
	const middle = maxScore100 / 2.0
	width := span.hottest - span.coolest
	if !(width > 0) { // also when NaN
		return spreader{start: middle}
	}
	strength := 1.0
	if damp > 0 {
		strength = min(1, width/damp)
	}
	slope := maxScore100 / width * strength
	return spreader{start: middle + slope*span.hottest - middle*strength, slope: slope}
}

// score leaves the fraction of a point out, but for what computing may have taken off a whole one: rounded to tens once more
// it is the score that rounding once would have given.
func (s spreader) score(load float64) int8 {
	const lost = 1e-9
	score := s.start
	if s.slope != 0 {
		score -= s.slope * load
	}
	return int8(min(max(score+lost, 0), maxScore100))
}

// loadWith returns the load of a node with a pod on it, and whether it is under the reject line.
func (b *Board) loadWith(i int32, pod cluster.Amounts) (load float64, under, known bool) {
	if i < 0 || int(i) >= len(b.gauges) || !b.gauges[i].known {
		return 0, true, false
	}
	load, under = b.gauges[i].load(pod[cluster.CPU], pod[cluster.Memory], b.shares[cluster.CPU], b.shares[cluster.Memory])
	return load, under, true
}
