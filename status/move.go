package status

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// Move is a move of the ledger in the reports of /status and top.
type Move struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Owner     string `json:"owner"`
	State     string `json:"state"`
	From      string `json:"from"`
	// To is the planned destination, and Node the node on which the replacement is booked
	// or has landed.
	To   string `json:"to,omitempty"`
	Node string `json:"node,omitempty"`
	// Replacement is the replacement's UID in /status, and its name in explanations.
	Replacement string  `json:"replacement,omitempty"`
	Usage       Amounts `json:"usage"`
	// Plugin is the strategy or descheduler plugin that asked for the move; absent if an
	// earlier version recorded it.
	Plugin string `json:"plugin,omitempty"`
	// Asked is true if kube-scheduler asked this process about the replacement.
	Asked bool `json:"asked"`
}

// RecordedMove is a move of the ledger with its times and its result.
type RecordedMove struct {
	Move
	Recorded *time.Time `json:"recorded,omitempty"`
	Evicted  *time.Time `json:"evicted,omitempty"`
	Ended    *time.Time `json:"ended,omitempty"`
	// Message explains in words why the pod was moved; absent if it is not known any more.
	Message string `json:"message,omitempty"`
	// CeilingMilliCores is the CPU limit that replaced the destination's reject line for
	// this move; absent if the reject line applied.
	CeilingMilliCores int64    `json:"ceilingMilliCores,omitempty"`
	Outcome           *Outcome `json:"outcome,omitempty"`
	// Expected is the hot time that the move was expected to save, and Saved the hot time
	// that it has saved so far; absent if unknown.
	Expected *Saved `json:"expected,omitempty"`
	Saved    *Saved `json:"saved,omitempty"`
}

// Saved is the number of hot minutes that a move avoids within a period.
type Saved struct {
	HotMinutes float64 `json:"hotMinutes"`
	Within     float64 `json:"withinMinutes"`
}

// Outcome is the result of a move that landed.
type Outcome struct {
	// Helped is true if all fields except Planned are true.
	Helped           bool `json:"helped"`
	Planned          bool `json:"planned"`
	SourceCooler     bool `json:"sourceCooler"`
	DestinationUnder bool `json:"destinationUnder"`
	Healthy          bool `json:"healthy"`
}

// MoveOf converts a move of the ledger to the form in which /status reports it.
func MoveOf(m *ledger.Move) Move {
	move := Move{
		Namespace: m.Namespace, Pod: m.Pod, Owner: m.Owner.Kind + "/" + m.Owner.Name, State: string(m.State),
		From: m.From, To: m.To, Node: m.Node, Replacement: m.Replacement, Usage: AmountsOf(m.Usage), Plugin: m.Plugin, Asked: m.Asked,
	}
	if m.Decision != nil {
		move.Plugin = cmp.Or(m.Decision.Plugin, m.Plugin)
	}
	return move
}

func recordedMoveOf(m *ledger.Move) RecordedMove {
	move := RecordedMove{
		Move: MoveOf(m), CeilingMilliCores: m.CeilingMilliCores,
		Recorded: moment(m.Recorded), Evicted: moment(m.Evicted), Ended: moment(m.Ended),
	}
	move.Replacement = m.ReplacementName
	if o := m.Outcome; o != nil {
		move.Outcome = &Outcome{
			Helped: o.Helped(), Planned: o.Planned, SourceCooler: o.SourceCooler, DestinationUnder: o.DestinationUnder, Healthy: o.Healthy,
		}
	}
	if d := m.Decision; d != nil {
		move.Message = d.Message
		if d.WithinMinutes > 0 {
			move.Expected = &Saved{d.HotMinutesSaved, d.WithinMinutes}
		}
	}
	if s := m.Saved; s != nil {
		move.Saved = &Saved{math.Round(s.HotMinutes), math.Round(s.Watched)}
	}
	return move
}

// moves returns the ledger's moves that match a condition: first moves in flight, then
// ended moves, both newest first.
func (f *Facts) moves(pick func(*ledger.Move) bool) []RecordedMove {
	picked := []RecordedMove{}
	for _, all := range [...][]ledger.Move{f.InFlight, f.Ended} {
		for i := range slices.Backward(all) {
			if pick(&all[i]) {
				picked = append(picked, recordedMoveOf(&all[i]))
			}
		}
	}
	return picked
}

// Moves returns all moves of the ledger, in the order of moves.
func (f *Facts) Moves() []RecordedMove { return f.moves(func(*ledger.Move) bool { return true }) }

// PlannedMove is a move that a cycle would make now.
type PlannedMove struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	From      string `json:"from"`
	To        string `json:"to"`
	Reason    string `json:"reason"`
	// Plugin is the descheduler plugin that asks for the move; absent for a strategy's
	// move.
	Plugin string `json:"plugin,omitempty"`
	// DryRun is true if the move would only be logged, because its plugin is in dry run.
	DryRun bool    `json:"dryRun,omitempty"`
	Usage  Amounts `json:"usage"`
	// ToBefore and ToAfter are the destination's predicted usage before and after the
	// move, if moves are made in the order of the plan; absent if it is unknown.
	ToBefore *Percents `json:"toBefore,omitempty"`
	ToAfter  *Percents `json:"toAfter,omitempty"`
}

// why explains the move in words.
func (m *PlannedMove) why() string {
	why := cmp.Or(reasons.Reason(m.Reason), reasons.NodeHot).Sentence()
	if m.Plugin != "" {
		why = m.Plugin + " asks for it, and its destination is a better place by that plugin's own rules"
	}
	if m.DryRun {
		why += " (only logged, because its plugin is in dry run)"
	}
	return why
}

func plannedMoveOf(m *strategies.Move) PlannedMove {
	move := PlannedMove{
		Namespace: m.Namespace, Pod: m.Name, From: m.From, To: m.To, Reason: string(m.Reason), Plugin: m.Plugin, DryRun: m.DryRun, Usage: AmountsOf(m.Usage),
	}
	move.ToBefore, move.ToAfter = changeOf(m.ToBefore, m.ToAfter)
	return move
}

// changeOf converts a change of usage; nil if it is unknown, because no node uses exactly
// nothing.
func changeOf(before, after cluster.Percents) (was, will *Percents) {
	if before == (cluster.Percents{}) && after == (cluster.Percents{}) {
		return nil, nil
	}
	return new(PercentsOf(before)), new(PercentsOf(after))
}

// ExplainedMove is a planned move in an explanation.
type ExplainedMove struct {
	PlannedMove
	// CeilingPercent is the limit, in percent of allocatable CPU, that replaces the
	// destination's reject line; absent if the reject line applies.
	CeilingPercent float64 `json:"ceilingPercent,omitempty"`
	// Expected is the hot time that the move is expected to save; absent if unknown.
	Expected *Saved `json:"expected,omitempty"`
}

// plannedMoves returns the plan's moves that match a condition.
func (f *Facts) plannedMoves(pick func(*strategies.Move) bool) []ExplainedMove {
	picked := []ExplainedMove{}
	if f.Planned == nil {
		return picked
	}
	for i := range f.Planned.Plan.Moves {
		m := &f.Planned.Plan.Moves[i]
		if !pick(m) {
			continue
		}
		move := ExplainedMove{PlannedMove: plannedMoveOf(m)}
		if m.CeilingMilliCores > 0 {
			move.CeilingPercent = 100 * strategies.FullCeiling
		}
		if d := m.Decision(nil); d.WithinMinutes > 0 {
			move.Expected = &Saved{d.HotMinutesSaved, d.WithinMinutes}
		}
		picked = append(picked, move)
	}
	return picked
}

// PlanMove is a planned move in the report of a plan.
type PlanMove struct {
	PlannedMove
	Owner   string `json:"owner"`
	Message string `json:"message"`
	// Cost is the cost of moving the pod; a plain pod costs 1.
	Cost float64 `json:"cost"`
	// FromBefore and FromAfter are the usage of the source before and after the move, if
	// moves are made in this order; absent if it is unknown.
	FromBefore *Percents `json:"fromBefore,omitempty"`
	FromAfter  *Percents `json:"fromAfter,omitempty"`
	// HotMinutesSaved is the expected reduction in hot minutes of source and destination
	// within four hours; absent if the source's hot time is unknown.
	HotMinutesSaved float64 `json:"hotMinutesSaved,omitempty"`
	// Ahead is the expected peak of a source that is not hot yet; absent for a hot
	// source. If Ahead is set, HotMinutesSaved covers its WithinMinutes.
	Ahead *Recurring `json:"ahead,omitempty"`
}

func planMoveOf(m *strategies.Move, evidence []thresholds.Evidence) PlanMove {
	move := PlanMove{
		PlannedMove: plannedMoveOf(m), Owner: m.Owner.Kind + "/" + m.Owner.Name, Message: m.Sentence(evidence), Cost: m.Disruption.InPlainPods(),
		HotMinutesSaved: math.Round(m.HotMinutesSaved),
	}
	move.FromBefore, move.FromAfter = changeOf(m.FromBefore, m.FromAfter)
	if m.Ahead != nil {
		move.Ahead = RecurringOf(m.Ahead)
	}
	return move
}

// PlanEviction is an eviction by a descheduler plugin that evicts even if there is no better
// place.
type PlanEviction struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Owner     string `json:"owner,omitempty"`
	From      string `json:"from"`
	// Plugin is the plugin that evicts the pod, and Why explains why.
	Plugin string `json:"plugin"`
	Why    string `json:"why"`
	// DryRun is true if the eviction would only be logged, because the plugin is in dry run.
	DryRun bool `json:"dryRun,omitempty"`
	// To is where kube-scheduler's filters and scores lead the replacement. If it is absent,
	// NoDestination explains why.
	To            string `json:"to,omitempty"`
	NoDestination string `json:"noDestination,omitempty"`
}

func planEvictionOf(e *strategies.Eviction) PlanEviction {
	is := PlanEviction{Namespace: e.Namespace, Pod: e.Name, From: e.Node, Plugin: e.Plugin, Why: e.Why, DryRun: e.DryRun, To: e.To, NoDestination: e.NoDestination}
	if e.Owner.UID != "" {
		is.Owner = e.Owner.Kind + "/" + e.Owner.Name
	}
	return is
}
