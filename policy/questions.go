package policy

import (
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/policy/check"
)

// The following methods derive values from more than one field. They expect a valid
// LoadPolicy.

// MaxAgeOf returns the maximum age of a source's samples; 0 leaves the age to the source
// itself.
func (u *Usage) MaxAgeOf(s *Source) time.Duration {
	if s.MaxAge.Duration != 0 || s.Config.Describe().DatesValues {
		return s.MaxAge.Duration
	}
	return u.MaxAge.Duration
}

// TimeoutOf returns how long one request to a source may take.
func (u *Usage) TimeoutOf(s *Source) time.Duration {
	if s.Timeout.Duration != 0 {
		return s.Timeout.Duration
	}
	return u.Timeout.Duration
}

// JudgesResources reports whether nodes are judged by the resources that they use, and
// not only by metrics that no move lowers.
func (p *LoadPolicy) JudgesResources() bool {
	_, cpu := p.Lines[usage.CPU]
	_, memory := p.Lines[usage.Memory]
	return cpu || memory
}

// AllLines returns the lines of the policy and of its pools.
func (p *LoadPolicy) AllLines() []Lines {
	all := []Lines{p.Lines}
	for i := range p.NodePools {
		all = append(all, p.NodePools[i].Lines)
	}
	return all
}

// Windows returns, without duplicates, the windows that are compared with lines: those
// that make a node hot, and those of single metrics.
func (p *LoadPolicy) Windows(lines Lines) []usage.Window {
	windows := slices.Clone(p.Hot.Windows)
	for _, metric := range lines.Metrics() {
		windows = usage.Distinct(windows, check.SortedWindows(lines[metric].Windows))
	}
	return windows
}

// Windows returns the windows of the terms and limits; none without a MeasuredScoring.
func (m *MeasuredScoring) Windows() (windows []usage.Window) {
	if m == nil {
		return nil
	}
	for _, term := range m.Terms {
		windows = append(windows, term.Window)
	}
	for _, limit := range m.Limits {
		windows = append(windows, limit.Window)
	}
	return windows
}

// LowerIsWorse reports whether lower values of a metric are worse.
func (u *Usage) LowerIsWorse(name usage.Metric) bool {
	metric, _ := u.metric(name)
	return metric.LowerIsWorse || name == MemoryAvailable
}

// Relieves returns the resource whose usage a move has to take off a node to lower a metric: usage.CPU, usage.Memory,
// RelievesNone, or "" if that is unknown.
func (u *Usage) Relieves(name usage.Metric) usage.Metric {
	if metric, listed := u.metric(name); listed && metric.Relieves != "" {
		return metric.Relieves
	}
	switch name {
	case usage.CPU, usage.CPUPressure, usage.CPUContention:
		return usage.CPU
	case usage.Memory, usage.MemoryPressure, MemoryAvailable:
		return usage.Memory
	default:
		return ""
	}
}

func (u *Usage) metric(name usage.Metric) (Metric, bool) {
	for _, metric := range u.Metrics {
		if metric.Name == name {
			return metric, true
		}
	}
	return Metric{}, false
}

// Writes reports whether anything is written to nodes.
func (n *NodeSync) Writes() bool { return n.Annotations.Enabled || n.Marks() }

// Marks reports whether nodes are labelled or tainted by their usage.
func (n *NodeSync) Marks() bool { return n.Label.Enabled || n.Taint.Enabled || n.RejectTaint.Enabled }

// Location returns the time zone of the timestamps.
func (a *NodeSyncAnnotations) Location() *time.Location { return check.Location(a.Timezone) }

// RisingWindow returns how long memory has to rise to count as rising; 0 turns the check
// off. It is at least four samples long, so that the rise is known to be steady.
func (p *LoadPolicy) RisingWindow() time.Duration {
	if p.Hot.RisingMemory.Window.Duration == 0 {
		return 0
	}
	return min(max(p.Hot.RisingMemory.Window.Duration, 4*p.Usage.SampleInterval.Duration), usage.Avg5m.Over)
}
