package forecast

import (
	"math"
	"time"
)

// PodPattern is what one pod is expected to use according to its workload's
// pattern. The zero value belongs to a pod without a recurring pattern.
type PodPattern struct {
	*Pattern
	// Deviation is the share by which the pod uses more, or less, than the pattern in
	// busy parts.
	Deviation Deviation
	// Limit is the most that the pod can use, in milli-cores; 0 for no limit.
	Limit int64
}

// At returns what is expected in a part of a period, in milli-cores.
func (p PodPattern) At(part int64) float64 { return p.at(part%Parts, p.Pattern.Mean()) }

func (p PodPattern) at(at int64, mean float64) float64 {
	used := float64(p.Means[at])
	if p.busy(at, mean) {
		used *= p.Deviation.times()
	}
	if p.Limit > 0 {
		used = min(used, float64(p.Limit))
	}
	return used
}

// Foresee returns what is expected of a pod; e is the expectation if usage continues as
// now. Normally Foresee returns the pattern's prediction, with the pattern's past error
// as its variance at most. If current usage is above everything that the pattern contains
// around this time, the pattern cannot predict when that ends, so usage is expected to
// continue.
func (p PodPattern) Foresee(e Expected, ahead *Ahead, clock Clock, now time.Time) Expected {
	if !p.Recurs() {
		return e
	}
	highest := p.highest(clock, now)
	if float64(e[0].Mean) > highest+min(unforeseen*math.Sqrt(float64(p.Off+p.Within)), highest) {
		return e
	}
	for s := range e {
		if e[s].Mean = ahead.means[s] + float32(p.Deviation)*ahead.busy[s]; p.Limit > 0 {
			e[s].Mean = min(e[s].Mean, float32(p.Limit))
		}
		e[s].Variance = min(e[s].Variance, p.Off+p.Within)
	}
	return e
}

// unforeseen is the number of standard deviations above a pattern at which usage stops
// matching the pattern. Usage of twice the pattern never matches it.
const unforeseen = 3

// highest returns the highest expectation for the parts that cover the last 15 minutes.
// It includes one part before and one after, because usage may have come early or late.
func (p PodPattern) highest(clock Clock, now time.Time) float64 {
	last, length := clock.Part(now.Unix())+1, clock.Length()
	first := last - 2 - int64((time.Duration(ends[0])*time.Second+length-1)/max(length, 1))
	highest, mean := 0.0, p.Pattern.Mean()
	for part := max(first, last-Parts+1); part <= last; part++ {
		highest = max(highest, p.at(part%Parts, mean))
	}
	return highest
}

// Deviation is the share by which a pod uses more, or less, than its workload's pattern in
// busy parts. It is needed because a leader and its followers share one pattern, and so
// do two versions of a workload. The zero value means that the pod matches the pattern.
type Deviation float32

// mostUnlike is the largest multiple of the pattern that a pod is assumed to
// use.
const mostUnlike = 8

func (u Deviation) times() float64 { return 1 + float64(u) }

// Add takes a sample in a part of a period into account. weight is the sample's
// share of the time over which the deviation is averaged.
func (u *Deviation) Add(p *Pattern, part, milliCores int64, weight float64) {
	if p == nil || p.Periods == 0 {
		return
	}
	at := part % Parts
	if mean := p.Mean(); p.busy(at, mean) {
		times := min(float64(milliCores)/float64(p.Means[at]), mostUnlike)
		*u += Deviation(min(weight, 1) * (times - u.times()))
	}
}
