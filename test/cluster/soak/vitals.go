package soak

import (
	"fmt"
	"slices"

	"github.com/evenkeel/evenkeel/hack/measure"
)

// Vitals holds a process's own figures at one moment.
type Vitals struct {
	RSSBytes   int64 `json:"rssBytes"`
	HeapBytes  int64 `json:"heapBytes"`
	Goroutines int64 `json:"goroutines"`
}

// ReadVitals reads vitals from a page in Prometheus' text format. Not every operating
// system reports a process's resident memory.
func ReadVitals(page string) (Vitals, error) {
	var v Vitals
	for _, figure := range []struct {
		name     string
		into     *int64
		optional bool
	}{
		{name: "process_resident_memory_bytes", into: &v.RSSBytes, optional: true},
		{name: "go_memstats_heap_inuse_bytes", into: &v.HeapBytes},
		{name: "go_goroutines", into: &v.Goroutines},
	} {
		value, found := measure.Metric(page, figure.name, "")
		if !found && !figure.optional {
			return Vitals{}, fmt.Errorf("reading metrics: no value of %s", figure.name)
		}
		if !(value >= 0 && value < 1<<60) {
			return Vitals{}, fmt.Errorf("reading metrics: %s is %v", figure.name, value)
		}
		*figure.into = int64(value)
	}
	return v, nil
}

// Trend describes how one figure of a process develops during a run.
type Trend struct {
	Start  int64 `json:"start"`
	Middle int64 `json:"middle"`
	End    int64 `json:"end"`
	Peak   int64 `json:"peak"`
	// SecondQuarter and LastQuarter are medians. The first quarter is ignored, because it
	// includes start-up.
	SecondQuarter int64 `json:"secondQuarter"`
	LastQuarter   int64 `json:"lastQuarter"`
	Verdict       Flat  `json:"verdict"`
}

// Flat states whether a figure has grown.
type Flat string

// The possible verdicts on a figure.
const (
	IsFlat Flat = "flat"
	Grew   Flat = "grew"
	// TooShort means that there are too few samples to decide.
	TooShort Flat = "too short"
)

const (
	// leastSamples is the minimum number of samples for a verdict: four in each quarter.
	leastSamples = 16
	// slackPercent is by how much a median may vary without counting as growth.
	slackPercent = 10
)

// NewTrend evaluates samples in time order. Growth of less than slack is ignored.
func NewTrend(samples []int64, slack int64) Trend {
	n := len(samples)
	if n == 0 {
		return Trend{Verdict: TooShort}
	}
	t := Trend{Start: samples[0], Middle: samples[n/2], End: samples[n-1], Peak: slices.Max(samples), Verdict: TooShort}
	if n < leastSamples {
		return t
	}
	t.SecondQuarter, t.LastQuarter = measure.Median(samples[n/4:n/2]), measure.Median(samples[n-n/4:])
	t.Verdict = IsFlat
	if by := t.LastQuarter - t.SecondQuarter; by > slack && by*100 > t.SecondQuarter*slackPercent {
		t.Verdict = Grew
	}
	return t
}

// Process summarizes one evenkeel process over a run.
type Process struct {
	Name       string `json:"name"`
	Restarts   int    `json:"restarts"`
	RSS        Trend  `json:"rssBytes"`
	Heap       Trend  `json:"heapBytes"`
	Goroutines Trend  `json:"goroutines"`
	// Errors counts the errors in the process's log. Messages holds the most frequent ones.
	Errors   int       `json:"errors"`
	Messages []Message `json:"messages,omitempty"`
}

const (
	slackBytes      = 8 << 20
	slackGoroutines = 10
)

// NewProcess summarizes a process from the samples of its vitals.
func NewProcess(name string, restarts int, samples []Vitals, log *LogErrors) Process {
	pick := func(of func(Vitals) int64) []int64 {
		values := make([]int64, len(samples))
		for i, v := range samples {
			values[i] = of(v)
		}
		return values
	}
	p := Process{Name: name, Restarts: restarts}
	p.RSS = NewTrend(pick(func(v Vitals) int64 { return v.RSSBytes }), slackBytes)
	p.Heap = NewTrend(pick(func(v Vitals) int64 { return v.HeapBytes }), slackBytes)
	p.Goroutines = NewTrend(pick(func(v Vitals) int64 { return v.Goroutines }), slackGoroutines)
	p.Errors, p.Messages = log.Total(), log.Most(5)
	return p
}
