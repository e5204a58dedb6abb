package policy

import (
	"fmt"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/policy/check"
)

// RelievesNone means that no move lowers a metric.
const RelievesNone usage.Metric = "none"

// validateMetrics checks the metrics that the policy adds.
func validateMetrics(u *Usage, path *field.Path) field.ErrorList {
	if len(u.Metrics) > maxMetrics {
		return field.ErrorList{field.TooMany(path, len(u.Metrics), maxMetrics)}
	}
	var errs field.ErrorList
	names := make([]usage.Metric, len(u.Metrics))
	for i, metric := range u.Metrics {
		at := path.Index(i)
		names[i] = metric.Name
		errs = append(errs, validateName(string(metric.Name), metricName, at.Child("name"))...)
		if slices.Contains(names[:i], metric.Name) {
			errs = append(errs, field.Duplicate(at.Child("name"), metric.Name))
		}
		errs = append(errs, check.OneOf(at.Child("relieves"), metric.Relieves, "", usage.CPU, usage.Memory, RelievesNone)...)
		errs = append(errs, validateMetric(u, metric, at)...)
	}
	return errs
}

func validateMetric(u *Usage, metric Metric, path *field.Path) field.ErrorList {
	switch {
	case hasMean(metric.Name) || metric.Name == MemoryAvailable:
		return field.ErrorList{field.Forbidden(path.Child("name"), fmt.Sprintf("%s is known already", metric.Name))}
	case metric.Name.OfTime() && metric.LowerIsWorse:
		return field.ErrorList{field.Forbidden(path.Child("lowerIsWorse"), "for a pressure, more is worse")}
	case !metric.Name.OfTime() && metricName.MatchString(string(metric.Name)) && !u.measures(metric.Name):
		return field.ErrorList{field.Required(path.Child("name"),
			fmt.Sprintf("no source measures it: a source Prometheus must have it in queries.nodes[%s]", metric.Name))}
	}
	return nil
}

// hasMean reports whether the mean of a metric over nodes of different size is meaningful.
func hasMean(name usage.Metric) bool { return name == usage.CPU || name == usage.Memory }

// maxMetrics limits the number of metrics that a policy adds.
const maxMetrics = 100

// knownMetrics returns the metrics that lines may use without listing them in usage.metrics.
func knownMetrics() []usage.Metric {
	return []usage.Metric{usage.CPU, usage.Memory, MemoryAvailable, usage.CPUPressure, usage.MemoryPressure, usage.IOPressure, usage.CPUContention}
}

var metricName = regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$`)

func validateName(name string, pattern *regexp.Regexp, path *field.Path) field.ErrorList {
	if pattern.MatchString(name) {
		return nil
	}
	letters := "letters"
	if pattern == metricName {
		letters = "small letters"
	}
	return field.ErrorList{field.Invalid(path, name,
		fmt.Sprintf("must be 1 to 63 %s, digits, and between them '-', '_' or '.'", letters))}
}
