package policy

import (
	"cmp"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/thresholds"
	"github.com/evenkeel/evenkeel/usage"
)

// MemoryAvailable is the memory that a kubelet counts as available before it
// evicts pods itself: capacity without the working set, in percent of capacity.
// The less there is the worse.
const MemoryAvailable = thresholds.MemoryAvailable

// Levels are the levels of one metric that mean something. One that is absent
// is no line. For a metric of which less is worse, read below for above.
type Levels struct {
	// Low: a node at or below it on every metric is cool and may take pods.
	Low *float64 `json:"low,omitempty"`
	// Reject: a node predicted above it is kept out of scheduling as long as
	// other nodes qualify; it is the ceiling of every planned destination.
	Reject *float64 `json:"reject,omitempty"`
	// Evict: a node above it on any metric is hot, and pods are planned away
	// until it is predicted at or below this line. io.pressure and the metrics
	// of usage.metrics can have it only with relieves.
	Evict *float64 `json:"evict,omitempty"`
	// Leave: a hot node stops being hot below it. It never causes a move.
	Leave *float64 `json:"leave,omitempty"`
}

// MetricLines are the lines of one metric. Their order is low < reject, reject
// + minGapPercent <= evict and low < leave <= evict; where less is worse all is
// reversed. cpu and memory have all four levels, in percent of allocatable, and
// those that are not given their defaults. memory.available is in percent of
// capacity, a pressure and contention in percent of the time, any other metric
// in its own unit; of these any levels may be given, and only those are lines.
type MetricLines struct {
	Levels `json:",inline"`

	// Deviation makes the levels of cpu or memory distances from the mean of
	// the nodes of the pool, weighted by their size, in percentage points: low
	// lies below the mean, the others above it. Levels that are not given then
	// have other defaults.
	Deviation bool `json:"deviation"`
	// Windows are judged as well, beside those of hot.windows: by the levels
	// given here and, where one is absent, by the metric's own. Names are those
	// of hot.windows. Here reject may come up to evict.
	Windows map[usage.Window]Levels `json:"windows,omitempty"`
}

// Lines holds the lines of each judged metric: cpu, memory, memory.available,
// cpu.pressure, memory.pressure, io.pressure, cpu.contention and the names of
// usage.metrics. cpu.contention is how long two thirds of a node's containers
// wait for a CPU at most, without those that their own limit makes wait.
type Lines map[usage.Metric]MetricLines

// NodePool is a group of nodes with lines of its own.
type NodePool struct {
	// Name tells pools apart, in output and metrics: 1 to 63 letters, digits,
	// and between them '-', '_' or '.'. Required.
	Name string `json:"name"`
	// Selector picks the nodes by their labels: matchLabels, matchExpressions
	// or both. Required.
	Selector metav1.LabelSelector `json:"selector"`
	// Lines are laid over the lines of the policy, metric by metric and level
	// by level. Thresholds of RealUsageLowNodeUtilization do not reach them.
	Lines Lines `json:"lines"`
}

// Metrics returns the judged metrics in a stable order.
func (l Lines) Metrics() []usage.Metric {
	return slices.Sorted(maps.Keys(l))
}

// In returns the levels that judge a window: its own, or the metric's if it has
// none.
func (m MetricLines) In(w usage.Window) Levels {
	return m.Levels.under(m.Windows[w])
}

// under returns the levels with those of upper laid over.
func (l Levels) under(upper Levels) Levels {
	return Levels{
		Low:    either(upper.Low, l.Low),
		Reject: either(upper.Reject, l.Reject),
		Evict:  either(upper.Evict, l.Evict),
		Leave:  either(upper.Leave, l.Leave),
	}
}

// clone returns a copy whose own levels may be changed.
func (m MetricLines) clone() MetricLines {
	m.Levels = m.under(Levels{})
	return m
}

// either returns a copy of the first that is not nil.
func either(first, second *float64) *float64 {
	if value := cmp.Or(first, second); value != nil {
		return new(*value)
	}
	return nil
}

func (m MetricLines) hasEvict() bool {
	return m.any(func(l Levels) bool { return l.Evict != nil })
}

// any reports whether the metric's own levels or those of a window satisfy so.
func (m MetricLines) any(so func(Levels) bool) bool {
	return so(m.Levels) || slices.ContainsFunc(slices.Collect(maps.Values(m.Windows)), so)
}
