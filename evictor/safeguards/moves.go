package safeguards

import (
	"cmp"
	"fmt"
	"time"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// crashLoop is the number of restarts at which a replacement counts as unready
// even while it is ready.
const crashLoop = 3

// unreadyFor is how long a replacement continues to count as unready after the time by
// which it should have been ready.
const unreadyFor = time.Hour

// deniedFor is how long an owner is left alone after admission control has
// denied the eviction of one of its pods.
const deniedFor = 10 * time.Minute

// unaskedFor is how long a namespace is left alone after a webhook could not be called
// for one of its pods. Webhooks are selected by namespace, so evictions of other owners
// would also fail. The time is short because a restarting webhook soon works again.
const unaskedFor = time.Minute

// take adds a move to the verdict.
func (v *Verdict) take(move *ledger.Move, facts *Facts) {
	if move.Finished { // no running pod was disrupted, and no replacement is expected
		v.deny(move)
		return
	}
	v.charge(move)
	v.learn(move)
	v.rest(move, facts.CycleStart)
	v.deny(move)
	v.settle(move, facts.CycleStart)
	if v.isPending(move) {
		v.count(move, move.Pod, pending, true)
	}
	v.steered(move, facts)
	if v.isUnready(move, facts.Replacement) {
		b := &v.config.Breaker
		v.count(move, move.ReplacementName, unready, within(move.Ended, v.now, sum(b.UnreadyAfter, b.Rest)))
	}
}

// UnsteeredFor is how long an owner, or a namespace, is left alone after a
// replacement that was not steered.
const UnsteeredFor = 30 * time.Minute

// steered records a replacement that was not steered. A replacement that was created with
// a node proves nothing about steering in general, but it shows that evicting further
// pods of its owner would be in vain.
func (v *Verdict) steered(move *ledger.Move, facts *Facts) {
	at := evictedAt(move)
	bound := move.CameBound || reasons.Reason(move.Unsteered) == reasons.Unsteerable
	if !bound && move.Unsteered == "" || !within(at, v.now, UnsteeredFor) {
		return
	}
	switch owner := v.ownerOf(move); {
	case !bound:
		if facts.Unsteered {
			v.count(move, move.Pod, unsteered, true)
			v.unsteered[move.Namespace] = reasons.Reason(move.Unsteered)
		}
	case owner != nil && at.After(owner.bound.since):
		owner.bound = settling{at, move.Namespace + "/" + move.Pod}
	}
}

// deny records when admission control last denied a move of an owner, and when a webhook
// could last not be called for a move in a namespace.
func (v *Verdict) deny(move *ledger.Move) {
	if move.Denied == "" {
		return
	}
	last := denied{move.Ended, move.Denied}
	if owner := v.ownerOf(move); owner != nil && last.at.After(owner.denied.at) && within(last.at, v.now, deniedFor) {
		owner.denied = last
	}
	counts := max(deniedFor, v.config.Breaker.Rest)
	if unasked(move.Denied) && last.at.After(v.unasked[move.Namespace].at) && within(last.at, v.now, counts) {
		v.unasked[move.Namespace] = last
	}
}

// count records the trouble with a replacement: for its owner and its namespace and,
// while it is recent, for everyone. A replacement that is as unready as its pod was
// counts only for its owner.
func (v *Verdict) count(move *ledger.Move, name string, kind troubleKind, recent bool) {
	of, name := Whose{move.Namespace, move.Owner.UID}, move.Namespace+"/"+name
	if owner := v.ownerOf(move); owner != nil {
		owner.troubles[kind].add(of, name)
	}
	if kind == unready && move.Unready {
		return
	}
	entry(v.namespaces, move.Namespace)[kind].add(of, name)
	if recent {
		v.together[kind].add(of, name)
	}
}

// learn extends or ends an owner's streak of moves that did not help.
func (v *Verdict) learn(move *ledger.Move) {
	at, helped := time.Time{}, false
	switch {
	case move.State == ledger.Landed && move.Outcome != nil:
		at, helped = move.Outcome.Judged, move.Outcome.Helped()
	case move.State == ledger.Expired && !move.Evicted.IsZero():
		at = move.Ended
	}
	owner := v.ownerOf(move)
	if owner == nil || !known(at, v.now) {
		return
	}
	if helped {
		owner.unhelpful, owner.since, owner.cycle = 0, time.Time{}, time.Time{}
		return
	}
	if owner.unhelpful == 0 || !move.Recorded.Equal(owner.cycle) { // the moves of one cycle count once
		owner.unhelpful++
	}
	owner.cycle = move.Recorded
	if at.After(owner.since) {
		owner.since = at
	}
}

// after returns how long an owner is left alone after the given number of
// unhelpful moves in a row.
func (c *Cooldown) after(unhelpful int) time.Duration {
	if unhelpful <= 0 || c.Base <= 0 {
		return 0
	}
	cooldown := c.Base
	for range unhelpful - 1 {
		if cooldown > c.Max/2 {
			return c.Max
		}
		cooldown *= 2
	}
	return cooldown
}

// rest records when an earlier cycle last evicted one of an owner's pods.
func (v *Verdict) rest(move *ledger.Move, cycleStart time.Time) {
	evicted, owner := evictedAt(move), v.ownerOf(move)
	if owner != nil && known(evicted, v.now) && evicted.After(owner.moved) && !ofCycle(move, cycleStart) {
		owner.moved = evicted
	}
}

// ofCycle reports whether a move belongs to the current cycle.
func ofCycle(move *ledger.Move, cycleStart time.Time) bool {
	return !cycleStart.IsZero() && !move.Recorded.Before(cycleStart)
}

// coolsDown returns whether an owner is left alone, and until when.
func (v *Verdict) coolsDown(o *owner) closure {
	cooldown, always := v.config.Cooldown.after(o.unhelpful), v.config.Cooldown.Always
	switch {
	case within(o.since, v.now, cooldown):
		until := o.since.Add(cooldown)
		return closure{reasons.OwnerCoolingDown, fmt.Sprintf("until %s, after moves of %d cycles in a row that did not help", stamp(until), o.unhelpful), until}
	case always > 0 && within(o.moved, v.now, always):
		until := o.moved.Add(always)
		return closure{reasons.OwnerCoolingDown, fmt.Sprintf("until %s, after its last move", stamp(until)), until}
	}
	return closure{}
}

// settle records which nodes a move touched, and when it last did so.
func (v *Verdict) settle(move *ledger.Move, cycleStart time.Time) {
	evicted := evictedAt(move)
	if evicted.IsZero() || ofCycle(move, cycleStart) {
		return
	}
	v.touch(move.From, evicted, move)
	switch move.State {
	case ledger.Landed:
		v.touch(move.From, move.Ended, move)
		v.touch(move.Node, move.Ended, move)
	case ledger.Evicted, ledger.Booked:
		v.touch(cmp.Or(move.Node, move.To), evicted, move)
	case ledger.Intended, ledger.Cancelled, ledger.Expired:
	}
}

func (v *Verdict) touch(node string, at time.Time, move *ledger.Move) {
	if node != "" && within(at, v.now, v.config.NodeSettle) && at.After(v.nodes[node].since) {
		v.nodes[node] = settling{since: at, pod: move.Namespace + "/" + move.Pod}
	}
}

// isPending reports whether a replacement has been without a node for too long, not
// counting the grace period of the evicted pod, or whether its move recently expired in
// that state.
func (v *Verdict) isPending(move *ledger.Move) bool {
	b := &v.config.Breaker
	switch move.State {
	case ledger.Evicted, ledger.Booked:
		grace := max(0, move.TTL-v.config.MoveTTL)
		at := evictedAt(move)
		return known(at, v.now) && v.now.Sub(at) > sum(b.PendingAfter, grace)
	case ledger.Expired:
		return !move.Evicted.IsZero() && within(move.Ended, v.now, b.Rest)
	case ledger.Intended, ledger.Landed, ledger.Cancelled:
	}
	return false
}

// isUnready reports whether a replacement did not become ready in time, or crashes. A
// replacement that is gone does not count.
func (v *Verdict) isUnready(move *ledger.Move, replacement func(*ledger.Move) ledger.Replacement) bool {
	after := v.config.Breaker.UnreadyAfter
	if replacement == nil || move.State != ledger.Landed || !within(move.Ended, v.now, sum(after, unreadyFor)) {
		return false
	}
	is := replacement(move)
	if !is.Exists || is.Ready {
		return is.Exists && is.Restarts >= crashLoop
	}
	return is.Restarts > 0 || v.now.Sub(move.Ended) > after
}
