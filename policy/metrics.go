package policy

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/policy/check"
	"github.com/evenkeel/evenkeel/usage"
)

// Metric is a metric of nodes that Evenkeel does not know by itself.
type Metric struct {
	// Name is how queries and lines call it: 1 to 63 small letters, digits, and
	// between them '-', '_' or '.'. A pressure may be listed to say what
	// relieves it; cpu, memory and memory.available may not. Required.
	Name usage.Metric `json:"name"`
	// LowerIsWorse reverses the order of its levels: a node below the evict line
	// is hot.
	LowerIsWorse bool `json:"lowerIsWorse"`
	// Relieves says which usage a move has to take off a node to relieve it: cpu
	// or memory; with none, a node that is hot by it is marked by nodesync and
	// keeps its pods. May be left out for a metric without an evict line.
	Relieves usage.Metric `json:"relieves"`
}

// RelievesNone says of a metric that no move helps.
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
	case isPressure(metric.Name) && metric.LowerIsWorse:
		return field.ErrorList{field.Forbidden(path.Child("lowerIsWorse"), "of a pressure more is worse")}
	case !isPressure(metric.Name) && metricName.MatchString(string(metric.Name)) && !u.measures(metric.Name):
		return field.ErrorList{field.Required(path.Child("name"),
			fmt.Sprintf("no source measures it: a source Prometheus must have it in queries.nodes[%s]", metric.Name))}
	}
	return nil
}
