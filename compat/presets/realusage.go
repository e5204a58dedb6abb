package presets

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/check"
)

// The names of the settings of MemRealUsage and CpuRealUsage.
const (
	nameAddress  = "prometheusApiAddr"
	nameTimeout  = "queryMetricTimeSeconds"
	nameInterval = "queryMetricIntervalSeconds"
)

// RealUsage holds the args of the scheduler plugins MemRealUsage and CpuRealUsage, which
// preferred nodes with a low mean usage as recorded by Prometheus.
type RealUsage struct {
	// CPU selects CpuRealUsage instead of MemRealUsage.
	CPU           bool
	PrometheusURL string
	// TimeoutSeconds is the timeout of a query, IntervalSeconds the time between two
	// queries.
	TimeoutSeconds, IntervalSeconds int
}

// series returns the recorded series for the usage of a node in percent, with the node's
// name in the label node.
func (s RealUsage) series() string {
	if s.CPU {
		return "node_cpu_usage_avg_5m"
	}
	return "node_mem_usage_avg_5m"
}

func (s RealUsage) metric() string {
	if s.CPU {
		return "cpu"
	}
	return "memory"
}

const (
	// minInterval and maxInterval bound the time between two samples in a
	// policy, maxTimeout bounds a query; all in seconds.
	minInterval, maxInterval = 5, 300
	maxTimeout               = 300
	// maxAge is just above the time for which Prometheus itself treats the last value of a
	// series as current. The samples under a policy must be more frequent than that.
	maxAge = 305
	// samples is the number of samples that an evicting process needs.
	samples = 3
	// minObservation is the minimum observationPeriod of a policy, in seconds.
	minObservation = 150
)

// Preset returns the equivalent LoadPolicy, or all errors in the settings.
func (s RealUsage) Preset() (policy.Conversion, field.ErrorList) {
	document := policy.Conversion{Format: "MemRealUsage/CpuRealUsage settings"}
	if errs := s.validate(); len(errs) > 0 {
		return document, errs
	}
	interval, timeout := min(max(s.IntervalSeconds, minInterval), maxInterval), min(s.TimeoutSeconds, maxTimeout)
	document.Object = map[string]any{
		"apiVersion": policy.GroupVersion,
		"kind":       policy.LoadPolicyKind,
		"usage":      s.usage(interval, timeout),
		"lines":      s.lines(),
		"hot":        map[string]any{"windows": []any{window}},
		"scoring":    map[string]any{"measured": s.measured()},
	}
	s.note(&document, interval, timeout)
	return document, nil
}

// note adds notes about the differences from the plugin.
func (s RealUsage) note(document *policy.Conversion, interval, timeout int) {
	if interval != s.IntervalSeconds {
		document.Add("usage.sampleInterval", fmt.Sprintf("%s %d becomes %ds, the nearest that is allowed", nameInterval, s.IntervalSeconds, interval))
	}
	if timeout != s.TimeoutSeconds {
		document.Add("usage.timeout", fmt.Sprintf("%s %d becomes %ds, the longest that is allowed", nameTimeout, s.TimeoutSeconds, timeout))
	}
	document.Add("lines", "lines matter only to a process that evicts; only scoring.measured places pods")
	document.Add("scoring.measured", "a node without data scores as the median of the others; the legacy plugin could not schedule any pod then")
}

func (s RealUsage) validate() field.ErrorList {
	errs := check.URL(field.NewPath(nameAddress), s.PrometheusURL)
	if s.PrometheusURL == "" {
		errs = field.ErrorList{field.Required(field.NewPath(nameAddress), "must be the URL of Prometheus, such as http://prometheus.monitoring:9090")}
	}
	for _, seconds := range []struct {
		name  string
		value int
	}{{nameTimeout, s.TimeoutSeconds}, {nameInterval, s.IntervalSeconds}} {
		if seconds.value < 1 {
			errs = append(errs, field.Invalid(field.NewPath(seconds.name), seconds.value, "must be a whole number of seconds above 0"))
		}
	}
	return errs
}

// window is the only recorded window.
const window = "avg_5m"

func (s RealUsage) usage(interval, timeout int) map[string]any {
	query := map[string]any{"unit": "percent", "windows": map[string]any{window: s.series()}}
	return map[string]any{
		"sampleInterval":    seconds(interval),
		"timeout":           seconds(timeout),
		"maxAge":            seconds(maxAge),
		"observationPeriod": seconds(max(samples*interval, minObservation)),
		"sources":           prometheus(s.PrometheusURL, "node", s.metric(), query),
	}
}

// lines returns lines that are so high that normal usage never reaches them.
func (s RealUsage) lines() map[string]any {
	return map[string]any{s.metric(): map[string]any{
		"low": policy.Number(77), "reject": policy.Number(97), "evict": policy.Number(100), "leave": policy.Number(97),
	}}
}

func (s RealUsage) measured() map[string]any {
	return map[string]any{
		"formula": "MinMax",
		"terms":   []any{map[string]any{"metric": s.metric(), "window": window, "weight": policy.Number(1)}},
	}
}

func seconds(n int) string { return strconv.Itoa(n) + "s" }
