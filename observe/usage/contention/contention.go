// Package contention computes how long containers wait for a CPU because others use it.
// It defines what counts as contention, for all sources alike. It does no I/O and keeps
// no state.
package contention

import (
	"math"
	"slices"
)

// The rules that define which containers count, and which quantile Of takes.
const (
	// Quantile is the quantile over containers. About a third of them wait longer, so one
	// container with more threads than CPUs, or one whose throttling went unnoticed, does
	// not make its node contended.
	Quantile = 0.66
	// BusyMilli is the least CPU that a container has to use or wait for to
	// count; other containers demand too little to have to wait. A container
	// that waits for one percent of the time would use ten milli-cores more.
	BusyMilli = 50
	// ThrottledAtPercent is the usage, in percent of its own CPU limit, from which a
	// container is assumed to wait for its quota rather than for other containers.
	// Containers that always demand more were measured at 94 to 95 %, even on a busy
	// machine.
	ThrottledAtPercent = 90
	// ThrottledPeriodsPercent is the equivalent for counted throttling: the share
	// of periods in which a container was throttled.
	ThrottledPeriodsPercent = 10
)

// Of returns a node's contention, given for each of its containers the share of
// time, in percent, in which it waited for a CPU (PSI "some"). The caller must
// leave out containers that wait because of their own limit and those that
// hardly run. The result is the quantile as Prometheus interpolates it; 0
// without containers. It reorders waited.
func Of(waited []float64) float64 {
	if len(waited) == 0 {
		return 0
	}
	slices.Sort(waited)
	rank := Quantile * float64(len(waited)-1)
	low := int(math.Floor(rank))
	high := min(low+1, len(waited)-1)
	return waited[low] + (rank-float64(low))*(waited[high]-waited[low])
}

// WantsCPU reports whether a container's usage and waiting are high enough to
// count.
func WantsCPU(usedMilli, waitedPercent float64) bool {
	return usedMilli >= BusyMilli || waitedPercent*10 >= BusyMilli
}

// ThrottledBy reports whether usage is so close to the limit that the limit
// explains the waiting. A limit of 0 means no limit.
func ThrottledBy(usedMilli float64, limitMilli int64) bool {
	return limitMilli > 0 && 100*usedMilli >= ThrottledAtPercent*float64(limitMilli)
}
