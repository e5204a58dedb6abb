// Package forecast predicts that usage continues as before. It predicts the mean of the
// last 15 minutes for the next 15 minutes, the mean of the last hour for the rest of the
// next hour, and the mean of the last four hours for the rest of the next four hours. So
// a new burst counts for minutes and a lasting level for hours, and fluctuation is a
// probability. If a node's usage has moved further from its level than it usually does,
// it is expected to stay there, because nothing suggests that it will return.
//
// It covers CPU only. Memory is expected to stay as it is.
package forecast

import (
	"math"
	"time"
)

// Spans is the number of future time spans. The first ends 15 minutes from now, the last
// at Horizon.
const Spans = 3

// Horizon is how far ahead the forecast looks.
const Horizon = 4 * time.Hour

// ends holds the ends of the spans, in seconds. They are also the time constants of the
// means that predict each span.
var ends = [Spans]float64{15 * 60, 60 * 60, Horizon.Seconds()}

// sampleSeconds is the time that one sample covers, a mean of five minutes.
const sampleSeconds = 5 * 60

// Moment is what is expected in a span: the mean in milli-cores, the variance
// of samples around it, and the variance of the first span's mean around it
// (both in squared milli-cores).
type Moment struct{ Mean, Variance, Drift float32 }

// Expected is what a pod is expected to use in each span.
type Expected [Spans]Moment

// Constant expects a usage that never changes.
func Constant(milliCores int64) (e Expected) {
	for s := range e {
		e[s].Mean = float32(milliCores)
	}
	return e
}

// Trend summarizes a pod's past usage in exponentially weighted means, one over
// the length of each span. It takes 44 bytes, and adding a sample takes
// constant time. The zero value holds no samples.
type Trend struct {
	// first and last are the seconds of the first and the newest sample.
	first, last uint32
	spans       Expected
}

// Add adds the mean, in milli-cores, of the five minutes that end at second. If
// that sample is not newer than the newest one, Add ignores it and returns
// false.
func (t *Trend) Add(second uint32, milliCores int64) bool {
	switch {
	case second <= t.last:
		return false
	case t.last == 0:
		t.first, t.last, t.spans = second, second, Constant(milliCores)
		return true
	}
	since, known := float64(second-t.last), float64(second-t.first)+sampleSeconds
	for s := range t.spans {
		m := &t.spans[s]
		gain := weight(since, ends[s]) / weight(known, ends[s]) // early samples weigh the same
		off := float64(milliCores) - float64(m.Mean)
		m.Variance = blend(m.Variance, gain, off)
		m.Mean += float32(gain * off)
		m.Drift = blend(m.Drift, gain, float64(t.spans[0].Mean-m.Mean))
	}
	t.last = second
	return true
}

// weight returns the weight of the newest seconds in an exponential mean whose time
// constant is over.
func weight(seconds, over float64) float64 { return -math.Expm1(-seconds / over) }

// blend updates a variance with a value's deviation.
func blend(variance float32, gain, off float64) float32 {
	return float32((1 - gain) * (float64(variance) + gain*off*off))
}

// Expect returns what is expected; zero for a Trend without samples.
func (t *Trend) Expect() Expected { return t.spans }

// Times returns the expectation for a pod that needs factor times as much.
func (e Expected) Times(factor float64) Expected {
	for s := range e {
		e[s].Mean *= float32(factor)
	}
	return e
}

// Toward returns the expectation with each span moved toward the first one by the given
// share: 0 leaves a span unchanged, 1 makes it equal to the first.
func (e Expected) Toward(believed [Spans]float64) Expected {
	for s := range e {
		e[s].Mean += float32(believed[s]) * (e[0].Mean - e[s].Mean)
	}
	return e
}
