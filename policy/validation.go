package policy

import (
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy/check"
)

const (
	// fullWindow is the length of usage.Avg5m.
	fullWindow = 5 * time.Minute
	// shortReach is the longest a window may reach back and still show soon that a node has cooled down.
	shortReach = 10 * time.Minute
)

// Validate returns everything that is wrong with a complete LoadPolicy whose sources are of these kinds.
func Validate(p *LoadPolicy, kinds source.Kinds) field.ErrorList {
	return slices.Concat(
		validateUsage(p, kinds, field.NewPath("usage")),
		validateLines(p, field.NewPath("lines")),
		validatePools(p, field.NewPath("nodePools")),
		check.Between(field.NewPath("minGapPercent"), p.MinGapPercent, 1, 50),
		validateHot(&p.Hot, field.NewPath("hot")),
		validateScoring(&p.Scoring, field.NewPath("scoring")),
		validateEviction(&p.Eviction, field.NewPath("eviction")),
		validateNodeSync(&p.NodeSync, field.NewPath("nodesync")),
	)
}

func validateUsage(p *LoadPolicy, kinds source.Kinds, path *field.Path) field.ErrorList {
	u := &p.Usage
	return slices.Concat(
		validateSources(u, kinds, path.Child("sources")),
		validateMetrics(u, path.Child("metrics")),
		check.Duration(path.Child("sampleInterval"), u.SampleInterval, 5*time.Second, 5*time.Minute),
		check.Duration(path.Child("maxAge"), u.MaxAge, time.Second, time.Hour),
		u.longerThanSamples(path.Child("maxAge"), u.MaxAge),
		check.Percent(path.Child("minCoveragePercent"), u.MinCoveragePercent),
		check.Positive(path.Child("queriesPerSecond"), u.QueriesPerSecond, 1000),
		check.Duration(path.Child("timeout"), u.Timeout, 100*time.Millisecond, 5*time.Minute),
		validateObservation(p, path.Child("observationPeriod")),
	)
}

// validateObservation checks that a one-shot run can find a hot node: that it observes a long enough window and enough
// samples in a row.
func validateObservation(p *LoadPolicy, path *field.Path) field.ErrorList {
	period := p.Usage.ObservationPeriod
	errs := check.Duration(path, period, time.Second, time.Hour)
	if period.Duration < p.Hot.MinWindow.Duration {
		errs = append(errs, field.Invalid(path, period.Duration.String(),
			fmt.Sprintf("must be at least hot.minWindow (%s); otherwise a one-shot run never decides", p.Hot.MinWindow.Duration)))
	}
	// Compare by division: the product could overflow before its factors are known to be in range.
	interval := p.Usage.SampleInterval.Duration
	if interval > 0 && period.Duration/interval < time.Duration(p.Hot.ConsecutiveSamples) {
		errs = append(errs, field.Invalid(path, period.Duration.String(),
			fmt.Sprintf("must have room for hot.consecutiveSamples (%d) samples, one each sampleInterval (%s)",
				p.Hot.ConsecutiveSamples, interval)))
	}
	return errs
}

func validateHot(h *Hot, path *field.Path) field.ErrorList {
	return slices.Concat(
		validateHotWindows(h.Windows, path.Child("windows")),
		check.Between(path.Child("consecutiveSamples"), h.ConsecutiveSamples, 1, 100),
		check.Duration(path.Child("minWindow"), h.MinWindow, time.Second, fullWindow),
		check.Duration(path.Child("startup"), h.Startup, 0, time.Hour),
		validateRisingMemory(&h.RisingMemory, path.Child("risingMemory")),
	)
}

func validateRisingMemory(r *RisingMemory, path *field.Path) field.ErrorList {
	errs := slices.Concat(
		check.Positive(path.Child("fullPercent"), r.FullPercent, 100),
		check.Duration(path.Child("within"), r.Within, 10*time.Second, time.Hour),
	)
	if r.Window.Duration == 0 {
		return errs
	}
	return append(errs, check.Duration(path.Child("window"), r.Window, 30*time.Second, fullWindow)...)
}

// validateHotWindows checks that a node can cool down: long windows do not matter if at least one is short.
func validateHotWindows(windows []usage.Window, path *field.Path) field.ErrorList {
	errs := check.Windows(path, windows)
	if len(errs) > 0 {
		return errs
	}
	names := make([]string, len(windows))
	for i, w := range windows {
		if w.Kind != usage.KindMaxAvg && w.Over <= shortReach {
			return nil
		}
		names[i] = w.String()
	}
	return field.ErrorList{field.Invalid(path, names, fmt.Sprintf(
		"at least one must be last, or an average or percentile that reaches back at most %s; a node that has cooled down would stay hot for the length of the shortest", shortReach))}
}

func validateScoring(s *Scoring, path *field.Path) field.ErrorList {
	estimate := path.Child("estimate")
	return slices.Concat(
		validateWeights(s.Weights, path.Child("weights")),
		check.Positive(estimate.Child("cpuPercentOfRequest"), s.Estimate.CPUPercentOfRequest, 1000),
		check.Positive(estimate.Child("memoryPercentOfRequest"), s.Estimate.MemoryPercentOfRequest, 1000),
		check.NotNegative(estimate.Child("defaultCPU"), s.Estimate.DefaultCPU),
		check.NotNegative(estimate.Child("defaultMemory"), s.Estimate.DefaultMemory),
		ValidateHotValues(s.HotValue, path.Child("hotValue")),
		check.Between(path.Child("dampPercent"), s.DampPercent, 0, 50),
		validateMeasured(s.Measured, path.Child("measured")),
	)
}

func validateWeights(weights map[v1.ResourceName]int64, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	var sum int64
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		key := path.Key(string(name))
		errs = append(errs, check.OneOf(key, name, v1.ResourceCPU, v1.ResourceMemory)...)
		errs = append(errs, check.Between(key, weights[name], 0, 100)...)
		sum += max(0, min(weights[name], 100))
	}
	if sum == 0 && len(errs) == 0 {
		errs = append(errs, field.Required(path, "at least one of cpu and memory must have a weight above 0"))
	}
	return errs
}

// maxHotValues limits the number of hot-value terms, because each of them costs time in every score.
const maxHotValues = 10

// ValidateHotValues checks the terms of the hot value.
func ValidateHotValues(list []HotValue, path *field.Path) field.ErrorList {
	if len(list) > maxHotValues {
		return field.ErrorList{field.TooMany(path, len(list), maxHotValues)}
	}
	var errs field.ErrorList
	for i, term := range list {
		at := path.Index(i)
		errs = append(errs, check.Duration(at.Child("timeRange"), term.TimeRange, 10*time.Second, time.Hour)...)
		errs = append(errs, check.Between(at.Child("count"), term.Count, 1, 1000)...)
		if slices.ContainsFunc(list[:i], func(other HotValue) bool { return other.TimeRange == term.TimeRange }) {
			errs = append(errs, field.Duplicate(at.Child("timeRange"), term.TimeRange.Duration.String()))
		}
	}
	return errs
}
