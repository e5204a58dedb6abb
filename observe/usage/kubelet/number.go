package kubelet

import (
	"math"
	"time"
)

// number is a value that may be missing; missing is not zero.
type number struct {
	value float64
	known bool
}

// sane reports whether the number is finite and not negative.
func (n number) sane() bool { return n.value >= 0 && !math.IsInf(n.value, 1) }

// point is a number with its time of measurement.
type point struct {
	number
	at time.Time
}

// mostOfOne caps the value read for one pod, far above any node, so that sums
// cannot overflow.
const mostOfOne = 1 << 50

// amount rounds up, as Kubernetes does, so that a small value never becomes
// zero.
func amount(value float64) int64 { return int64(math.Ceil(min(value, mostOfOne))) }

// older returns the earlier of two times, because a value derived from two measurements
// is as old as the older one.
func older(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

const (
	// nanoToMilli converts nano-cores to milli-cores.
	nanoToMilli = 1e-6
	// nanoToOne is how many nano-cores are one core.
	nanoToOne = 1e9
)
