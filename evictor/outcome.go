package evictor

import (
	"context"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor/history"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// AssessMoves judges the moves that landed, once measurements cover them.
func (e *Evictor) AssessMoves(ctx context.Context) {
	latest := e.config.Observer.Latest()
	if latest != nil && latest.Blocked != "" {
		return
	}
	_, ended := e.ledger().Moves()
	if latest != nil {
		e.trial.Judge(ctx, latest, e.config.Cluster, e.config.Clock.Now().Add(-e.config.Settings.OutcomeAfter))
		e.config.Outcomes.Saved(e.config.Saved.Look(latest.View, latest.Lines, ended))
		for uid, saved := range e.config.Saved.SoFar() {
			e.ledger().SetOutcome(uid, nil, &saved)
		}
	}
	for i := range ended {
		move := &ended[i]
		if !assessable(move, e.config.Clock.Now(), e.config.Settings.OutcomeAfter) {
			continue
		}
		facts, ok := e.outcomeFacts(latest, move)
		if !ok {
			continue
		}
		outcome := ledger.Assess(*move, facts)
		e.ledger().SetOutcome(move.PodUID, &outcome, nil)
		e.config.Outcomes.Evaluated(&outcome)
		history.LogJudged(ctx, move, &outcome)
	}
}

// assessable reports whether to judge a landed move now, that is, whether its replacement
// has been there, and its pod gone, for the given time.
func assessable(move *ledger.Move, now time.Time, after time.Duration) bool {
	if move.State != ledger.Landed || move.Outcome != nil {
		return false
	}
	since := move.Ended
	if move.Evicted.After(since) {
		since = move.Evicted
	}
	return now.Sub(since) >= after
}

// outcomeFacts gathers the facts by which a move is judged. ok is false while its source
// or its destination exists but is not measured. A move that was planned without usage is
// judged without usage.
func (e *Evictor) outcomeFacts(latest *observer.Observation, move *ledger.Move) (facts ledger.OutcomeFacts, ok bool) {
	facts = ledger.OutcomeFacts{Now: e.config.Clock.Now(), Replacement: e.config.Cluster.Replacement(move)}
	if latest == nil {
		return facts, move.FromUsed == cluster.Amounts{} && move.To != ""
	}
	snapshot := latest.View.Snapshot
	if from := snapshot.Index(move.From); from >= 0 {
		if !latest.View.Nodes[from].Known() {
			return facts, false
		}
		facts.SourceUsed = current(latest.View, from)
		facts.SourceHot = latest.States[move.From].State == thresholds.Hot
	}
	if to := snapshot.Index(move.Node); to >= 0 {
		if !latest.View.Nodes[to].Known() {
			return facts, false
		}
		if ceiling := move.CeilingOn(move.Node); ceiling > 0 {
			facts.DestinationOver = current(latest.View, to)[cluster.CPU] > ceiling || latest.Lines.OverOther(to, usage.CPU)
		} else {
			_, facts.DestinationOver = latest.Lines.Over(to)
		}
	}
	return facts, true
}
