package evictor

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// Metrics counts evictions and unmade moves. A nil Metrics does nothing.
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
		reasons.Paused, reasons.PauseUnreadable, reasons.PodChanged, reasons.MoveCancelled, reasons.SourceNoLongerHot, reasons.SourceUsageUnknown, reasons.LandingGone, reasons.LastReadyReplica,
		reasons.BelowMinAvailable, reasons.ResourceQuotaExhausted, reasons.MinAvailableUnreadable, reasons.OwnerPodsUnavailable, reasons.OwnerRollingOut, reasons.OwnerJustScaled, reasons.OwnerUnknown, reasons.ProtectedByDefaultEvictor, reasons.UsageDataInsufficient, reasons.SteeringAbsent, reasons.SteeringRefused, reasons.NamesUnsuited, reasons.ProbeNotLanded,
		reasons.PreEvictionFilter, reasons.SeveralPodDisruptionBudgets, reasons.EvictionLimit, reasons.CycleDeadline, reasons.NotLeader, reasons.LedgerUnwritable, reasons.LedgerUnreadable, reasons.SurgeFailed, reasons.Stopping, reasons.EvictionDenied, reasons.EvictionFailed,
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

// Outcomes counts the outcomes of moves, as this process sees them.
type Outcomes struct {
	ended  *prometheus.CounterVec
	judged *prometheus.CounterVec
}

// The ways in which a move can end.
const (
	landedAsPlanned = "planned"
	landedElsewhere = "elsewhere"
	landedUnplanned = "unplanned" // an eviction that named no destination
	neverMade       = "cancelled"
	neverLanded     = "expired"
)

// NewOutcomes registers the metrics.
func NewOutcomes(registry prometheus.Registerer) *Outcomes {
	factory := promauto.With(registry)
	o := &Outcomes{
		ended: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_moves_ended_total", Help: "Moves that ended, by how.",
		}, []string{"result"}),
		judged: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_move_outcomes_total", Help: "Moves judged some time after they landed, by question and answer.",
		}, []string{"question", "answer"}),
	}
	for _, result := range []string{landedAsPlanned, landedElsewhere, landedUnplanned, neverMade, neverLanded} {
		o.ended.WithLabelValues(result)
	}
	for question := range answers(&ledger.Outcome{}) {
		o.judged.WithLabelValues(question, "yes")
		o.judged.WithLabelValues(question, "no")
	}
	return o
}

// Ended counts a move that ended.
func (o *Outcomes) Ended(move ledger.Move) { o.ended.WithLabelValues(howEnded(&move)).Inc() }

func howEnded(move *ledger.Move) string {
	switch {
	case move.State == ledger.Cancelled:
		return neverMade
	case move.State == ledger.Expired:
		return neverLanded
	case move.To == "":
		return landedUnplanned
	case move.Node == move.To:
		return landedAsPlanned
	}
	return landedElsewhere
}

// answers returns the criteria for judging a move, and which it met.
func answers(o *ledger.Outcome) map[string]bool {
	return map[string]bool{
		"helped": o.Helped(), "source_cooler": o.SourceCooler, "destination_under_line": o.DestinationUnder, "healthy": o.Healthy,
	}
}

func (o *Outcomes) count(outcome *ledger.Outcome) {
	if o == nil {
		return
	}
	for question, yes := range answers(outcome) {
		answer := "no"
		if yes {
			answer = "yes"
		}
		o.judged.WithLabelValues(question, answer).Inc()
	}
}

// reasonOf returns the Reason in an error, EvictionFailed if it has none.
func reasonOf(err error) reasons.Reason {
	if refusal, ok := errors.AsType[*reasons.Refusal](err); ok {
		return refusal.Reason
	}
	return reasons.EvictionFailed
}
