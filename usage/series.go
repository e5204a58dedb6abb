package usage

import (
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// listPlace is the place of a node or pod in a snapshot or in a Batch.
type listPlace int32

// gone is the place of a pod that is not in the snapshot last taken in.
const gone listPlace = -1

// podSeries is what was sampled of one pod.
type podSeries struct {
	pod    *cluster.Pod // of the snapshot last taken in
	newest sampled
	used   podRing
	place  listPlace // among the pods of the snapshot last taken in, or gone
	// inBatch is its place in the Batch that reported it last.
	inBatch listPlace
	owner   ownerNumber
	// given is the newest mean of five minutes that a source itself gave, if
	// there were samples ever since; its second is 0 where there is none.
	given point
}

func (p *podSeries) isOf(namespace, name string) bool {
	return p.pod.Name == name && p.pod.Namespace == namespace
}

// mean is the mean of the samples since a second: as the source gave it with
// the newest of them, else summed up here. It returns how long the pod was
// looked at, if it is as old: a source that gave a mean had looked for five
// minutes, and that remains true when the next source gives samples alone.
func (p *podSeries) mean(since uint32) (used cluster.Amounts, span time.Duration, ok bool) {
	if p.given.second == 0 {
		return p.used.mean(since)
	}
	if newest, _ := p.used.newest(); p.given.second == newest.second {
		return p.given.amounts(), Avg5m.Over, true
	}
	used, span, ok = p.used.mean(since)
	if p.given.second >= since {
		span = Avg5m.Over
	}
	return used, span, ok
}

// sampled is when a sample was taken and how old it may become.
type sampled struct {
	measured int64  // unix nanoseconds, which must advance for a sample to be new
	second   uint32 // when it was measured or, if that seems later, when it arrived
	maxAge   uint32 // seconds
}

func (s sampled) fresh(now uint32) bool {
	return s.measured != 0 && uint64(now) <= uint64(s.second)+uint64(s.maxAge)
}

// nodeSeries is what was sampled of one node.
type nodeSeries struct {
	source string
	newest sampled
	// refused is what was wrong with the sample last offered, if it was not
	// taken.
	refused Cause
	// arrived is the second in which the newest sample arrived.
	arrived uint32
	// vouched is how far back the source's own windows reach, where it gives no
	// single samples.
	vouched time.Duration
	metrics []metricSeries // parallel to Store.metrics
	// members tells the running pods, changed is the second in which they were
	// last seen to be others.
	members uint64
	changed uint32
	// system is what belonged to no pod.
	system ring[point]
	// pods is what its pods used when it was sampled last, as far as they were.
	pods cluster.Amounts
}

type metricSeries struct {
	history history
	given   []given // parallel to Store.windows
}

// given is a window that a source gave.
type given struct {
	value float64
	sampled
	// vouched is after how many seconds the source no longer stands by it.
	vouched uint32
	// filled is the second in which another source than the node's own gave it;
	// 0 where its own did.
	filled uint32
}

// told reports whether the source still stands by it.
func (g *given) told(now uint32) bool {
	return g.fresh(now) && uint64(now) <= uint64(g.second)+uint64(g.vouched)
}
