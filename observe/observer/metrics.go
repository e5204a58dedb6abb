package observer

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// Metrics exports observations as Prometheus metrics. A nil Metrics does nothing.
type Metrics struct {
	nodes     *prometheus.GaugeVec
	gated     *prometheus.GaugeVec
	unknown   *prometheus.GaugeVec
	sourced   *prometheus.GaugeVec
	hottest   *prometheus.GaugeVec
	skipped   *prometheus.CounterVec
	readings  *prometheus.CounterVec
	duration  prometheus.Histogram
	timestamp prometheus.Gauge
	steps     *prometheus.CounterVec
}

// NewMetrics registers the observer's metrics.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	factory := promauto.With(reg)
	m := &Metrics{
		nodes: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "evenkeel_nodes", Help: "Nodes by state.",
		}, []string{"state"}),
		gated: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "evenkeel_usage_insufficient", Help: "1 while usage is not known well enough to evict anything, by reason.",
		}, []string{"reason"}),
		unknown: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "evenkeel_nodes_unknown", Help: "Ready nodes whose real usage is not known, by reason.",
		}, []string{"reason"}),
		sourced: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "evenkeel_usage_source_nodes", Help: "Known nodes by the source that their usage comes from.",
		}, []string{"source"}),
		hottest: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "evenkeel_hottest_node_usage_ratio", Help: "Real usage of the hottest known node, as a ratio of its allocatable.",
		}, []string{"resource"}),
		skipped: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_usage_samples_skipped_total", Help: "Samples of a source that were rejected, by cause.",
		}, []string{"source", "cause"}),
		readings: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_usage_readings_total", Help: "Readings of usage sources by result.",
		}, []string{"source", "result"}),
		duration: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "evenkeel_observation_duration_seconds", Help: "Time from asking the source to publishing the observation.",
			Buckets: prometheus.ExponentialBuckets(0.01, 2, 12),
		}),
		timestamp: factory.NewGauge(prometheus.GaugeOpts{
			Name: "evenkeel_observation_timestamp_seconds", Help: "When the newest observation was published.",
		}),
		steps: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_clock_steps_total", Help: "Clock steps of more than five seconds between two observations, by direction.",
		}, []string{"direction"}),
	}
	for _, direction := range []string{"back", "forward"} {
		m.steps.WithLabelValues(direction)
	}
	return m
}

func (m *Metrics) stepped(by time.Duration) {
	if m == nil {
		return
	}
	direction := "forward"
	if by < 0 {
		direction = "back"
	}
	m.steps.WithLabelValues(direction).Inc()
}

func (m *Metrics) observe(o *Observation, took time.Duration) {
	if m == nil {
		return
	}
	m.observeNodes(o)
	for i := range o.Sources {
		m.observeSource(&o.Sources[i])
	}
	for _, gate := range Blockers() {
		closed := 0.0
		if o.Blocked == gate {
			closed = 1
		}
		m.gated.WithLabelValues(gate.Label()).Set(closed)
	}
	m.duration.Observe(took.Seconds())
	m.timestamp.Set(float64(o.At.UnixNano()) / 1e9)
}

func (m *Metrics) observeNodes(o *Observation) {
	counts := map[thresholds.State]int{thresholds.Hot: 0, thresholds.Warm: 0, thresholds.Cool: 0, thresholds.Unknown: 0}
	for _, state := range o.States {
		counts[state.State]++
	}
	for state, n := range counts {
		m.nodes.WithLabelValues(string(state)).Set(float64(n))
	}
	m.unknown.Reset()
	for reason, n := range o.Unknown() {
		m.unknown.WithLabelValues(reason.Label()).Set(float64(n))
	}
	sourced := map[string]int{}
	for i := range o.Sources {
		sourced[o.Sources[i].Name] = 0
	}
	for i := range o.View.Nodes {
		if o.View.Nodes[i].Known() {
			sourced[o.View.Nodes[i].Source]++
		}
	}
	for source, n := range sourced {
		m.sourced.WithLabelValues(source).Set(float64(n))
	}
	hottest := Hottest(o.View)
	for _, r := range cluster.Resources() {
		m.hottest.WithLabelValues(r.String()).Set(hottest[r] / 100)
	}
}

func (m *Metrics) observeSource(s *SourceStatus) {
	for _, cause := range usage.Causes() {
		m.skipped.WithLabelValues(s.Name, string(cause)).Add(float64(s.Problems[cause].Count))
	}
	errored, succeeded := m.readings.WithLabelValues(s.Name, "error"), m.readings.WithLabelValues(s.Name, "success")
	switch {
	case !s.Asked:
	case s.Err != nil:
		errored.Inc()
	default:
		succeeded.Inc()
	}
}

// Hottest returns, per resource, the highest current usage of all known nodes
// in percent of allocatable.
func Hottest(view *usage.View) cluster.Percents {
	var hottest cluster.Percents
	for i := range view.Nodes {
		if !view.Nodes[i].Known() {
			continue
		}
		percents := view.Nodes[i].Current[usage.AtAvg5m].PercentOf(view.Snapshot.Nodes[i].Node.Allocatable)
		for r := range hottest {
			hottest[r] = max(hottest[r], percents[r])
		}
	}
	return hottest
}
