// Package forecast expects usage to go on as it was: what held for the last
// quarter of an hour holds for the next one, what held for the last hour for the
// rest of the next one, what held for four hours for the rest of these. So a
// burst that is new counts for minutes, a level that lasts for hours, and what
// varies counts as a chance. But a node that has come further from its level than
// it ever does is expected to stay where it is: nothing says that it goes back.
//
// It is about CPU. Memory is expected to stay as it is.
package forecast

import (
	"math"
	"time"
)

// Spans are the stretches of the future that are told apart, counted from now: the
// first ends after 15 minutes, the last after Horizon.
const Spans = 3

// Horizon is how far ahead is looked.
const Horizon = 4 * time.Hour

// ends are the ends of the spans, and the time constants of the means that they
// are expected by, in seconds.
var ends = [Spans]float64{15 * 60, 60 * 60, Horizon.Seconds()}

// sampleSeconds is the time that one sample, a mean of five minutes, stands for.
const sampleSeconds = 5 * 60

// Moment is what is expected in a span: a mean, in milli-cores, and, in their
// square, how samples vary around it, and how the mean of the first span does.
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

// Trend is what is remembered of a pod's usage: exponentially weighted means over
// the length of each span. It takes 44 bytes, and a sample a constant time. The
// zero value remembers nothing.
type Trend struct {
	// first and last are the seconds of the first and the newest sample.
	first, last uint32
	spans       Expected
}

// Add adds the mean of the five minutes before a second, in milli-cores. One that
// is not newer than the newest is ignored, and false returned.
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
		gain := weight(since, ends[s]) / weight(known, ends[s]) // so that early samples weigh alike
		off := float64(milliCores) - float64(m.Mean)
		m.Variance = blend(m.Variance, gain, off)
		m.Mean += float32(gain * off)
		m.Drift = blend(m.Drift, gain, float64(t.spans[0].Mean-m.Mean))
	}
	t.last = second
	return true
}

// weight is the weight of so many seconds in an exponential mean.
func weight(seconds, over float64) float64 { return -math.Expm1(-seconds / over) }

// blend adds how far off a value was to a variance.
func blend(variance float32, gain, off float64) float32 {
	return float32((1 - gain) * (float64(variance) + gain*off*off))
}

// Expect returns what is expected; nothing of a Trend without a sample.
func (t *Trend) Expect() Expected { return t.spans }

// Times returns what is expected of a pod that wants that many times as much.
func (e Expected) Times(factor float64) Expected {
	for s := range e {
		e[s].Mean *= float32(factor)
	}
	return e
}

// Toward returns what is expected where so much of each span is believed to be as
// the first one, 0 to 1.
func (e Expected) Toward(believed [Spans]float64) Expected {
	for s := range e {
		e[s].Mean += float32(believed[s]) * (e[0].Mean - e[s].Mean)
	}
	return e
}
