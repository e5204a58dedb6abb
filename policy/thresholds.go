package policy

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/policy/check"
)

// Thresholds holds the changes that a strategy's arguments make to the lines. The names
// are those of upstream's LowNodeUtilization.
type Thresholds struct {
	// Deviation makes both thresholds distances from the mean usage of the nodes.
	Deviation bool
	// Low and Target replace the low and evict lines of the resources that they name.
	Low, Target api.ResourceThresholds
}

// Equal reports whether t and other change the lines in the same way.
func (t *Thresholds) Equal(other *Thresholds) bool {
	return t.Deviation == other.Deviation && maps.Equal(t.Low, other.Low) && maps.Equal(t.Target, other.Target)
}

// Overlay returns the lines by which nodes are judged: those of the LoadPolicy, overlaid
// with a strategy's thresholds. It does not change the lines of a node pool, because
// those were set for that pool.
//
// When the evict line moves, the leave line moves with it, and the reject line is lowered
// so that the gap between reject and evict stays. The reject line is never raised above
// that of the LoadPolicy, because the scheduling half applies the latter. With
// useDeviationThresholds, the metrics of the thresholds become deviations, and reject
// follows evict, because distances from different means cannot be compared.
func Overlay(load *LoadPolicy, strategy Strategy) (Lines, error) {
	of := strategy.Describe()
	t := of.Thresholds
	if t == nil {
		return load.Lines, nil
	}
	var errs field.ErrorList
	errs = append(errs, judged(t.Low, load.Lines, field.NewPath("thresholds"))...)
	errs = append(errs, judged(t.Target, load.Lines, field.NewPath("targetThresholds"))...)
	if len(errs) > 0 {
		return nil, namedErrors(of.Name, errs)
	}
	lines := Lines{}
	for name := range load.Lines {
		lines[name] = t.metricLines(name, load)
	}
	changed := *load
	changed.Lines = lines
	if errs := validateLines(&changed, field.NewPath("lines")); len(errs) > 0 {
		for i := range errs {
			errs[i] = t.causeOf(errs[i])
		}
		return nil, namedErrors(of.Name, errs)
	}
	return lines, nil
}

// causeOf attributes an error in a line to the threshold that causes it, because the
// policy need not contain that line.
func (t *Thresholds) causeOf(err *field.Error) *field.Error {
	for _, name := range []usage.Metric{usage.CPU, usage.Memory} {
		line, found := strings.CutPrefix(err.Field, field.NewPath("lines").Key(string(name)).String())
		if !found {
			continue
		}
		low, hasLow := t.Low[v1.ResourceName(name)]
		evict, hasEvict := t.Target[v1.ResourceName(name)]
		switch detail := "with it, " + err.Error(); {
		case hasLow && (line == ".low" || !hasEvict):
			return field.Invalid(field.NewPath("thresholds").Key(string(name)), float64(low), detail)
		case hasEvict:
			return field.Invalid(field.NewPath("targetThresholds").Key(string(name)), float64(evict), detail)
		}
	}
	return err
}

// judged reports thresholds for resources that have no lines in the LoadPolicy.
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

func (t *Thresholds) metricLines(name usage.Metric, load *LoadPolicy) MetricLines {
	lines := load.Lines[name].clone()
	low, hasLow := t.Low[v1.ResourceName(name)]
	evict, hasEvict := t.Target[v1.ResourceName(name)]
	if !hasLow && !hasEvict {
		return lines
	}
	switched := lines.Deviation != t.Deviation
	if switched {
		lines = plainLines(name, t.Deviation)
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
	if !lines.Deviation && *lines.Leave <= *lines.Low { // only if the level is not explicit: the evict line moved it
		*lines.Leave = min(*lines.Evict, (*lines.Low+*lines.Evict)/2)
	}
	return lines
}

// moveEvict moves the evict line of a complete set of lines. The leave line keeps its
// distance from the evict line. Distances from a mean are at least 0.
func (m *MetricLines) moveEvict(evict, minGapPercent float64) {
	*m.Leave += evict - *m.Evict
	*m.Evict = evict
	*m.Reject = min(*m.Reject, evict-minGapPercent)
	if m.Deviation {
		*m.Leave, *m.Reject = max(0, *m.Leave), max(0, *m.Reject)
	}
}
