package presets

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/check"
)

// MemoryMessage is the message that kube-scheduler reports for a rejected node.
const MemoryMessage = "node memory load high"

// The names of the settings as their users know them.
const (
	NameURL       = "prometheus_url"
	NameMetric    = "prometheus_memory_metrics"
	NameThreshold = "prometheus_memory_threshold"
)

// Memory holds the settings of kube-scheduler-extender, which rejected nodes based on a
// Prometheus metric of their memory usage.
type Memory struct {
	// PrometheusURL is the server's base URL.
	PrometheusURL string
	// Metric is the series or expression for a node's memory usage in percent, with the
	// node's name in the label instance.
	Metric string
	// ThresholdPercent is the usage at or above which a node is rejected: above 0, at most
	// 100.
	ThresholdPercent float64
}

// DefaultMemory returns the defaults of kube-scheduler-extender.
func DefaultMemory() Memory {
	return Memory{PrometheusURL: "http://127.0.0.1:9090", Metric: "HostMemoryUsagePercent", ThresholdPercent: 80}
}

// Preset returns the LoadPolicy for the settings, or all errors in them.
func (s Memory) Preset() (policy.Conversion, field.ErrorList) {
	document := policy.Conversion{Format: "kube-scheduler-extender settings"}
	if errs := s.validate(); len(errs) > 0 {
		return document, errs
	}
	document.Object = map[string]any{
		"apiVersion": policy.GroupVersion,
		"kind":       policy.LoadPolicyKind,
		"usage":      s.usage(),
		"lines":      s.lines(),
		"scoring":    map[string]any{"measured": s.measured()},
	}
	document.Add("usage.maxAge", "a value counts for 180s after it was recorded; kube-scheduler-extender counted from the query")
	document.Add("lines.memory", "lines matter only to a process that evicts; only scoring.measured keeps pods off nodes")
	document.Add("scoring.measured.limits", "the rejection is final, so kube-scheduler does not preempt pods on a node that rejects the new one anyway; kube-scheduler-extender let preemption try")
	document.Lose("scoring.measured.limits", "pods of DaemonSets are not kept off, because no other node can take them")
	return document, nil
}

func (s Memory) validate() field.ErrorList {
	errs := check.URL(field.NewPath(NameURL), s.PrometheusURL)
	if strings.TrimSpace(s.Metric) == "" {
		errs = append(errs, field.Required(field.NewPath(NameMetric), "must name the series with a node's memory usage in percent"))
	}
	if !utf8.ValidString(s.Metric) || strings.ContainsFunc(s.Metric, func(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) }) {
		errs = append(errs, field.Invalid(field.NewPath(NameMetric), s.Metric, "must be text without control characters"))
	}
	if !(s.ThresholdPercent > 0 && s.ThresholdPercent <= 100) { // also true for NaN
		errs = append(errs, field.Invalid(field.NewPath(NameThreshold), s.ThresholdPercent, "must be percent: above 0, at most 100"))
	}
	return errs
}

// usage returns the usage settings: usage is read once a minute, and is valid
// for three minutes.
func (s Memory) usage() map[string]any {
	query := map[string]any{"unit": "percent", "expr": s.Metric}
	return map[string]any{
		"sampleInterval": "60s",
		"maxAge":         "180s",
		// This allows for the three samples that an evicting process needs.
		"observationPeriod": "180s",
		"sources":           prometheus(s.PrometheusURL, "instance", "memory", query),
	}
}

const (
	// gapPercent is the minimum distance that policies allow between reject and evict.
	gapPercent = 3
	// coolPercent is how far below the reject line a node counts as cool.
	coolPercent = 20
)

// lines returns lines around the threshold, so that no pod is moved to a rejected node.
func (s Memory) lines() map[string]any {
	reject := min(s.ThresholdPercent, 100-gapPercent)
	low := reject - coolPercent
	if low < 0 {
		low = reject / 2
	}
	return map[string]any{"memory": map[string]any{
		"low":    policy.Number(low),
		"reject": policy.Number(reject),
		"evict":  policy.Number(reject + gapPercent),
		"leave":  policy.Number(reject),
	}}
}

func (s Memory) measured() map[string]any {
	return map[string]any{
		"formula":   "MemoryLoad",
		"terms":     []any{map[string]any{"metric": "memory", "window": "last", "weight": policy.Number(1)}},
		"limits":    []any{map[string]any{"metric": "memory", "window": "last", "fromPercent": policy.Number(s.from())}},
		"message":   MemoryMessage,
		"rejectAll": true,
	}
}

// from returns the threshold for unrounded usage. The extender rounded usage down to a
// whole percentage before comparing it.
func (s Memory) from() float64 { return math.Ceil(s.ThresholdPercent) }
