package policy

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/policy/check"
)

// maxPools limits the number of pools to far more than anyone needs.
const maxPools = 100

func validateLines(p *LoadPolicy, path *field.Path) field.ErrorList {
	if !p.JudgesResources() && !p.onlyMarks() {
		errs := field.ErrorList{field.Required(path, "at least one of cpu and memory must have lines, unless every metric with lines has relieves: none")}
		return append(errs, validateLinesExcept(nil, p, p.Lines, path)...)
	}
	return validateLinesExcept(nil, p, p.Lines, path)
}

// onlyMarks reports whether the policy has lines, but none by which a node could lose a pod.
func (p *LoadPolicy) onlyMarks() bool {
	if len(p.Lines) == 0 {
		return false
	}
	relieved := func(lines Lines) bool {
		return slices.ContainsFunc(slices.Collect(maps.Keys(lines)), func(name usage.Metric) bool { return p.Usage.Relieves(name) != RelievesNone })
	}
	return !relieved(p.Lines) && !slices.ContainsFunc(p.NodePools, func(pool NodePool) bool { return relieved(pool.Lines) })
}

func validatePools(p *LoadPolicy, path *field.Path) field.ErrorList {
	if len(p.NodePools) > maxPools {
		return field.ErrorList{field.TooMany(path, len(p.NodePools), maxPools)}
	}
	var errs field.ErrorList
	broken := brokenMetrics(p)
	names := make([]string, len(p.NodePools))
	for i := range p.NodePools {
		pool, at := &p.NodePools[i], path.Index(i)
		names[i] = pool.Name
		errs = append(errs, validateName(pool.Name, poolName, at.Child("name"))...)
		if slices.Contains(names[:i], pool.Name) {
			errs = append(errs, field.Duplicate(at.Child("name"), pool.Name))
		}
		errs = append(errs, validateSelector(pool, at.Child("selector"))...)
		for _, name := range p.Lines.Metrics() {
			if _, there := pool.Lines[name]; !there {
				errs = append(errs, field.Required(at.Child("lines").Key(string(name)), "every pool judges the metrics that the policy judges"))
			}
		}
		errs = append(errs, validateLinesExcept(broken, p, pool.Lines, at.Child("lines"))...)
	}
	return errs
}

func validateSelector(pool *NodePool, path *field.Path) field.ErrorList {
	if len(pool.Selector.MatchLabels)+len(pool.Selector.MatchExpressions) == 0 {
		return field.ErrorList{field.Required(path, "an empty selector matches every node; put the lines for all nodes under lines")}
	}
	return metav1validation.ValidateLabelSelector(&pool.Selector, metav1validation.LabelSelectorValidationOptions{}, path)
}

// brokenMetrics returns the metrics whose lines are already wrong in the policy. Every pool that inherits them would
// only repeat the mistake.
func brokenMetrics(p *LoadPolicy) []usage.Metric {
	var broken []usage.Metric
	for name, lines := range p.Lines {
		if len(validateMetricLines(p, name, lines, nil)) > 0 {
			broken = append(broken, name)
		}
	}
	return broken
}

func validateLinesExcept(broken []usage.Metric, p *LoadPolicy, lines Lines, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range lines.Metrics() {
		if !slices.Contains(broken, name) {
			errs = append(errs, validateMetricLines(p, name, lines[name], path.Key(string(name)))...)
		}
	}
	return errs
}

func validateMetricLines(p *LoadPolicy, name usage.Metric, lines MetricLines, path *field.Path) field.ErrorList {
	if errs := judgeable(p, name, path); len(errs) > 0 {
		return errs
	}
	if lines.Deviation && !hasMean(name) {
		return field.ErrorList{field.Forbidden(path.Child("deviation"), "only cpu and memory can be compared with a mean")}
	}
	r := ruler{
		percent:   slices.Contains(knownMetrics(), name),
		reversed:  p.Usage.LowerIsWorse(name),
		deviation: lines.Deviation,
		gap:       p.MinGapPercent,
	}
	errs := r.all(lines, path)
	if len(errs) > 0 {
		return errs
	}
	errs = append(errs, complete(name, lines, path)...)
	if lines.hasEvict() && p.Usage.Relieves(name) == "" {
		errs = append(errs, field.Forbidden(path.Child("evict"),
			fmt.Sprintf("evicting needs to know what helps: list %s in usage.metrics and say whether it relieves cpu, memory or none", name)))
	}
	return errs
}

// judgeable returns an error if a metric is unknown or no source measures it.
func judgeable(p *LoadPolicy, name usage.Metric, path *field.Path) field.ErrorList {
	_, listed := p.Usage.metric(name)
	switch known := knownMetrics(); {
	case !listed && !slices.Contains(known, name):
		for _, metric := range p.Usage.Metrics {
			known = append(known, metric.Name)
		}
		return check.OneOf(path, name, known...)
	case name.OfTime() && !p.Usage.measures(name):
		return field.ErrorList{field.Forbidden(path, "no source measures it: add a Prometheus source with nodeMetrics NodeExporter"+
			" or a query for it, or a Kubelet source with endpoint Summary")}
	}
	return nil
}

// complete reports missing levels, which only code can leave out, and lines without any level.
func complete(name usage.Metric, lines MetricLines, path *field.Path) field.ErrorList {
	switch {
	case hasMean(name) && (lines.Low == nil || lines.Reject == nil || lines.Evict == nil || lines.Leave == nil):
		return field.ErrorList{field.Required(path, "low, reject, evict and leave must all be set")}
	case lines.any(func(l Levels) bool { return l != Levels{} }):
		return nil
	}
	return field.ErrorList{field.Required(path, "at least one of low, reject, evict and leave must be set")}
}

// poolName matches the names of pools.
var poolName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`)
