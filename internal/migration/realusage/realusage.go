// Package realusage says what the settings of the scheduler plugins MemRealUsage
// and CpuRealUsage, which preferred nodes by a recorded mean of Prometheus', mean
// as a LoadPolicy.
//
// It decides the policy; how the settings are written is left to others.
// Invariant: whatever Preset returns without an error is a LoadPolicy that
// package policy takes.
package realusage

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/policy"
)

// Format names what this package converts.
const Format = "MemRealUsage/CpuRealUsage settings"

// Resource is what a plugin looks at.
type Resource uint8

// The resources.
const (
	Memory Resource = iota
	CPU
)

// series is the recorded percentage of a node, with the node's name in the label
// node.
func (r Resource) series() string {
	if r == CPU {
		return "node_cpu_usage_avg_5m"
	}
	return "node_mem_usage_avg_5m"
}

func (r Resource) metric() string {
	if r == CPU {
		return "cpu"
	}
	return "memory"
}

// The names of the settings, by which their users know them.
const (
	NameURL      = "prometheusApiAddr"
	NameTimeout  = "queryMetricTimeSeconds"
	NameInterval = "queryMetricIntervalSeconds"
)

// Settings are the args of a plugin.
type Settings struct {
	Resource      Resource
	PrometheusURL string
	// TimeoutSeconds bounds a query, IntervalSeconds is the time between two.
	TimeoutSeconds, IntervalSeconds int
}

const (
	// minInterval and maxInterval are what policies allow between two samples,
	// maxTimeout what they allow a query to take; all in seconds.
	minInterval, maxInterval = 5, 300
	maxTimeout               = 300
	// maxAge is how long Prometheus itself takes the last value of a series for
	// its newest; the samples of a policy must be more frequent.
	maxAge = 305
	// samples is how many of them a process that evicts wants.
	samples = 3
	// minObservation is the least that policies allow for observing, in seconds.
	minObservation = 90
)

// Preset returns the LoadPolicy that the settings mean, or everything that is
// wrong with them.
func Preset(s Settings) (policy.Conversion, field.ErrorList) {
	document := policy.Conversion{Format: Format}
	if errs := s.validate(); len(errs) > 0 {
		return document, errs
	}
	interval, timeout := min(max(s.IntervalSeconds, minInterval), maxInterval), min(s.TimeoutSeconds, maxTimeout)
	document.Object = map[string]any{
		"apiVersion": "evenkeel.io/v1alpha1",
		"kind":       "LoadPolicy",
		"usage":      s.usage(interval, timeout),
		"lines":      s.lines(),
		"hot":        map[string]any{"windows": []any{window}},
		"scoring":    map[string]any{"measured": s.measured()},
	}
	s.note(&document, interval, timeout)
	return document, nil
}

// note tells what is not as it was there.
func (s Settings) note(document *policy.Conversion, interval, timeout int) {
	if interval != s.IntervalSeconds {
		document.Add("usage.sampleInterval", fmt.Sprintf("%s %d becomes %ds, the nearest that is allowed", NameInterval, s.IntervalSeconds, interval))
	}
	if timeout != s.TimeoutSeconds {
		document.Add("usage.timeout", fmt.Sprintf("%s %d becomes %ds, the longest that is allowed", NameTimeout, s.TimeoutSeconds, timeout))
	}
	document.Add("lines", "lines are what a process that evicts would judge by; pods are placed by scoring.measured alone")
	document.Add("scoring.measured", "a node without data scores as the median of the others; there a pod could not be scheduled at all then")
}

func (s Settings) validate() field.ErrorList {
	var errs field.ErrorList
	switch {
	case s.PrometheusURL == "":
		errs = append(errs, field.Required(field.NewPath(NameURL), "must be the URL of Prometheus, such as http://prometheus.monitoring:9090"))
	case !usable(s.PrometheusURL):
		errs = append(errs, field.Invalid(field.NewPath(NameURL), withoutLogin(s.PrometheusURL),
			"must be a URL such as http://prometheus.monitoring:9090, without user, query and fragment"))
	}
	for _, seconds := range []struct {
		name  string
		value int
	}{{NameTimeout, s.TimeoutSeconds}, {NameInterval, s.IntervalSeconds}} {
		if seconds.value < 1 {
			errs = append(errs, field.Invalid(field.NewPath(seconds.name), seconds.value, "must be a whole number of seconds above 0"))
		}
	}
	return errs
}

func usable(address string) bool {
	parsed, err := url.Parse(address)
	return err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https") && parsed.Hostname() != "" &&
		parsed.User == nil && parsed.RawQuery == "" && !parsed.ForceQuery && !strings.Contains(address, "#")
}

// withoutLogin leaves out what may be a password.
func withoutLogin(address string) string {
	if at := strings.LastIndexByte(address, '@'); at >= 0 {
		return "..." + address[at:]
	}
	return address
}

// window is the only one that is recorded.
const window = "avg_5m"

func (s Settings) usage(interval, timeout int) map[string]any {
	query := map[string]any{"unit": "percent", "windows": map[string]any{window: s.Resource.series()}}
	return map[string]any{
		"sampleInterval":    seconds(interval),
		"timeout":           seconds(timeout),
		"maxAge":            seconds(maxAge),
		"observationPeriod": seconds(max(samples*interval, minObservation)),
		"sources": []any{map[string]any{
			"type": "Prometheus",
			"prometheus": map[string]any{
				"address":   s.PrometheusURL,
				"nodeLabel": "node",
				"queries":   map[string]any{"nodes": map[string]any{s.Resource.metric(): query}},
			},
		}},
	}
}

// lines are out of reach of what is usual.
func (s Settings) lines() map[string]any {
	return map[string]any{s.Resource.metric(): map[string]any{
		"low": number(77), "reject": number(97), "evict": number(100), "leave": number(97),
	}}
}

func (s Settings) measured() map[string]any {
	return map[string]any{
		"formula": "MinMax",
		"terms":   []any{map[string]any{"metric": s.Resource.metric(), "window": window, "weight": number(1)}},
	}
}

func seconds(n int) string { return strconv.Itoa(n) + "s" }

func number(n int) json.Number { return json.Number(strconv.Itoa(n)) }
