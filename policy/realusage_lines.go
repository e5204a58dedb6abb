package policy

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/policy/check"
	"github.com/evenkeel/evenkeel/usage"
)

// Overlay returns the lines the plugin judges nodes by: those of the
// LoadPolicy, with the arguments laid over. It does not change node pools:
// lines of a pool were set for that pool.
//
// An evict line that moves takes the leave line along and lowers the reject
// line as minGapPercent requires. Nothing ever raises the reject line above the
// LoadPolicy's, because the scheduling side applies that one. With
// useDeviationThresholds the metrics that thresholds name become deviations,
// and reject follows evict: distances from different means do not compare.
func (a *RealUsageLowNodeUtilizationArgs) Overlay(load *LoadPolicy) (Lines, error) {
	var errs field.ErrorList
	errs = append(errs, judged(a.Thresholds, load.Lines, field.NewPath("thresholds"))...)
	errs = append(errs, judged(a.TargetThresholds, load.Lines, field.NewPath("targetThresholds"))...)
	if len(errs) > 0 {
		return nil, prefixed(errs)
	}
	lines := Lines{}
	for name := range load.Lines {
		lines[name] = a.metricLines(name, load)
	}
	changed := *load
	changed.Lines = lines
	if errs := validateLines(&changed, field.NewPath("lines")); len(errs) > 0 {
		return nil, prefixed(errs)
	}
	return lines, nil
}

// judged reports thresholds for resources that the LoadPolicy has no lines for.
func judged(thresholds api.ResourceThresholds, lines Lines, path *field.Path) field.ErrorList {
	var allowed []usage.Metric
	for _, name := range lines.Metrics() {
		if hasMean(name) {
			allowed = append(allowed, name)
		}
	}
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(thresholds)) {
		errs = append(errs, check.OneOf(path.Key(string(name)), usage.Metric(name), allowed...)...)
	}
	return errs
}

func (a *RealUsageLowNodeUtilizationArgs) metricLines(name usage.Metric, load *LoadPolicy) MetricLines {
	lines := load.Lines[name].clone()
	low, hasLow := a.Thresholds[v1.ResourceName(name)]
	evict, hasEvict := a.TargetThresholds[v1.ResourceName(name)]
	if !hasLow && !hasEvict {
		return lines
	}
	switched := lines.Deviation != a.UseDeviationThresholds
	if switched {
		lines = plainLines(name, a.UseDeviationThresholds)
	}
	if hasEvict {
		lines.moveEvict(float64(evict), load.MinGapPercent)
	}
	if hasLow {
		*lines.Low = float64(low)
	}
	if switched && lines.Deviation {
		*lines.Reject = max(0, *lines.Evict-load.MinGapPercent)
	}
	if !lines.Deviation && *lines.Leave <= *lines.Low { // not an explicit value: the evict line took it along
		*lines.Leave = min(*lines.Evict, (*lines.Low+*lines.Evict)/2)
	}
	return lines
}

// moveEvict moves the evict line of complete lines; the leave line keeps its
// distance from it. Distances from a mean are at least 0.
func (m *MetricLines) moveEvict(evict, minGapPercent float64) {
	*m.Leave += evict - *m.Evict
	*m.Evict = evict
	*m.Reject = min(*m.Reject, evict-minGapPercent)
	if m.Deviation {
		*m.Leave, *m.Reject = max(0, *m.Leave), max(0, *m.Reject)
	}
}
