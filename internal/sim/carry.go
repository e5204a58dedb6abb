package sim

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"context"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/strategies/realusage"
	"github.com/evenkeel/evenkeel/strategies/realusage/plan"
	"github.com/evenkeel/evenkeel/usage"
)

// execute makes the moves of a plan as the executor paces them: in order, one aside while its owner has no room.
func (e *evenkeel) execute(_ context.Context, made realusage.Made, _ func(context.Context, *v1.Pod) error) {
	moves := e.observer.Ledger()
	left := make([]ledger.Intent, len(made.Plan.Moves))
	for i := range made.Plan.Moves {
		left[i] = e.intent(&made.Plan.Moves[i], made.Observed.View)
	}
	moves.Record(e.clock, left...)
	e.carry(left)
	moves.CancelIntended(e.clock)
}

// carry makes moves that are on record, in time.
func (e *evenkeel) carry(left []ledger.Intent) {
	for at := e.clock.Add(e.policy.Interval); len(left) > 0 && e.inTime(at); {
		if e.err = e.world.until(at); e.err != nil {
			return
		}
		e.clock, e.verdict = at, nil
		var done bool
		if left, done = e.next(left); e.err != nil {
			return
		}
		if at = at.Add(e.policy.Interval); !done {
			at = e.room(left)
		}
	}
}

// inTime says whether something may still be done at a time: in the step and before the cycle's deadline.
func (e *evenkeel) inTime(at time.Time) bool {
	return !at.IsZero() && at.Sub(e.began) <= e.policy.Deadline && at.Sub(e.step) < Step
}

// next makes the first move that may be made now, and drops those before it that are not to be made any more. It returns
// those that are left.
func (e *evenkeel) next(moves []ledger.Intent) (left []ledger.Intent, done bool) {
	for i := range moves {
		never, wait := e.check(&moves[i])
		switch {
		case wait:
			left = append(left, moves[i])
		case never:
			e.observer.Ledger().Cancel(moves[i].PodUID, e.clock)
		default:
			e.err = e.move(&moves[i])
			return append(left, moves[i+1:]...), true
		}
	}
	return left, false
}

// check says that a move is not to be made any more, or that it has to wait.
func (e *evenkeel) check(intent *ledger.Intent) (never, wait bool) {
	replica, ok := e.world.replicaOf(intent.PodUID)
	if !ok {
		return true, false // the pod went meanwhile
	}
	owner := e.world.replicas[replica].Owner
	if e.world.owners[owner].rolling || !e.lands(intent.To) {
		return true, false
	}
	if reason, _ := e.restrained().Refuse(intent); reason != "" {
		return true, false
	}
	reason, wait := evictor.Room(e.world.budget(owner, e.clock), func() int { return e.world.missing(owner, e.clock) },
		func() int { return evictor.OwnerLimit(e.world.wanted(owner), e.policy.OwnerPercent) })
	return reason != "", wait
}

// lands says whether a node still takes the pod that is planned for it, which is reckoned with there.
func (e *evenkeel) lands(node string) bool {
	latest := e.observer.Latest()
	to := latest.View.Snapshot.Index(node)
	return to >= 0 && latest.Board.Lands(int32(to), cluster.Amounts{}) //nolint:gosec // a cluster has fewer than 2^31 nodes
}

// room is when the first of the moves that wait may be made; zero if never.
func (e *evenkeel) room(moves []ledger.Intent) (at time.Time) {
	for i := range moves {
		replica, ok := e.world.replicaOf(moves[i].PodUID)
		if !ok {
			continue
		}
		if next, ok := e.world.nextReady(e.world.replicas[replica].Owner, e.clock); ok && (at.IsZero() || next.Before(at)) {
			at = next
		}
	}
	return at
}

func (e *evenkeel) intent(move *plan.Move, view *usage.View) ledger.Intent {
	intent := ledger.Intent{
		Namespace: move.Namespace, Pod: move.Name, PodUID: move.UID, Owner: move.Owner, TemplateHash: move.TemplateHash,
		Usage: move.Usage, From: move.From, To: move.To, Wait: e.policy.Deadline, TTL: e.policy.MoveTTL,
	}
	if i := view.Snapshot.Index(move.From); i >= 0 {
		intent.FromUsed = view.Nodes[i].Current[usage.AtAvg5m]
	}
	return intent
}

// move evicts a pod.
func (e *evenkeel) move(intent *ledger.Intent) error {
	replica, _ := e.world.replicaOf(intent.PodUID)
	node, err := e.world.evict(types.UID(intent.PodUID), e.clock)
	if apierrors.IsTooManyRequests(err) {
		e.tally.refused++
		e.observer.Ledger().Cancel(intent.PodUID, e.clock)
		return nil
	}
	if err != nil {
		return fmt.Errorf("evicting pod %q: %w", intent.Pod, err)
	}
	e.tally.moved(intent.From, node, intent.To, replica)
	return nil
}
