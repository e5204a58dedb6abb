package policy

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// fullWindow is the span of WindowAvg5m.
const fullWindow = 5 * time.Minute

// Validate returns everything that is wrong with a complete LoadPolicy.
func Validate(p *LoadPolicy) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, validateUsage(p, field.NewPath("usage"))...)
	errs = append(errs, validateLines(p, field.NewPath("lines"))...)
	errs = append(errs, between(field.NewPath("minGapPercent"), p.MinGapPercent, 1, 50)...)
	errs = append(errs, validateHot(&p.Hot, field.NewPath("hot"))...)
	errs = append(errs, validateScoring(&p.Scoring, field.NewPath("scoring"))...)
	errs = append(errs, validateEviction(&p.Eviction, field.NewPath("eviction"))...)
	return errs
}

func validateUsage(p *LoadPolicy, path *field.Path) field.ErrorList {
	u := &p.Usage
	types := make([]SourceType, len(u.Sources))
	for i, source := range u.Sources {
		types[i] = source.Type
	}
	var errs field.ErrorList
	errs = append(errs, chosen(path.Child("sources"), types, func(list *field.Path, i int) *field.Path {
		return list.Index(i).Child("type")
	}, SourceMetricsServer)...)
	errs = append(errs, durationBetween(path.Child("sampleInterval"), u.SampleInterval, 5*time.Second, 5*time.Minute)...)
	errs = append(errs, durationBetween(path.Child("maxAge"), u.MaxAge, time.Second, time.Hour)...)
	if u.MaxAge.Duration <= u.SampleInterval.Duration {
		errs = append(errs, field.Invalid(path.Child("maxAge"), u.MaxAge.Duration.String(),
			fmt.Sprintf("must be longer than sampleInterval (%s), or every node is unknown between two samples", u.SampleInterval.Duration)))
	}
	errs = append(errs, percent(path.Child("minCoveragePercent"), u.MinCoveragePercent)...)
	errs = append(errs, positive(path.Child("queriesPerSecond"), u.QueriesPerSecond, 1000)...)
	errs = append(errs, durationBetween(path.Child("timeout"), u.Timeout, 100*time.Millisecond, 5*time.Minute)...)
	errs = append(errs, validateObservation(p, path.Child("observationPeriod"))...)
	return errs
}

// validateObservation makes sure that a one-shot run can see what it needs to
// call a node hot: a window long enough to count, and samples enough in a row.
func validateObservation(p *LoadPolicy, path *field.Path) field.ErrorList {
	period := p.Usage.ObservationPeriod
	errs := durationBetween(path, period, time.Second, time.Hour)
	if period.Duration < p.Hot.MinWindow.Duration {
		errs = append(errs, field.Invalid(path, period.Duration.String(),
			fmt.Sprintf("must be at least hot.minWindow (%s), or a one-shot run never decides", p.Hot.MinWindow.Duration)))
	}
	// Compared as a division: the product could overflow before its factors
	// have been found out of range.
	interval := p.Usage.SampleInterval.Duration
	if interval > 0 && period.Duration/interval < time.Duration(p.Hot.ConsecutiveSamples) {
		errs = append(errs, field.Invalid(path, period.Duration.String(),
			fmt.Sprintf("must have room for hot.consecutiveSamples (%d) samples, one each sampleInterval (%s)",
				p.Hot.ConsecutiveSamples, interval)))
	}
	return errs
}

func validateLines(p *LoadPolicy, path *field.Path) field.ErrorList {
	if len(p.Lines) == 0 {
		return field.ErrorList{field.Required(path, "at least one of cpu and memory must have lines")}
	}
	var errs field.ErrorList
	for _, name := range p.Lines.Resources() {
		key := path.Key(string(name))
		if unknown := knownResource(key, name); len(unknown) > 0 {
			errs = append(errs, unknown...)
			continue
		}
		errs = append(errs, validateResourceLines(p.Lines[name], p.MinGapPercent, key)...)
	}
	return errs
}

func validateResourceLines(l ResourceLines, minGapPercent float64, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, percent(path.Child("low"), l.Low)...)
	errs = append(errs, percent(path.Child("reject"), l.Reject)...)
	errs = append(errs, percent(path.Child("evict"), l.Evict)...)
	errs = append(errs, percent(path.Child("leave"), l.Leave)...)
	if len(errs) > 0 {
		return errs // comparing them would only repeat it
	}
	if l.Low >= l.Reject {
		errs = append(errs, field.Invalid(path.Child("low"), l.Low,
			fmt.Sprintf("must be below the reject line (%v)", l.Reject)))
	}
	if l.Reject+minGapPercent > l.Evict {
		errs = append(errs, field.Invalid(path.Child("reject"), l.Reject,
			fmt.Sprintf("must be at least minGapPercent (%v) below the evict line (%v)", minGapPercent, l.Evict)))
	}
	if l.Leave > l.Evict || l.Low < l.Reject && l.Leave <= l.Low {
		errs = append(errs, field.Invalid(path.Child("leave"), l.Leave,
			fmt.Sprintf("must be above the low line (%v) and not above the evict line (%v)", l.Low, l.Evict)))
	}
	return errs
}

func validateHot(h *Hot, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, chosen(path.Child("windows"), h.Windows, (*field.Path).Index, WindowLast, WindowAvg5m)...)
	errs = append(errs, between(path.Child("consecutiveSamples"), h.ConsecutiveSamples, 1, 100)...)
	errs = append(errs, durationBetween(path.Child("minWindow"), h.MinWindow, time.Second, fullWindow)...)
	return errs
}

func validateScoring(s *Scoring, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, validateWeights(s.Weights, path.Child("weights"))...)
	estimate := path.Child("estimate")
	errs = append(errs, positive(estimate.Child("cpuPercentOfRequest"), s.Estimate.CPUPercentOfRequest, 1000)...)
	errs = append(errs, positive(estimate.Child("memoryPercentOfRequest"), s.Estimate.MemoryPercentOfRequest, 1000)...)
	errs = append(errs, notNegative(estimate.Child("defaultCPU"), s.Estimate.DefaultCPU)...)
	errs = append(errs, notNegative(estimate.Child("defaultMemory"), s.Estimate.DefaultMemory)...)
	errs = append(errs, between(path.Child("dampPercent"), s.DampPercent, 0, 50)...)
	return errs
}

func validateWeights(weights map[v1.ResourceName]int64, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	var sum int64
	for _, name := range sortedKeys(weights) {
		key := path.Key(string(name))
		errs = append(errs, knownResource(key, name)...)
		errs = append(errs, between(key, weights[name], 0, 100)...)
		sum += max(0, min(weights[name], 100))
	}
	if sum == 0 && len(errs) == 0 {
		errs = append(errs, field.Required(path, "at least one of cpu and memory must have a weight above 0"))
	}
	return errs
}

func validateEviction(e *Eviction, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, oneOf(path.Child("steering"), e.Steering, SteeringRequired, SteeringNone)...)
	errs = append(errs, durationBetween(path.Child("cycleDeadline"), e.CycleDeadline, 10*time.Second, 24*time.Hour)...)
	errs = append(errs, durationBetween(path.Child("interval"), e.Interval, 0, 10*time.Minute)...)
	if e.Interval.Duration >= e.CycleDeadline.Duration {
		errs = append(errs, field.Invalid(path.Child("interval"), e.Interval.Duration.String(),
			fmt.Sprintf("must be shorter than cycleDeadline (%s)", e.CycleDeadline.Duration)))
	}
	errs = append(errs, between(path.Child("maxMovesPerCycle"), e.MaxMovesPerCycle, 1, 500)...)
	errs = append(errs, percent(path.Child("maxInFlightPercentOfOwner"), e.MaxInFlightPercentOfOwner)...)
	errs = append(errs, durationBetween(path.Child("moveTTL"), e.MoveTTL, 10*time.Second, time.Hour)...)
	errs = append(errs, durationBetween(path.Child("sourceAvoidance"), e.SourceAvoidance, 0, 24*time.Hour)...)
	errs = append(errs, durationBetween(path.Child("ownerSettle"), e.OwnerSettle, 0, 24*time.Hour)...)
	errs = append(errs, names(path.Child("schedulerNames"), e.SchedulerNames)...)
	return errs
}
