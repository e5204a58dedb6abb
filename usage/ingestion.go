package usage

import (
	"math"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// ingestion is one call of Ingest.
type ingestion struct {
	store   *Store
	sources []source
	second  uint32
	series  []*podSeries   // of all pods, in the snapshot's order
	adopted []*cluster.Pod // parallel to series while they are matched
	next    int            // place in series of the pod that comes next
	hasPods bool
	read    readings // of the node at hand
}

// stamp checks the time of a sample and says what is wrong with it.
func (in *ingestion) stamp(src *source, at time.Time) (sampled, Cause) {
	age := src.batch.Received.Sub(at)
	switch {
	case age > src.maxAge:
		return sampled{}, Stale
	case age < -src.maxAge:
		return sampled{}, Future
	}
	return sampled{
		measured: at.UnixNano(),
		second:   min(in.store.second(at), src.second),
		maxAge:   clamp32(int64(src.maxAge / time.Second)),
	}, ""
}

// podSums is what the pods of a node add up to.
type podSums struct {
	// members tells one set of running pods from another.
	members uint64
	// used is what they are taken to use by their newest samples, with
	// estimates for those that have none; average the same by their means.
	used, average cluster.Amounts
	// sampled is what was measured of them newest, without estimates.
	sampled cluster.Amounts
	// least is what was measured of them at least.
	least cluster.Amounts
}

// absurdFactor is how many times its allocatable a node, or one pod on it, may
// seem to use before the sample is taken for a mistake.
const absurdFactor = 4

func absurd(used, allocatable cluster.Amounts) bool {
	for r := range used {
		if used[r] < 0 || allocatable[r] > 0 && used[r]/absurdFactor > allocatable[r] {
			return true
		}
	}
	return false
}

// absurdValue is absurd for one reading; those of signals have to be numbers
// that a history can hold. A resource or a pressure is not negative; what a
// policy's own query tells may be.
func (in *ingestion) absurdValue(metric int, v float64, allocatable cluster.Amounts) bool {
	least, most := 0.0, float64(math.MaxFloat32)
	switch name := in.store.metrics[metric]; {
	case metric < len(allocatable):
		most = mostEstimated // whatever the node is, it is not that large
		if allocatable[metric] > 0 {
			most = absurdFactor * float64(allocatable[metric])
		}
	case name != CPUPressure && name != MemoryPressure && name != IOPressure:
		least = -most
	}
	return !(v >= least && v <= most) // also when NaN
}

// readings is one node's sample, checked and sorted by metric and window,
// parallel to Store.metrics and Store.windows; measured is 0 where there is
// none.
type readings [][]given

func newReadings(metrics, windows int) readings {
	r, cells := make(readings, metrics), make([]given, metrics*windows)
	for m := range r {
		r[m], cells = cells[:windows], cells[windows:]
	}
	return r
}

// source is one Batch with an index of what it has.
type source struct {
	batch  *Batch
	second uint32
	maxAge time.Duration
	nodes  map[string]listPlace
	// pods has, parallel to ingestion.series, the place of the pod in the
	// Batch, counted from 1; 0 where it has none.
	pods     []listPlace
	problems Problems
}
