package serve

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// former is a copy of a metric under its name in the previous version. It is kept for one
// version.
type former struct {
	name, now string
	// labels maps the current names of the labels to their former names.
	labels map[string]string
	// scale converts a current value to a former one; 0 means 1.
	scale float64
}

// formers are removed in the version after the one that renamed them.
var formers = []former{
	{name: "evenkeel_moves_left_total", now: "evenkeel_moves_skipped_total", labels: byReason},
	{name: "evenkeel_move_outcomes_total", now: "evenkeel_moves_evaluated_total", labels: map[string]string{"criterion": "question", "result": "answer"}},
	{name: "evenkeel_usage_gate_closed", now: "evenkeel_usage_insufficient", labels: byReason},
	{name: "evenkeel_unknown_nodes", now: "evenkeel_nodes_unknown", labels: byReason},
	{name: "evenkeel_hottest_node_usage_percent", now: "evenkeel_hottest_node_usage_ratio", labels: map[string]string{"resource": "resource"}, scale: 100},
	{name: "evenkeel_paused", now: "evenkeel_evictions_paused", labels: byReason},
	{name: "evenkeel_extender_requests_total", now: "evenkeel_extender_responses_total", labels: map[string]string{"verb": "verb", "result": "result"}},
	{name: "evenkeel_extender_rejected_nodes_total", now: "evenkeel_extender_nodes_rejected_total", labels: byReason},
	{name: "evenkeel_extender_neutral_replies_total", now: "evenkeel_extender_neutral_responses_total", labels: byReason},
	{name: "evenkeel_webhook_reviews_total", now: "evenkeel_webhook_responses_total", labels: map[string]string{"result": "result"}},
}

var byReason = map[string]string{"reason": "reason"}

// Former collects the metrics of a registry under their names in the previous version.
type Former struct{ of prometheus.Gatherer }

var _ prometheus.Collector = Former{}

// NewFormer returns the collector of a registry's former metrics. It must not be
// registered in the same registry.
func NewFormer(of prometheus.Gatherer) Former { return Former{of} }

// Describe implements prometheus.Collector.
func (Former) Describe(out chan<- *prometheus.Desc) {
	for i := range formers {
		out <- formers[i].desc()
	}
}

// desc returns the metric's description, with labels in their current order.
func (f *former) desc() *prometheus.Desc {
	var labels []string
	for _, label := range f.today() {
		labels = append(labels, f.labels[label])
	}
	return prometheus.NewDesc(f.name, "Deprecated: use "+f.now+".", labels, nil)
}

func (f *former) today() []string { return slices.Sorted(maps.Keys(f.labels)) }

// Collect implements prometheus.Collector.
func (f Former) Collect(out chan<- prometheus.Metric) {
	families, _ := f.of.Gather() // the registry reports its own errors
	for _, family := range families {
		for i := range formers {
			if formers[i].now == family.GetName() {
				formers[i].collect(family, out)
			}
		}
	}
}

// withFormer gathers a registry once for both names.
func withFormer(registry prometheus.Gatherer) prometheus.GathererFunc {
	return func() ([]*dto.MetricFamily, error) {
		families, err := registry.Gather()
		old := prometheus.NewRegistry()
		old.MustRegister(NewFormer(prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return families, nil })))
		more, failed := old.Gather()
		return append(families, more...), errors.Join(err, failed)
	}
}

func (f *former) collect(family *dto.MetricFamily, out chan<- prometheus.Metric) {
	desc, names := f.desc(), f.today()
	for _, metric := range family.GetMetric() {
		kind, value := prometheus.GaugeValue, metric.GetGauge().GetValue()
		if metric.GetCounter() != nil {
			kind, value = prometheus.CounterValue, metric.GetCounter().GetValue()
		}
		if f.scale != 0 {
			value *= f.scale
		}
		labels := make([]string, len(names))
		for k, name := range names {
			for _, label := range metric.GetLabel() {
				if label.GetName() == name {
					labels[k] = formerValue(name, label.GetValue())
				}
			}
		}
		out <- prometheus.MustNewConstMetric(desc, kind, value, labels...)
	}
}

// formerValues are the former values that do not result from writing the current ones in CamelCase.
var formerValues = map[string]string{"ok": "OK", "api_errors": "APIErrors", "met": "yes", "missed": "no"}

// formerValue returns the former value of a label.
func formerValue(name, value string) string {
	if former, ok := formerValues[value]; ok {
		return former
	}
	if name != "reason" && name != "result" {
		return value
	}
	var out strings.Builder
	for word := range strings.SplitSeq(value, "_") {
		out.WriteString(strings.ToUpper(word[:min(len(word), 1)]) + word[min(len(word), 1):])
	}
	return out.String()
}
