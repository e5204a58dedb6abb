// Package metrics counts evictions, planned moves that are not made, and the outcomes of
// moves that are made.
package metrics

import (
	"cmp"
	"regexp"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// Metrics counts evictions and skipped moves. A nil Metrics does nothing.
type Metrics struct {
	evictions, skipped *prometheus.CounterVec

	mu         sync.Mutex
	namespaces map[string]bool // namespaces with separate series
}

// mostNamespaces is the number of namespaces that are counted separately. All others are
// counted together, under a name that no namespace can have.
const (
	mostNamespaces  = 100
	otherNamespaces = "_other"
)

// success is the result of an eviction that was made, and dryRun of one that was only
// logged.
const (
	success = "success"
	dryRun  = "dry_run"
)

// New registers the metrics.
func New(reg prometheus.Registerer) *Metrics {
	factory := promauto.With(reg)
	m := &Metrics{
		evictions: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_pod_evictions_total",
			Help: "Eviction attempts by namespace, strategy and result.",
		}, []string{"namespace", "strategy", "result"}),
		skipped: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_moves_skipped_total", Help: "Planned moves that were not made, by reason.",
		}, []string{"reason"}),
		namespaces: map[string]bool{},
	}
	for _, reason := range []reasons.Reason{
		reasons.Paused, reasons.PauseUnreadable, reasons.PodChanged, reasons.MoveCancelled, reasons.SourceNoLongerHot, reasons.SourceUsageUnknown, reasons.PodBusy, reasons.LandingGone, reasons.LastReadyReplica,
		reasons.BelowMinAvailable, reasons.ResourceQuotaExhausted, reasons.MinAvailableUnreadable, reasons.EvictionDeclined, reasons.OwnerPodsUnavailable, reasons.OwnerCreatesInOrder, reasons.OwnerRollingOut, reasons.OwnerJustScaled, reasons.OwnerUnknown, reasons.ProtectedByDefaultEvictor, reasons.UsageDataInsufficient, reasons.SteeringAbsent, reasons.SteeringRefused, reasons.NamesUnsuited, reasons.Unsteerable, reasons.ProbeNotLanded,
		reasons.PreEvictionFilter, reasons.SeveralPodDisruptionBudgets, reasons.EvictionLimit, reasons.CycleDeadline, reasons.NotLeader, reasons.LedgerUnwritable, reasons.LedgerUnreadable, reasons.Stopping, reasons.EvictionDenied, reasons.EvictionFailed,
	} {
		m.skipped.WithLabelValues(reason.Label())
	}
	return m
}

// Evicted counts an eviction. framework is the framework's annotation about its origin,
// and refused the reason why it was not made; empty if it was made or, in a dry run, would
// have been.
func (m *Metrics) Evicted(namespace, framework string, refused reasons.Reason, dry bool) {
	strategy, _ := AskedBy(framework)
	if m == nil {
		return
	}
	result := success
	switch {
	case refused != "":
		result = refused.Label()
	case dry:
		result = dryRun
	}
	m.evictions.WithLabelValues(m.bounded(namespace), cmp.Or(strategy, "unknown"), result).Inc()
}

// bounded returns the namespace under which an eviction is counted.
func (m *Metrics) bounded(namespace string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.namespaces[namespace] && len(m.namespaces) >= mostNamespaces {
		return otherNamespaces
	}
	m.namespaces[namespace] = true
	return namespace
}

// byFramework matches the framework's annotation of an eviction: the profile,
// the plugin, and the plugin's reason.
var byFramework = regexp.MustCompile(`(?s)^triggered by [^/]*/([A-Za-z]+): (.*)$`)

// AskedBy returns the plugin that asked for an eviction, and the reason that it gives, according
// to the framework's annotation. Both are empty if the annotation does not contain them.
func AskedBy(framework string) (plugin, why string) {
	if found := byFramework.FindStringSubmatch(framework); found != nil {
		return found[1], found[2]
	}
	return "", ""
}

// Skipped counts a planned move that was not made; it ignores an empty reason.
func (m *Metrics) Skipped(reason reasons.Reason) {
	if m != nil && reason != "" {
		m.skipped.WithLabelValues(reason.Label()).Inc()
	}
}

// Outcomes counts the outcomes of moves, as this process sees them.
type Outcomes struct {
	ended    *prometheus.CounterVec
	criteria *prometheus.CounterVec
	saved    prometheus.Histogram
}

// The ways in which a move can end.
const (
	landedAsPlanned = "planned"
	landedElsewhere = "elsewhere"
	landedUnplanned = "unplanned" // an eviction without a planned destination
	neverMade       = "cancelled"
	neverLanded     = "expired"
)

// Whether a move met a criterion.
const (
	met    = "met"
	missed = "missed"
)

// NewOutcomes registers the metrics.
func NewOutcomes(registry prometheus.Registerer) *Outcomes {
	factory := promauto.With(registry)
	o := &Outcomes{
		ended: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_moves_ended_total", Help: "Moves that ended, by how they ended.",
		}, []string{"result"}),
		criteria: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_moves_evaluated_total", Help: "Completed moves by evaluation criterion and result.",
		}, []string{"criterion", "result"}),
		saved: factory.NewHistogram(prometheus.HistogramOpts{
			Name:    "evenkeel_move_hot_time_saved_seconds",
			Help:    "Hot time (CPU) saved by a move in the four hours after it, source and destination combined. Negative if it did harm.",
			Buckets: []float64{-3600, -1, 0, 600, 1800, 3600, 7200, 14400},
		}),
	}
	for _, result := range []string{landedAsPlanned, landedElsewhere, landedUnplanned, neverMade, neverLanded} {
		o.ended.WithLabelValues(result)
	}
	for criterion := range answers(&ledger.Outcome{}) {
		o.criteria.WithLabelValues(criterion, met)
		o.criteria.WithLabelValues(criterion, missed)
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

// answers returns, for each criterion, whether the move met it.
func answers(o *ledger.Outcome) map[string]bool {
	return map[string]bool{
		"helped": o.Helped(), "source_cooler": o.SourceCooler, "destination_under_line": o.DestinationUnder, "healthy": o.Healthy,
	}
}

// Saved counts moves by the number of hot minutes that each has saved. A nil Outcomes
// does nothing.
func (o *Outcomes) Saved(minutes []float64) {
	if o == nil {
		return
	}
	for _, saved := range minutes {
		o.saved.Observe(60 * saved)
	}
}

// Evaluated counts a move whose outcome is known. A nil Outcomes does nothing.
func (o *Outcomes) Evaluated(outcome *ledger.Outcome) {
	if o == nil {
		return
	}
	for criterion, yes := range answers(outcome) {
		result := missed
		if yes {
			result = met
		}
		o.criteria.WithLabelValues(criterion, result).Inc()
	}
}
