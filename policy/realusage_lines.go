package policy

import (
	"fmt"
	"math"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/descheduler/pkg/api"
)

// Lines returns the lines the plugin judges nodes by: those of the LoadPolicy,
// with the arguments laid over. meanPercent is the mean usage of the nodes, in
// percent of allocatable; it is read only with useDeviationThresholds, and then
// every resource named by a threshold needs one.
//
// A moved evict line takes the leave line along and pushes the reject line down
// where minGapPercent asks for it; nothing ever raises the reject line above the
// LoadPolicy's, because the scheduling side goes by that one.
func (a *RealUsageLowNodeUtilizationArgs) Lines(load *LoadPolicy, meanPercent map[v1.ResourceName]float64) (Lines, error) {
	var errs field.ErrorList
	errs = append(errs, judged(a.Thresholds, load.Lines, field.NewPath("thresholds"))...)
	errs = append(errs, judged(a.TargetThresholds, load.Lines, field.NewPath("targetThresholds"))...)
	if len(errs) > 0 {
		return nil, prefixed(errs)
	}
	lines := make(Lines, len(load.Lines))
	for _, name := range load.Lines.Resources() {
		resolved, err := a.resourceLines(name, load, meanPercent)
		if err != nil {
			return nil, err
		}
		lines[name] = resolved
		errs = append(errs, validateResourceLines(resolved, load.MinGapPercent, field.NewPath("lines").Key(string(name)))...)
	}
	if len(errs) > 0 {
		return nil, prefixed(errs)
	}
	return lines, nil
}

// judged reports thresholds for resources that the LoadPolicy has no lines for.
func judged(thresholds api.ResourceThresholds, lines Lines, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range sortedKeys(thresholds) {
		if _, ok := lines[name]; !ok {
			errs = append(errs, field.NotSupported(path.Key(string(name)), name, lines.Resources()))
		}
	}
	return errs
}

func (a *RealUsageLowNodeUtilizationArgs) resourceLines(name v1.ResourceName, load *LoadPolicy, meanPercent map[v1.ResourceName]float64) (ResourceLines, error) {
	lines := load.Lines[name]
	threshold, hasLow := a.Thresholds[name]
	target, hasEvict := a.TargetThresholds[name]
	if !hasLow && !hasEvict {
		return lines, nil
	}
	low, evict := float64(threshold), float64(target)
	if a.UseDeviationThresholds {
		mean, known := meanPercent[name]
		if !known || math.IsNaN(mean) {
			return ResourceLines{}, fmt.Errorf("%s: resolving deviation thresholds: no mean usage of %s", RealUsageLowNodeUtilizationName, name)
		}
		// A mean near 0 or 100 is no mistake of the user, so it must not end as
		// lines out of order. At the lower end the evict line is held up: nodes
		// that use next to nothing are not hot.
		low, evict = mean-low, max(2*load.MinGapPercent, min(mean+evict, 100))
	}
	if hasEvict {
		lines = lines.withEvict(evict, load.MinGapPercent)
	}
	if hasLow {
		lines.Low = low
	}
	if a.UseDeviationThresholds {
		lines.Low = max(0, min(lines.Low, lines.Reject-load.MinGapPercent))
	}
	if lines.Leave <= lines.Low { // nobody set it there: the evict line took it along
		lines.Leave = min(lines.Evict, (lines.Low+lines.Evict)/2)
	}
	return lines, nil
}

// withEvict moves the evict line; the leave line keeps its distance to it.
func (l ResourceLines) withEvict(evict, minGapPercent float64) ResourceLines {
	l.Leave += evict - l.Evict
	l.Evict = evict
	l.Reject = min(l.Reject, evict-minGapPercent)
	return l
}
