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
	series  []*podSeries   // of all pods, in the order of the snapshot
	adopted []*cluster.Pod // parallel to series while they are matched
	next    int            // index in series of the next pod
	hasPods bool
	read    readings // readings of the current node
	stolen  []given  // of the current node, parallel to Store.windows
	part    int64    // part of the period in which workloads are observed
	// left is the usage of the pods that are no longer in the snapshot, by node.
	left    map[string]cluster.Amounts
	medians medians
	scratch []float32
}

// stamp checks the time of a sample and returns the cause if it is rejected.
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

// podSums adds up the pods of a node.
type podSums struct {
	// since is the earliest second to which the node's sample may reach back.
	since uint32
	// came is the usage of pods that have started since then. The node's sample may lack
	// it. left is the usage of pods that left or restarted. The node's sample may include
	// it in addition to used.
	came, left cluster.Amounts
	// used is the sum of the pods' newest samples, or estimates for pods without a
	// sample. average is the sum of their means, likewise.
	used, average cluster.Amounts
	// sampled is the sum of the newest samples that are fresh, without estimates.
	sampled cluster.Amounts
	// unseen reports whether any starting pod has no sample yet.
	unseen bool
	// least is the sum, over all pods, of the lower of the fresh newest sample and the
	// mean.
	least cluster.Amounts
}

// absurdFactor is the multiple of a node's allocatable beyond which a sample of
// the node, or of one of its pods, is rejected.
const absurdFactor = 4

func absurd(used, allocatable cluster.Amounts) bool {
	for r := range used {
		if used[r] < 0 || allocatable[r] > 0 && used[r]/absurdFactor > allocatable[r] {
			return true
		}
	}
	return false
}

// absurdValue reports whether a reading is absurd. A signal must be a number that a
// history can hold. Resources and percentages of time cannot be negative, but the result
// of a query in the policy can.
func (in *ingestion) absurdValue(metric int, v float64, allocatable cluster.Amounts) bool {
	least, most := 0.0, float64(math.MaxFloat32)
	switch {
	case metric < len(allocatable):
		most = mostEstimated // no node is that large
		if allocatable[metric] > 0 {
			most = absurdFactor * float64(allocatable[metric])
		}
	case !in.store.metrics[metric].OfTime():
		least = -most
	}
	return !(v >= least && v <= most) // also true for NaN
}

// readings holds one node's checked sample by metric and window, parallel to
// Store.metrics and Store.windows. measured is 0 for a missing reading.
type readings [][]given

func newReadings(metrics, windows int) readings {
	r, cells := make(readings, metrics), make([]given, metrics*windows)
	for m := range r {
		r[m], cells = cells[:windows], cells[windows:]
	}
	return r
}

// source is one Batch with an index.
type source struct {
	batch  *Batch
	second uint32
	maxAge time.Duration
	nodes  map[string]listPlace
	// pods, parallel to ingestion.series, holds each pod's place in the Batch,
	// counted from 1; 0 if it is not in the Batch.
	pods     []listPlace
	problems Problems
}
