package usage

import (
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
)

// listPlace is the place of a node or pod in a snapshot or in a Batch.
type listPlace int32

// gone is the place of a pod that is not in the last snapshot.
const gone listPlace = -1

// podSeries holds the samples of one pod.
type podSeries struct {
	pod    *cluster.Pod // from the last snapshot
	newest sampled
	used   podRing
	place  listPlace // among the pods of the last snapshot, or gone
	// inBatch is the pod's place in the last Batch that reported the pod.
	inBatch listPlace
	owner   ownerNumber
	// given is the newest five-minute mean from a source, provided that samples followed
	// it without a gap. Its second is 0 if there is none.
	given point
	// trend is used to predict how the pod's usage continues.
	trend forecast.Trend
	// peak is the pod's highest recent usage.
	peak forecast.Peak
	// levels counts how much the pod used in the last day or two.
	levels forecast.Levels
	// deviation is how the pod's usage differs from its workload's pattern.
	deviation forecast.Deviation
}

func (p *podSeries) isOf(namespace, name string) bool {
	return p.pod.Name == name && p.pod.Namespace == namespace
}

// mean returns the mean since the given second. It is the source's mean if that came with
// the newest sample, otherwise it is computed here. span is how long the pod was
// observed, limited to its age. A source that provided a mean had observed five minutes,
// which stays true if the next source provides only samples.
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

// sampled holds the time of a sample and its maximum age.
type sampled struct {
	measured int64  // unix nanoseconds, which must advance for a sample to be new
	second   uint32 // when it was measured or, if that appears to be later, when it arrived
	maxAge   uint32 // seconds
}

// anyIsNewer makes the next sample count as newer, whatever its time is.
func (s *sampled) anyIsNewer() { s.measured = min(s.measured, 1) }

func (s sampled) fresh(now uint32) bool {
	return s.measured != 0 && uint64(now) <= uint64(s.second)+uint64(s.maxAge)
}

// nodeSeries holds the samples of one node.
type nodeSeries struct {
	source string
	newest sampled
	// refused is why the last sample was rejected; empty if it was not.
	refused Cause
	// arrived is the second in which the newest sample arrived.
	arrived uint32
	// sourceSpan is the time that the source's own windows cover, for a source that
	// provides no single samples.
	sourceSpan time.Duration
	metrics    []metricSeries // parallel to Store.metrics
	stolen     metricSeries   // CPUStolen, from the node's own source
	// left is the usage of pods that left, by the second in which they were found
	// missing.
	left ring[point]
	// system is usage outside all pods.
	system ring[point]
	// pods is the measured usage of the node's pods at its last sample.
	pods cluster.Amounts
	// trend describes how the node's usage varies.
	trend forecast.Trend
	// trough is the lowest recent CPU usage of the whole machine.
	trough forecast.Trough
	// peak is the highest recent CPU usage of the whole machine.
	peak forecast.Peak
}

// reach returns the earliest second to which the next sample may reach back.
// The sample is a rate since the newest sample, or a mean.
func (ns *nodeSeries) reach() uint32 {
	return clamp32(int64(ns.newest.second) - int64(ns.sourceSpan/time.Second))
}

type metricSeries struct {
	history history
	given   []given // parallel to Store.windows
}

// given is a window provided by a source.
type given struct {
	value float64
	sampled
	// validFor is the number of seconds for which the source considers the
	// window valid.
	validFor uint32
	// filled is the second in which a source other than the node's own provided the
	// window; 0 if the node's own source did.
	filled uint32
}

// valid reports whether the source still considers the window valid.
func (g *given) valid(now uint32) bool {
	return g.fresh(now) && uint64(now) <= uint64(g.second)+uint64(g.validFor)
}
