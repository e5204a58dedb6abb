package answer

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/evenkeel/evenkeel/scorer"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// shadowMetrics has a counter for every comparison from the start.
type shadowMetrics struct {
	placements map[Comparison]prometheus.Counter
	gap        prometheus.Histogram
	pending    prometheus.Gauge
}

func newShadowMetrics(reg prometheus.Registerer) (*shadowMetrics, error) {
	placements := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "evenkeel_shadow_placements_total",
		Help: "Pods that kube-scheduler asked about while answers were neutral, by how its choice compares with what it would have been told.",
	}, []string{"verdict"})
	m := &shadowMetrics{
		placements: map[Comparison]prometheus.Counter{},
		gap: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "evenkeel_shadow_score_gap",
			Help:    "Points of ten by which the best node of a request would have scored above the one that kube-scheduler chose.",
			Buckets: prometheus.LinearBuckets(0, 1, scorer.MaxScore+1),
		}),
		pending: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "evenkeel_shadow_pending", Help: "Pods that were asked about and not seen on a node yet.",
		}),
	}
	for _, comparison := range Comparisons() {
		m.placements[comparison] = placements.WithLabelValues(string(comparison))
	}
	return m, extender.Register(reg, placements, m.gap, m.pending)
}
