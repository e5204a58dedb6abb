package servertime

import (
	"slices"
	"time"
)

const (
	// Quorum is how many consecutive responses have to agree, because a single response
	// may come from a proxy with a wrong clock.
	Quorum = 3
	// maxAnswers and maxAnswerAge bound the remembered responses. The shorter the time
	// between them, the less the clocks drift.
	maxAnswers   = 20
	maxAnswerAge = 2 * time.Minute
	// slow is the maximum duration of a response that counts. The longer a response
	// takes, the less certain it is when the server read its clock.
	slow = 5 * time.Second
	// maxSkew is the largest plausible skew; clocks that differ more could not
	// agree on certificates, either.
	maxSkew = 365 * 24 * time.Hour
	// dateUnit is the resolution of a server's Date.
	dateUnit = time.Second
)

// Tolerance is the largest skew of the local clock that is left uncorrected.
const Tolerance = 2 * time.Second

// span is a range of possible skews, including its bounds.
type span struct{ low, high time.Duration }

func (s span) intersect(other span) span { return span{max(s.low, other.low), min(s.high, other.high)} }

func (s span) empty() bool { return s.low > s.high }

// distance returns how far a skew is outside the span; 0 if it is inside.
func (s span) distance(skew time.Duration) time.Duration { return max(s.low-skew, skew-s.high, 0) }

// correction returns the correction for the local clock; 0 if the clock may be correct
// within Tolerance.
func (s span) correction() time.Duration {
	if s.distance(0) <= Tolerance {
		return 0
	}
	return s.low + (s.high-s.low)/2
}

// answer is the evidence from one response: the bounds of the skew, and when the response
// was received.
type answer struct {
	span span
	at   time.Time // by the local clock
}

// hear returns the evidence from a response with the given Date; false if it provides
// none. sent and received are local times. The server read its clock between the two, at
// a time in [date, date + dateUnit), so
//
//	date - received <= skew <= date + dateUnit - sent.
func hear(date, sent, received time.Time) (answer, bool) {
	took := received.Sub(sent)
	if took < 0 || took > slow {
		return answer{}, false
	}
	// Sub saturates; nothing overflows within maxSkew.
	heard := span{low: date.Sub(received), high: date.Sub(sent)}
	if heard.low < -maxSkew || heard.high > maxSkew {
		return answer{}, false
	}
	heard.high += dateUnit
	return answer{span: heard, at: received}, true
}

// answers holds the newest responses, oldest first.
type answers []answer

func (a *answers) add(heard answer) {
	kept := slices.DeleteFunc(append(*a, heard), func(old answer) bool { return heard.at.Sub(old.at) > maxAnswerAge })
	*a = slices.Delete(kept, 0, max(len(kept)-maxAnswers, 0))
}

// agreed returns the span on which the newest answers agree, using as many of them as
// agree; false if fewer than Quorum agree.
func (a answers) agreed() (span, bool) {
	if len(a) == 0 {
		return span{}, false
	}
	all, n := a[len(a)-1].span, 1
	for ; n < len(a); n++ {
		narrower := all.intersect(a[len(a)-1-n].span)
		if narrower.empty() {
			break
		}
		all = narrower
	}
	return all, n >= Quorum
}
