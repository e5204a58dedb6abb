package servertime

import (
	"slices"
	"time"
)

const (
	// Quorum is how many answers in a row have to agree: a proxy with a wrong
	// clock of its own may give one in between.
	Quorum = 3
	// maxAnswers and maxAnswerAge bound what is remembered. The shorter time
	// is, the less do clocks drift in it.
	maxAnswers   = 20
	maxAnswerAge = 2 * time.Minute
	// slow is how long an answer may take. The longer it does, the less it says
	// about when the server looked at its clock.
	slow = 5 * time.Second
	// maxSkew bounds what is believed; clocks that are further apart could not
	// agree on certificates either.
	maxSkew = 365 * 24 * time.Hour
	// dateUnit is how coarse a server tells its time.
	dateUnit = time.Second
)

// Tolerance is by how much the local clock may be off without being corrected.
const Tolerance = 2 * time.Second

// span is where the skew lies, bounds included.
type span struct{ low, high time.Duration }

func (s span) intersect(other span) span { return span{max(s.low, other.low), min(s.high, other.high)} }

func (s span) empty() bool { return s.low > s.high }

// distance is how far a skew is from the nearest that is possible.
func (s span) distance(skew time.Duration) time.Duration { return max(s.low-skew, skew-s.high, 0) }

// correction is what the local clock is corrected by: nothing where it may be
// right to within Tolerance.
func (s span) correction() time.Duration {
	if s.distance(0) <= Tolerance {
		return 0
	}
	return s.low + (s.high-s.low)/2
}

// answer is what one answer of the server tells: within which bounds the skew
// lies, and when that was heard.
type answer struct {
	span span
	at   time.Time // local
}

// hear returns what an answer with the given Date tells that was asked for and
// received at local times; false where that is nothing. The server looked at
// its clock in between, and read a time in [date, date + dateUnit), so
//
//	date - received <= skew <= date + dateUnit - sent.
func hear(date, sent, received time.Time) (answer, bool) {
	took := received.Sub(sent)
	if took < 0 || took > slow {
		return answer{}, false
	}
	// Sub saturates; within maxSkew nothing can overflow.
	heard := span{low: date.Sub(received), high: date.Sub(sent)}
	if heard.low < -maxSkew || heard.high > maxSkew {
		return answer{}, false
	}
	heard.high += dateUnit
	return answer{span: heard, at: received}, true
}

// answers are the newest, oldest first.
type answers []answer

func (a *answers) add(heard answer) {
	kept := slices.DeleteFunc(append(*a, heard), func(old answer) bool { return heard.at.Sub(old.at) > maxAnswerAge })
	*a = slices.Delete(kept, 0, max(len(kept)-maxAnswers, 0))
}

// agreed returns what the newest answers agree on, as far back as they do;
// false where those are fewer than Quorum.
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
