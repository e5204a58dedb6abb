package scorer

import (
	"math"

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
	var all, under scale
	all.reset()
	under.reset()
	for _, i := range nodes {
		if load, isUnder, known := b.loadWith(i, pod); known {
			all.add(load)
			if isUnder {
				under.add(load)
			}
		}
	}
	if under.coolest > under.hottest { // every known node is above the line: the least hot is still the best
		b.fill(nodes, pod, scores, all, false)
	} else {
		b.fill(nodes, pod, scores, under, true)
	}
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

const unknownScore = -1

func (b *Board) fill(nodes []int32, pod cluster.Amounts, scores []int8, span scale, lines bool) {
	var given tally
	spread := newSpreader(span, b.config.DampPercent)
	for k, i := range nodes {
		load, under, ok := b.loadWith(i, pod)
		if !ok {
			scores[k] = unknownScore
			continue
		}
		score := int8(0)
		if under || !lines {
			score = spread.score(load)
		}
		scores[k] = score
		given.add(score)
	}
	given.fill(scores[:len(nodes)])
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

// loadWith sums the predicted percentages of a node with a pod up in one figure, half the dominant resource, half the
// weighted mean, and says whether they are under the reject line.
func (b *Board) loadWith(i int32, pod cluster.Amounts) (load float64, under, known bool) {
	amounts, known := b.Predicted(i)
	if !known {
		return 0, true, false
	}
	n := &b.nodes[i]
	amounts = amounts.Plus(pod)
	var highest, mean float64
	for r := range amounts {
		p := float64(amounts[r]) * n.perUnit[r]
		highest = max(highest, p)
		mean += b.shares[r] * p
	}
	return (highest + mean) / 2, n.takes(amounts), true
}
