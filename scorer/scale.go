package scorer

import "math"

// MaxScore is the highest score of the extender protocol.
const MaxScore = 10

// maxScore100 is the highest score of a scheduler plugin. scoreStep is the number of its
// points that equal one point of the extender protocol.
const (
	maxScore100 = 100
	scoreStep   = maxScore100 / MaxScore
)

// The placeholders for scores that fill has not set yet.
const (
	unknownScore int8 = -1 - iota
	overLine
)

// scale is the range of loads over which scores are spread.
type scale struct{ coolest, hottest float64 }

func (s *scale) reset() { s.coolest, s.hottest = math.Inf(1), math.Inf(-1) }

func (s *scale) add(load float64) { s.coolest, s.hottest = min(s.coolest, load), max(s.hottest, load) }

// tally counts how often each score was assigned.
type tally struct {
	count [maxScore100 + 1]int32
	n     int32
}

func (t *tally) add(score int8) {
	t.count[score]++
	t.n++
}

// fill gives unknown nodes the median score of the others.
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

// median returns the lower median of the counted scores, or the middle of the
// range if there are none.
func (t *tally) median() int8 {
	seen := int32(0)
	for score, count := range t.count {
		if seen += count; t.n > 0 && seen >= (t.n+1)/2 {
			return int8(score)
		}
	}
	return maxScore100 / 2
}

// spreader converts loads to scores linearly, which is cheap enough for every node.
type spreader struct{ start, slope float64 }

func newSpreader(span scale, damp float64) spreader {
	const middle = maxScore100 / 2.0
	width := span.hottest - span.coolest
	if !(width > 0) { // also true for NaN
		return spreader{start: middle}
	}
	strength := 1.0
	if damp > 0 {
		strength = min(1, width/damp)
	}
	slope := maxScore100 / width * strength
	return spreader{start: middle + slope*span.hottest - middle*strength, slope: slope}
}

// score rounds down to whole points, with an allowance for floating-point error. Rounding
// the result down to tens gives the same score as rounding only once.
func (s spreader) score(load float64) int8 {
	const lost = 1e-9
	score := s.start
	if s.slope != 0 {
		score -= s.slope * load
	}
	return int8(min(max(score+lost, 0), maxScore100))
}
