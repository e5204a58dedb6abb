package status

import (
	"math"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
)

// Metric is one metric of a node over every window.
type Metric struct {
	Name string `json:"name"`
	// Percent is true if the values are percentages of allocatable, or of capacity for
	// memory.available.
	Percent bool `json:"percent"`
	// LowerIsWorse is true if values below the lines are bad.
	LowerIsWorse bool `json:"lowerIsWorse,omitempty"`
	// Over is true if the metric is beyond its evict line in every window that has one,
	// which makes a node hot.
	Over    bool     `json:"over"`
	Windows []Window `json:"windows"`
}

// Window is a metric over one window. Unknown values and missing lines are absent.
type Window struct {
	Window string `json:"window"`
	// Measured is the measured value. Current is the part of Measured that can make the
	// node hot. It excludes pods that have left and the startup usage of others.
	// Predicted is the usage that placing pods assumes. Signals cannot be attributed to
	// pods, so for them only Measured is set. CPU contention is an exception, because the
	// share of pods that have left is known.
	Measured  *float64 `json:"measured,omitempty"`
	Current   *float64 `json:"current,omitempty"`
	Predicted *float64 `json:"predicted,omitempty"`
	Lines
	// AboveEvict, AboveLeave and AboveLow are true if the value is beyond the respective
	// line. The low line applies to the predicted value.
	AboveEvict bool `json:"aboveEvict,omitempty"`
	AboveLeave bool `json:"aboveLeave,omitempty"`
	AboveLow   bool `json:"aboveLow,omitempty"`
}

// Lines holds the lines of a metric over a window, as written in the policy.
type Lines struct {
	Low    *float64 `json:"low,omitempty"`
	Reject *float64 `json:"reject,omitempty"`
	Evict  *float64 `json:"evict,omitempty"`
	Leave  *float64 `json:"leave,omitempty"`
}

// LinesOf converts levels to the form in which they are reported.
func LinesOf(l thresholds.Levels) Lines {
	return Lines{Low: finite(l.Low), Reject: finite(l.Reject), Evict: finite(l.Evict), Leave: finite(l.Leave)}
}

// metrics returns every metric that was measured on a node or has a line.
func (f *Facts) metrics(i int) []Metric {
	over := map[usage.Metric]bool{}
	for _, e := range f.Lines.Evidence(i) {
		over[e.Metric] = true
	}
	names := append([]usage.Metric{usage.CPU, usage.Memory, thresholds.MemoryAvailable}, f.View.Signals...)
	var all []Metric
	for _, name := range names {
		m := Metric{Name: string(name), Percent: isPercent(name), Over: over[name]}
		for w := range f.View.Windows {
			one, judged, reversed := f.window(i, name, w)
			m.LowerIsWorse = m.LowerIsWorse || reversed
			if judged || one.Measured != nil && name != thresholds.MemoryAvailable {
				m.Windows = append(m.Windows, one)
			}
		}
		if len(m.Windows) > 0 {
			all = append(all, m)
		}
	}
	return all
}

func isPercent(metric usage.Metric) bool {
	return metric == usage.CPU || metric == usage.Memory || metric == thresholds.MemoryAvailable || metric.OfTime()
}

func (f *Facts) window(i int, metric usage.Metric, w int) (one Window, judged, reversed bool) {
	read := &f.View.Nodes[i]
	measured, current, predicted := f.value(i, metric, w, read.Measured), f.value(i, metric, w, read.Current), f.value(i, metric, w, read.Predicted)
	one = Window{
		Window: f.View.Windows[w].String(), Measured: finite(measured), Current: finite(current), Predicted: finite(predicted),
	}
	if f.View.SignalIndex(metric) >= 0 {
		one.Current, one.Predicted = nil, nil
	}
	if now, ok := f.Lines.Now(i, metric, f.View.Windows[w]); ok && metric == usage.CPUContention {
		current, one.Current = now, finite(now)
	}
	levels, judged := f.Lines.Of(i, metric, f.View.Windows[w])
	if !judged {
		return one, false, false
	}
	one.Lines = LinesOf(levels)
	reversed = lowerIsWorse(levels)
	beyond := func(value, line float64) bool {
		if reversed {
			return value < line
		}
		return value > line
	}
	one.AboveEvict, one.AboveLeave = beyond(current, levels.Evict), beyond(current, levels.Leave)
	one.AboveLow = beyond(predicted, levels.Low)
	return one, true, reversed
}

// lowerIsWorse derives the direction from the levels. A missing line is infinite, and the
// low line is the farthest from the evict line.
func lowerIsWorse(l thresholds.Levels) bool {
	for _, level := range []float64{l.Low, l.Reject, l.Evict, l.Leave} {
		if math.IsInf(level, 0) {
			return level < 0
		}
	}
	return l.Low > l.Evict
}

// value returns a metric over a window in the unit of its lines; NaN if unknown.
func (f *Facts) value(i int, metric usage.Metric, w int, used []cluster.Amounts) float64 {
	read := &f.View.Nodes[i]
	if k := f.View.SignalIndex(metric); k >= 0 {
		return read.Signals[k][w]
	}
	if !usable(read) {
		return math.NaN()
	}
	resource, _ := resourceOf(metric)
	part, whole := used[w][resource], f.whole(i, metric)
	if metric == thresholds.MemoryAvailable {
		part = whole - part
		if w < len(read.Reserved) {
			part -= read.Reserved[w][resource]
		}
	}
	if whole <= 0 {
		return math.NaN()
	}
	return 100 * float64(part) / float64(whole)
}

// resourceOf returns the resource that a metric measures, if it measures one.
func resourceOf(metric usage.Metric) (resource cluster.Resource, ok bool) {
	if metric == usage.Memory || metric == thresholds.MemoryAvailable {
		return cluster.Memory, true
	}
	return cluster.CPU, metric == usage.CPU
}

// whole returns the amount that equals 100% of a resource metric.
func (f *Facts) whole(i int, metric usage.Metric) int64 {
	resource, _ := resourceOf(metric)
	node := &f.View.Snapshot.Nodes[i].Node
	if metric == thresholds.MemoryAvailable {
		return node.Capacity[resource]
	}
	return node.Allocatable[resource]
}

// usable reports whether a node's measured usage can be shown. Usage can be shown while a
// window is still filling, but not if it is too old or was rejected.
func usable(n *usage.NodeUsage) bool { return n.Known() || n.Unknown == reasons.WindowTooShort }
