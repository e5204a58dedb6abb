package observer

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/strategies/realusage/plan"
	"github.com/evenkeel/evenkeel/usage"
)

// Metrics tells what is observed. A nil Metrics is silent.
type Metrics struct {
	nodes     *prometheus.GaugeVec
	gated     *prometheus.GaugeVec
	hottest   *prometheus.GaugeVec
	skipped   *prometheus.CounterVec
	readings  *prometheus.CounterVec
	duration  prometheus.Histogram
	timestamp prometheus.Gauge
}

// NewMetrics registers the observer's metrics.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	factory := promauto.With(reg)
	return &Metrics{
		nodes: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "evenkeel_nodes", Help: "Nodes by state.",
		}, []string{"state"}),
		gated: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "evenkeel_usage_gate_closed", Help: "1 while nothing may be evicted for this reason.",
		}, []string{"reason"}),
		hottest: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "evenkeel_hottest_node_usage_percent", Help: "Real usage of the hottest known node in percent of allocatable.",
		}, []string{"resource"}),
		skipped: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_usage_samples_skipped_total", Help: "Samples of a source that were not taken, by cause.",
		}, []string{"cause"}),
		readings: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_usage_readings_total", Help: "Readings of the usage source by result.",
		}, []string{"result"}),
		duration: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "evenkeel_observation_duration_seconds", Help: "Time from asking the source to publishing the observation.",
			Buckets: prometheus.ExponentialBuckets(0.01, 2, 12),
		}),
		timestamp: factory.NewGauge(prometheus.GaugeOpts{
			Name: "evenkeel_observation_timestamp_seconds", Help: "When the newest observation was published.",
		}),
	}
}

func (m *Metrics) observe(o *Observation, skipped usage.Skipped, took time.Duration) {
	if m == nil {
		return
	}
	counts := map[plan.State]int{plan.Hot: 0, plan.Warm: 0, plan.Cool: 0, plan.Unknown: 0}
	for _, state := range o.States {
		counts[state.State]++
	}
	for state, n := range counts {
		m.nodes.WithLabelValues(string(state)).Set(float64(n))
	}
	for _, gate := range []Gate{GateNoUsage, GateCoverage} {
		closed := 0.0
		if o.Gate == gate {
			closed = 1
		}
		m.gated.WithLabelValues(string(gate)).Set(closed)
	}
	hottest := Hottest(o.View)
	for _, r := range cluster.Resources() {
		m.hottest.WithLabelValues(r.String()).Set(hottest[r])
	}
	for cause, n := range map[string]int{
		"stale": skipped.Stale, "future": skipped.Future, "absurd": skipped.Absurd, "unmatched": skipped.Unmatched,
		"duplicate": skipped.Duplicate, "unreadable": skipped.Unreadable,
	} {
		m.skipped.WithLabelValues(cause).Add(float64(n))
	}
	result := "success"
	if o.SourceError != nil {
		result = "error"
	}
	m.readings.WithLabelValues(result).Inc()
	m.duration.Observe(took.Seconds())
	m.timestamp.Set(float64(o.At.UnixNano()) / 1e9)
}

// Hottest returns, per resource, the highest current usage of a known node in percent of allocatable.
func Hottest(view *usage.View) cluster.Percents {
	var hottest cluster.Percents
	for i := range view.Nodes {
		if !view.Nodes[i].Known() {
			continue
		}
		percents := view.Nodes[i].Current[usage.Avg5m].PercentOf(view.Snapshot.Nodes[i].Node.Allocatable)
		for r := range hottest {
			hottest[r] = max(hottest[r], percents[r])
		}
	}
	return hottest
}
