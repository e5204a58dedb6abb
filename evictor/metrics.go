package evictor

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/evenkeel/evenkeel/reasons"
)

// Metrics tells what was evicted and what was not. A nil Metrics is silent.
type Metrics struct {
	evictions *prometheus.CounterVec
	left      *prometheus.CounterVec
}

// NewMetrics registers the evictor's metrics.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	factory := promauto.With(reg)
	m := &Metrics{
		evictions: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_evictions_total", Help: "Evictions by result: success, or why there was none.",
		}, []string{"result"}),
		left: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_moves_left_total", Help: "Planned moves that were not made, by reason.",
		}, []string{"reason"}),
	}
	m.evictions.WithLabelValues("success")
	for _, reason := range []reasons.Reason{
		reasons.Paused, reasons.PauseUnreadable, reasons.PodChanged, reasons.MoveCancelled, reasons.SourceNoLongerHot, reasons.SourceUsageUnknown, reasons.LandingGone, reasons.LastReadyReplica, reasons.UsageDataInsufficient, reasons.SteeringAbsent, reasons.ProbeNotLanded,
		reasons.PreEvictionFilter, reasons.SeveralPodDisruptionBudgets, reasons.EvictionLimit, reasons.CycleDeadline, reasons.NotLeader, reasons.LedgerUnwritable, reasons.SurgeFailed, reasons.Stopping, reasons.EvictionFailed,
	} {
		m.left.WithLabelValues(string(reason))
	}
	return m
}

func (m *Metrics) evicted(err error) {
	if m == nil {
		return
	}
	result := "success"
	if err != nil {
		result = string(reasonOf(err))
	}
	m.evictions.WithLabelValues(result).Inc()
}

func (m *Metrics) leave(reason reasons.Reason) {
	if m != nil && reason != "" {
		m.left.WithLabelValues(string(reason)).Inc()
	}
}
