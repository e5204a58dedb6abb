package policy

import (
	"cmp"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// MemoryAvailable is the memory that a kubelet counts as available before it evicts pods
// itself: capacity minus the working set, in percent of capacity. Lower values are worse.
const MemoryAvailable = thresholds.MemoryAvailable

// Levels are the thresholds of one metric. An omitted level does not apply.
// For metrics where less is worse, read "below" instead of "above".
type Levels struct {
	// Low is the level of cool nodes: a node is cool if every metric is at or below its
	// low line. Cool nodes may receive pods.
	Low *float64 `json:"low,omitempty"`
	// Reject keeps new pods off a node that is predicted above this level, as long as
	// other nodes qualify. No planned move exceeds it at its destination.
	Reject *float64 `json:"reject,omitempty"`
	// Evict makes a node hot if any metric is above this level. Moves are then planned
	// until the node is predicted at or below it. io.pressure and the metrics of
	// usage.metrics may set evict only together with relieves.
	Evict *float64 `json:"evict,omitempty"`
	// Leave ends a node's hot state once its usage is below this level. It never causes a
	// move.
	Leave *float64 `json:"leave,omitempty"`
}

// MetricLines are the lines of one metric. They must satisfy low < reject,
// reject + 3 <= evict (other metrics than percentages: reject + 3% of evict)
// and low < leave <= evict; the order is reversed if less is worse. The gap
// keeps the scheduler from filling a node up to the line at which its pods
// would be evicted again. cpu and memory always have all four levels, in
// percent of allocatable; omitted levels take their defaults. memory.available
// is in percent of capacity, pressures and contention are in percent of the
// time, and other metrics are in their own unit; for these, only the levels
// that are given apply.
type MetricLines struct {
	Levels `json:",inline"`

	// Deviation makes the levels of cpu or memory relative to the mean of the
	// pool's nodes, weighted by size, in percentage points: low is below the
	// mean, the other levels are above it. Omitted levels then have different
	// defaults.
	Deviation bool `json:"deviation"`
	// Windows are additional windows to evaluate beside hot.windows, with
	// their own levels; an omitted level is taken from the metric. Names are
	// as in hot.windows. Here reject may be as high as evict.
	Windows map[usage.Window]Levels `json:"windows,omitempty"`
}

// Lines holds the lines of each metric: cpu, memory, memory.available,
// cpu.pressure, memory.pressure, io.pressure, cpu.contention and the names of
// usage.metrics. cpu.contention is the longest time that two thirds of a
// node's containers wait for a CPU, not counting containers held back by their
// own limits.
type Lines map[usage.Metric]MetricLines

// NodePool is a group of nodes with its own lines.
type NodePool struct {
	// Name identifies the pool in output and metrics: 1 to 63 letters and
	// digits, with '-', '_' or '.' between them. Required.
	Name string `json:"name"`
	// Selector selects the pool's nodes by label: matchLabels,
	// matchExpressions or both. Required.
	Selector metav1.LabelSelector `json:"selector"`
	// Lines override the lines of the policy for these nodes, metric by metric
	// and level by level. Thresholds of RealUsageLowNodeUtilization do not
	// apply to them.
	Lines Lines `json:"lines"`
}

// Metrics returns the metrics that have lines, in a stable order.
func (l Lines) Metrics() []usage.Metric {
	return slices.Sorted(maps.Keys(l))
}

// In returns the levels for a window. A window without levels of its own uses those of
// the metric.
func (m MetricLines) In(w usage.Window) Levels {
	return m.Levels.under(m.Windows[w])
}

// under returns the levels, overlaid with those of upper.
func (l Levels) under(upper Levels) Levels {
	return Levels{
		Low:    either(upper.Low, l.Low),
		Reject: either(upper.Reject, l.Reject),
		Evict:  either(upper.Evict, l.Evict),
		Leave:  either(upper.Leave, l.Leave),
	}
}

// clone returns a copy whose own levels can be changed independently.
func (m MetricLines) clone() MetricLines {
	m.Levels = m.under(Levels{})
	return m
}

// either returns a copy of the first argument that is not nil.
func either(first, second *float64) *float64 {
	if value := cmp.Or(first, second); value != nil {
		return new(*value)
	}
	return nil
}

func (m MetricLines) hasEvict() bool {
	return m.any(func(l Levels) bool { return l.Evict != nil })
}

// any reports whether so returns true for the metric's own levels or those of any window.
func (m MetricLines) any(so func(Levels) bool) bool {
	return so(m.Levels) || slices.ContainsFunc(slices.Collect(maps.Values(m.Windows)), so)
}
