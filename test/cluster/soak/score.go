package soak

import (
	"math"
	"time"
)

// Lines holds the evict lines, in percent of a node.
type Lines struct {
	CPUPercent    float64 `json:"cpuPercent"`
	MemoryPercent float64 `json:"memoryPercent"`
}

// over reports whether usage is above the line of either resource.
func (l Lines) over(cpuPercent, memoryPercent float64) bool {
	return cpuPercent > l.CPUPercent || memoryPercent > l.MemoryPercent
}

// Hot reports whether a node of the given size with the given usage is above a line.
func (l Lines) Hot(used, node Amounts) bool {
	return l.over(percent(used.CPUMilli, node.CPUMilli), percent(used.MemoryBytes, node.MemoryBytes))
}

func percent(part, whole int64) float64 { return 100 * float64(part) / float64(whole) }

// sustainedWindow equals the window in the shipped policy. A node that is hot for less
// than about half of it need not be cooled.
const sustainedWindow = 5 * time.Minute

// Now is the state of the nodes at one moment.
type Now struct {
	// HotNodes is the number of nodes above a line at this moment, SustainedNodes that of
	// nodes above a line by their means over the last five minutes.
	HotNodes       int `json:"hotNodes"`
	SustainedNodes int `json:"sustainedNodes"`
	// MeanPercent, DeviationPercent and PeakPercent refer to the CPU usage of all nodes, in
	// percentage points of a node.
	MeanPercent      float64 `json:"meanPercent"`
	DeviationPercent float64 `json:"deviationPercent"`
	PeakPercent      float64 `json:"peakPercent"`
	// MemoryDeviationPercent is the same for memory.
	MemoryDeviationPercent float64 `json:"memoryDeviationPercent"`
}

// Totals describes the nodes over the whole run.
type Totals struct {
	NodeMinutes          float64 `json:"nodeMinutes"`
	HotNodeMinutes       float64 `json:"hotNodeMinutes"`
	SustainedNodeMinutes float64 `json:"sustainedHotNodeMinutes"`
	// MeanPercent, DeviationPercent and MemoryDeviationPercent are means over
	// time.
	MeanPercent            float64 `json:"meanPercent"`
	DeviationPercent       float64 `json:"deviationPercent"`
	MemoryDeviationPercent float64 `json:"memoryDeviationPercent"`
	PeakPercent            float64 `json:"peakPercent"`
	// LongestGapSeconds is the longest time between two samples. If it is much longer than
	// their interval, the machine has stalled.
	LongestGapSeconds float64 `json:"longestGapSeconds"`
}

// ScoreConfig configures a Score.
type ScoreConfig struct {
	Nodes []string
	Node  Amounts
	Lines Lines
	// Every is the interval between samples.
	Every time.Duration
}

// Score accumulates samples of the nodes' true usage.
type Score struct {
	config ScoreConfig
	// recent holds the samples in the sustained window, oldest first.
	recent [][]load
	last   time.Time
	totals Totals
	// minutes is the total weight of the means in totals.
	minutes float64
}

type load struct{ cpuPercent, memoryPercent float64 }

// NewScore returns a score without samples.
func NewScore(config ScoreConfig) *Score { return &Score{config: config} }

// Sample adds the current usage of the nodes. A missing node uses nothing. The first
// sample only starts the clock.
func (s *Score) Sample(usage map[string]Amounts, at time.Time) Now {
	loads := make([]load, len(s.config.Nodes))
	for i, name := range s.config.Nodes {
		used := usage[name]
		loads[i] = load{percent(used.CPUMilli, s.config.Node.CPUMilli), percent(used.MemoryBytes, s.config.Node.MemoryBytes)}
	}
	s.recent = append(s.recent, loads)
	if keep := max(1, int(sustainedWindow/s.config.Every)); len(s.recent) > keep {
		s.recent = append(s.recent[:0], s.recent[len(s.recent)-keep:]...)
	}
	now := s.describe(loads)
	if !s.last.IsZero() {
		s.add(now, at.Sub(s.last).Minutes())
	}
	s.last = at
	return now
}

func (s *Score) describe(loads []load) Now {
	var now Now
	var cpu, memory spread
	for i, l := range loads {
		cpu.add(l.cpuPercent)
		memory.add(l.memoryPercent)
		now.PeakPercent = max(now.PeakPercent, l.cpuPercent)
		if s.config.Lines.over(l.cpuPercent, l.memoryPercent) {
			now.HotNodes++
		}
		if mean := s.meanOf(i); s.config.Lines.over(mean.cpuPercent, mean.memoryPercent) {
			now.SustainedNodes++
		}
	}
	now.MeanPercent, now.DeviationPercent, now.MemoryDeviationPercent = cpu.mean(), cpu.deviation(), memory.deviation()
	return now
}

func (s *Score) meanOf(node int) load {
	var mean load
	for _, loads := range s.recent {
		mean.cpuPercent += loads[node].cpuPercent / float64(len(s.recent))
		mean.memoryPercent += loads[node].memoryPercent / float64(len(s.recent))
	}
	return mean
}

func (s *Score) add(now Now, minutes float64) {
	if minutes <= 0 {
		return
	}
	t := &s.totals
	t.NodeMinutes += minutes * float64(len(s.config.Nodes))
	t.HotNodeMinutes += minutes * float64(now.HotNodes)
	t.SustainedNodeMinutes += minutes * float64(now.SustainedNodes)
	t.PeakPercent = max(t.PeakPercent, now.PeakPercent)
	t.LongestGapSeconds = max(t.LongestGapSeconds, minutes*60)
	s.minutes += minutes
	for mean, value := range map[*float64]float64{
		&t.MeanPercent: now.MeanPercent, &t.DeviationPercent: now.DeviationPercent, &t.MemoryDeviationPercent: now.MemoryDeviationPercent,
	} {
		*mean += (value - *mean) * minutes / s.minutes
	}
}

// Totals returns the sums so far.
func (s *Score) Totals() Totals { return s.totals }

// spread is a running mean and deviation, computed with Welford's recurrence.
type spread struct{ n, average, squares float64 }

func (s *spread) add(value float64) {
	s.n++
	off := value - s.average
	s.average += off / s.n
	s.squares += off * (value - s.average)
}

func (s *spread) mean() float64 { return s.average }

func (s *spread) deviation() float64 {
	if s.n == 0 {
		return 0
	}
	return math.Sqrt(s.squares / s.n)
}
