// Package contention says how long containers wait for a CPU because others use
// it: what counts, for every source alike. It is pure.
package contention

import (
	"math"
	"slices"
)

// What Of leaves out and takes.
const (
	// Quantile is the quantile over containers: a third of them wait
	// longer. One container with more threads than CPUs, or whose throttling
	// nobody noticed, does not make its node contended.
	Quantile = 0.66
	// BusyMilli is what a container has to use, or to wait for at
	// least, to count: others want too little to have to wait. Who waits for a
	// percent of the time wants ten milli-cores more.
	BusyMilli = 50
	// ThrottledAtPercent is the usage, of its own CPU limit, from which on a
	// container waits for its quota and not for others. One that always wants
	// more was measured at 94 to 95 % on a machine that is busy as well.
	ThrottledAtPercent = 90
	// ThrottledPeriodsPercent is the same where throttling is counted: the share
	// of its periods in which a container was throttled.
	ThrottledPeriodsPercent = 10
)

// Of returns a node's contention from the shares of the time, in
// percent, in which each of its containers waited for a CPU (PSI "some"):
// containers that their own limit makes wait, and those that hardly run, have
// to be left out. It is the quantile as Prometheus interpolates it; 0 without
// any container. It reorders waited.
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

// WantsCPU reports whether a container counts by what it uses and waits.
func WantsCPU(usedMilli, waitedPercent float64) bool {
	return usedMilli >= BusyMilli || waitedPercent*10 >= BusyMilli
}

// ThrottledBy reports whether a usage is so near to a limit that the limit
// explains why somebody waits. A limit of 0 is none.
func ThrottledBy(usedMilli float64, limitMilli int64) bool {
	return limitMilli > 0 && 100*usedMilli >= ThrottledAtPercent*float64(limitMilli)
}
