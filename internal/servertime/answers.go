package servertime

import (
	"slices"
	"time"
)

const (
	// Quorum is how many consecutive responses have to agree, because a single response
	// may come from a proxy with a wrong clock.
	Quorum = 3
	// maxAnswers and maxAnswerAge bound the remembered responses. Clocks drift
	// less over a shorter time.
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

// Tolerance is the largest skew of the local clock that is not corrected.
const Tolerance = 2 * time.Second

// span is the range of possible skews, bounds included.
type span struct{ low, high time.Duration }

func (s span) intersect(other span) span { return span{max(s.low, other.low), min(s.high, other.high)} }

func (s span) empty() bool { return s.low > s.high }

// distance returns how far a skew is from the nearest possible one.
func (s span) distance(skew time.Duration) time.Duration { return max(s.low-skew, skew-s.high, 0) }

// correction returns the correction for the local clock; 0 if the clock may be right
// within Tolerance.
func (s span) correction() time.Duration {
	if s.distance(0) <= Tolerance {
		return 0
	}
	return s.low + (s.high-s.low)/2
}

// answer is the evidence of one response: the bounds of the skew, and when it
// was received.
type answer struct {
	span span
	at   time.Time // local
}

// hear returns the evidence of a response with the given Date that was
// requested and received at local times, or false if it has none. The server
// read its clock in between, at a time in [date, date + dateUnit), so
//
//	date - received <= skew <= date + dateUnit - sent.
func hear(date, sent, received time.Time) (answer, bool) {
	took := received.Sub(sent)
	if took < 0 || took > slow {
		return answer{}, false
	}
	// Sub saturates; within maxSkew nothing overflows.
	heard := span{low: date.Sub(received), high: date.Sub(sent)}
	if heard.low < -maxSkew || heard.high > maxSkew {
		return answer{}, false
	}
	heard.high += dateUnit
	return answer{span: heard, at: received}, true
}

// answers are the newest responses, oldest first.
type answers []answer

func (a *answers) add(heard answer) {
	kept := slices.DeleteFunc(append(*a, heard), func(old answer) bool { return heard.at.Sub(old.at) > maxAnswerAge })
	*a = slices.Delete(kept, 0, max(len(kept)-maxAnswers, 0))
}

// agreed returns the span on which the newest answers agree, using as many of them as
// agree; false if they are fewer than Quorum.
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
