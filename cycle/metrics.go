package cycle

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/evenkeel/evenkeel/reasons"
)

// Metrics measures cycles. A nil Metrics does nothing.
type Metrics struct {
	cycles   *prometheus.CounterVec
	starts   *prometheus.CounterVec
	duration prometheus.Histogram
}

// NewMetrics registers the runner's metrics.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	factory := promauto.With(reg)
	m := &Metrics{
		cycles: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_cycles_total", Help: "Descheduling cycles by result.",
		}, []string{"result"}),
		starts: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_cycle_starts_total", Help: "Descheduling cycles by what started them: the schedule, or an event ahead of it.",
		}, []string{"cause"}),
		duration: factory.NewHistogram(prometheus.HistogramOpts{
			Name: "evenkeel_cycle_duration_seconds", Help: "How long a descheduling cycle took, including pacing.",
			Buckets: prometheus.ExponentialBuckets(0.05, 2, 15),
		}),
	}
	m.cycles.WithLabelValues("success")
	m.cycles.WithLabelValues("error")
	for _, cause := range Causes() {
		m.starts.WithLabelValues(reasons.Snake(string(cause)))
	}
	return m
}

// Started counts a cycle by its cause.
func (m *Metrics) Started(cause Cause) { m.starts.WithLabelValues(reasons.Snake(string(cause))).Inc() }

// NotBegun counts a cycle that failed before it began, for example because the stored
// ledger could not be read.
func (m *Metrics) NotBegun() {
	if m != nil {
		m.cycles.WithLabelValues("error").Inc()
	}
}

func (m *Metrics) cycle(took time.Duration, err error) {
	if m == nil {
		return
	}
	result := "success"
	if err != nil {
		result = "error"
	}
	m.cycles.WithLabelValues(result).Inc()
	m.duration.Observe(took.Seconds())
}
