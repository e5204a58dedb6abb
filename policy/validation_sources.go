package policy

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/policy/check"
	"github.com/evenkeel/evenkeel/usage"
)

func sourceTypes() []SourceType {
	return []SourceType{SourcePrometheus, SourceKubelet, SourceNodeMetrics, SourceAnnotations, SourceMetricsServer}
}

func validateSources(u *Usage, path *field.Path) field.ErrorList {
	if len(u.Sources) == 0 {
		return field.ErrorList{field.Required(path, fmt.Sprintf("must name at least one of %q", sourceTypes()))}
	}
	var errs field.ErrorList
	types := make([]SourceType, len(u.Sources))
	for i := range u.Sources {
		source, at := &u.Sources[i], path.Index(i)
		types[i] = source.Type
		if unknown := check.OneOf(at.Child("type"), source.Type, sourceTypes()...); len(unknown) > 0 {
			errs = append(errs, unknown...)
			continue
		}
		if slices.Contains(types[:i], source.Type) {
			errs = append(errs, field.Duplicate(at.Child("type"), source.Type))
		}
		errs = append(errs, validateSource(u, source, at)...)
	}
	return errs
}

func validateSource(u *Usage, s *Source, path *field.Path) field.ErrorList {
	errs := validateSourceTimes(u, s, path)
	for _, block := range []struct {
		of       SourceType
		name     string
		given    bool
		validate func(*field.Path) field.ErrorList
	}{
		{SourcePrometheus, "prometheus", s.Prometheus != nil, func(at *field.Path) field.ErrorList {
			return validatePrometheus(u, s.Prometheus, at)
		}},
		{SourceKubelet, "kubelet", s.Kubelet != nil, func(at *field.Path) field.ErrorList {
			return validateKubelet(s.Kubelet, at)
		}},
		{SourceNodeMetrics, "nodeMetrics", s.NodeMetrics != nil, func(at *field.Path) field.ErrorList {
			return validateNodeMetrics(s.NodeMetrics, at)
		}},
		{SourceAnnotations, "annotations", s.Annotations != nil, func(at *field.Path) field.ErrorList {
			return validateAnnotations(s.Annotations, at)
		}},
	} {
		at := path.Child(block.name)
		switch {
		case block.of == s.Type && block.given:
			errs = append(errs, block.validate(at)...)
		case block.of == s.Type:
			errs = append(errs, field.Required(at, fmt.Sprintf("a source of type %s has it", s.Type)))
		case block.given:
			errs = append(errs, field.Forbidden(at, fmt.Sprintf("only a source of type %s has it; this one is %s", block.of, s.Type)))
		}
	}
	return errs
}

// validateSourceTimes checks what every source may have instead of what usage
// says; 0s takes that.
func validateSourceTimes(u *Usage, s *Source, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.MaxAge.Duration != 0 {
		at, most := path.Child("maxAge"), time.Hour
		if s.Type == SourceAnnotations {
			most = 24 * time.Hour
		}
		errs = append(errs, check.Duration(at, s.MaxAge, time.Second, most)...)
		if s.MaxAge.Duration > 0 && s.MaxAge.Duration <= u.SampleInterval.Duration {
			errs = append(errs, field.Invalid(at, s.MaxAge.Duration.String(),
				fmt.Sprintf("must be longer than sampleInterval (%s), or every node is unknown between two samples", u.SampleInterval.Duration)))
		}
	}
	if s.Timeout.Duration != 0 {
		errs = append(errs, check.Duration(path.Child("timeout"), s.Timeout, 100*time.Millisecond, 5*time.Minute)...)
	}
	return errs
}

func validateAnnotations(a *AnnotationsSource, path *field.Path) field.ErrorList {
	errs := check.OneOf(path.Child("unit"), a.Unit, UnitAuto, UnitFraction, UnitPercent)
	if a.Timezone != "" {
		errs = append(errs, check.Zone(path.Child("timezone"), a.Timezone)...)
	}
	return append(errs, check.Periods(path.Child("periods"), a.Periods)...)
}

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
	case !isPressure(metric.Name) && metricName.MatchString(string(metric.Name)) && !u.hasQuery(metric.Name):
		return field.ErrorList{field.Required(path.Child("name"),
			fmt.Sprintf("no source measures it: a source Prometheus must have it in queries.nodes[%s]", metric.Name))}
	}
	return nil
}

// hasQuery says whether a Prometheus source asks for a metric by a query of the
// policy's.
func (u *Usage) hasQuery(name usage.Metric) bool {
	for i := range u.Sources {
		if p := u.Sources[i].Prometheus; p != nil && u.Sources[i].Type == SourcePrometheus {
			if _, ok := p.Queries.Nodes[name]; ok {
				return true
			}
		}
	}
	return false
}

// deliversPressure says whether any source measures a pressure.
func (u *Usage) deliversPressure(name usage.Metric) bool {
	for i := range u.Sources {
		s := &u.Sources[i]
		if s.Prometheus != nil && s.Prometheus.NodeMetrics == NamesNodeExporter ||
			s.Kubelet != nil && s.Kubelet.Endpoint == EndpointSummary {
			return true
		}
	}
	return u.hasQuery(name)
}
