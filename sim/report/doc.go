// Package report shows the results of a replay: as a table for a terminal, as CSV and
// JSON for programs, and as a page with plots that opens from disk.
//
// The package determines which variant is the best, and how much of a large replay fits
// into a plot. Package sim defines what is measured, and how.
//
// Invariants: the same results lead to the same bytes; a page loads nothing else and
// stays below 3 MB with 5,000 nodes and 288 steps; every figure in a plot is also
// available as text.
package report

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/sim"
)

// The variants that do not compete: the baseline for all others, and a bound that none of
// them reaches.
const (
	Baseline = "none"
	Bound    = "oracle"
)

// Heading describes the replay.
type Heading struct {
	Version string `json:"version"`
	Trace   string `json:"trace"`
	// MemoryTrace is empty if memory was not replayed.
	MemoryTrace string `json:"memoryTrace,omitempty"`
	Pods        int    `json:"pods"`
	Nodes       int    `json:"nodes"`
	// Steps is the number of steps played, WarmUpSteps the number of them that were not
	// scored.
	Steps       int `json:"steps"`
	WarmUpSteps int `json:"warmUpSteps"`
	// Policies holds the file names in the order given.
	Policies       []string `json:"policies,omitempty"`
	Seed           uint64   `json:"seed"`
	HotLinePercent float64  `json:"hotLinePercent"`
	LagSeconds     float64  `json:"lagSeconds"`
	GapSeconds     float64  `json:"gapSeconds"`
	// MeasureServed reports whether pods on a full node were measured by the CPU that
	// they got.
	MeasureServed bool `json:"measureServed,omitempty"`
	// HiddenPodsPercent, LostSamplesPercent and PodsMeasuredSeconds describe what Evenkeel's
	// source missed, as in sim.Blind. They are 0 if it missed nothing.
	HiddenPodsPercent   float64 `json:"hiddenPodsPercent,omitempty"`
	LostSamplesPercent  float64 `json:"lostSamplesPercent,omitempty"`
	PodsMeasuredSeconds float64 `json:"podsMeasuredSeconds,omitempty"`
	// CycleSeconds is the time between two evicting cycles.
	CycleSeconds float64 `json:"cycleSeconds"`
}

func seconds(s float64) string { return time.Duration(s * float64(time.Second)).String() }

// Row is a result and its comparison with the others.
type Row struct {
	sim.Result

	// HotMinutesPerEviction is the number of hot minutes of nodes that each eviction saved,
	// compared with the baseline; nil without a baseline or without evictions.
	HotMinutesPerEviction *float64 `json:"hotMinutesPerEviction"`
}

const minutesPerStep = float64(sim.Step / time.Minute)

// rows derives the values that need more than one result.
func rows(results []sim.Result) ([]Row, error) {
	if err := check(results); err != nil {
		return nil, err
	}
	base := find(results, Baseline)
	made := make([]Row, len(results))
	for i := range results {
		made[i].Result = results[i]
		r := &made[i].Result
		if base == nil || r.Variant == Baseline || r.Evictions == 0 {
			continue
		}
		minutes := (base.HotPercent - r.HotPercent) / 100 * float64(r.Nodes*r.Steps) * minutesPerStep
		made[i].HotMinutesPerEviction = new(minutes / float64(r.Evictions))
	}
	return made, nil
}

func find(results []sim.Result, variant string) *sim.Result {
	for i := range results {
		if results[i].Variant == variant {
			return &results[i]
		}
	}
	return nil
}

// check rejects results that cannot be shown. A run never returns such results.
func check(results []sim.Result) error {
	if len(results) == 0 {
		return errors.New("there are no results to show")
	}
	for i := range results {
		if err := checkOne(&results[i]); err != nil {
			return fmt.Errorf("variant %q: %w", results[i].Variant, err)
		}
	}
	return nil
}

func checkOne(r *sim.Result) error {
	if r.Steps < 0 || len(r.Usage) > 0 && len(r.Usage) < r.Steps {
		return fmt.Errorf("%d steps were scored of %d that were kept", r.Steps, len(r.Usage))
	}
	for field, value := range reflect.ValueOf(*r).Fields() {
		if value.Kind() != reflect.Float64 {
			continue
		}
		if v := value.Float(); math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%s is %v", jsonName(field), v)
		}
	}
	for step, row := range r.Usage {
		if len(row) != r.Nodes {
			return fmt.Errorf("usage of %d nodes in step %d, of %d in all", len(row), step, r.Nodes)
		}
		for node, v := range row {
			if !(v >= 0) || math.IsInf(v, 0) {
				return fmt.Errorf("usage of node %d in step %d is %v", node, step, v)
			}
		}
	}
	return nil
}

func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}
