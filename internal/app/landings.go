package app

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/evenkeel/evenkeel/ledger"
)

// landings counts what becomes of moves, as this process sees it.
type landings struct {
	ended    *prometheus.CounterVec
	outcomes *prometheus.CounterVec
}

// The ways in which a move can end.
const (
	landedAsPlanned = "planned"
	landedElsewhere = "elsewhere"
	landedUnplanned = "unplanned" // an eviction that named no destination
	neverMade       = "cancelled"
	neverLanded     = "expired"
)

// The questions that a move is judged by.
const (
	helpedAtAll     = "helped"
	sourceCooler    = "source_cooler"
	destinationGood = "destination_under_line"
	healthy         = "healthy"
)

func newLandings(registry prometheus.Registerer) *landings {
	factory := promauto.With(registry)
	l := &landings{
		ended: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_moves_ended_total", Help: "Moves that ended, by how.",
		}, []string{"result"}),
		outcomes: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_move_outcomes_total", Help: "Moves judged some time after they landed, by question and answer.",
		}, []string{"question", "answer"}),
	}
	for _, result := range []string{landedAsPlanned, landedElsewhere, landedUnplanned, neverMade, neverLanded} {
		l.ended.WithLabelValues(result)
	}
	for _, question := range []string{helpedAtAll, sourceCooler, destinationGood, healthy} {
		l.outcomes.WithLabelValues(question, "yes")
		l.outcomes.WithLabelValues(question, "no")
	}
	return l
}

// end counts a move that ended.
func (l *landings) end(move ledger.Move) {
	l.ended.WithLabelValues(howEnded(&move)).Inc()
}

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

func (l *landings) judged(o *ledger.Outcome) {
	for question, yes := range map[string]bool{
		helpedAtAll: o.Helped(), sourceCooler: o.SourceCooler, destinationGood: o.DestinationUnder, healthy: o.Healthy,
	} {
		answer := "no"
		if yes {
			answer = "yes"
		}
		l.outcomes.WithLabelValues(question, answer).Inc()
	}
}
