package ledger

import (
	"cmp"
	"slices"
	"time"
)

// pair returns the move for which a pod is the replacement. It assigns one if possible.
func (b *book) pair(pod *Pod) *Move {
	if pod.UID == "" || pod.OwnerUID == "" {
		return nil
	}
	if move := b.replacing(pod.UID); move != nil {
		return move
	}
	if _, passed := b.passed[pod.UID]; passed {
		return nil
	}
	for _, move := range b.inFlight {
		if move.takes(pod) && !b.landed(pod.UID) {
			move.take(pod)
			return move
		}
	}
	return nil
}

// guess returns the oldest move without a replacement that a pod may belong to,
// preferring moves whose pods have been evicted.
func (b *book) guess(pod *Pod) *Move {
	var guess *Move
	for _, move := range b.inFlight {
		if !move.mayTake(pod) {
			continue
		}
		if !move.Evicted.IsZero() {
			return move
		}
		guess = cmp.Or(guess, move)
	}
	return guess
}

// pass records that a pod is not a replacement. The record is kept for as long as the pod
// could be mistaken for one.
func (b *book) pass(pod *Pod, node string) {
	if !b.concerns(pod.OwnerUID) {
		return
	}
	known, ok := b.passed[pod.UID]
	if !ok {
		b.reports++
		known = passed{pod: *pod, came: b.reports}
	}
	known.node = node
	b.passed[pod.UID] = known
}

// boundBefore pairs a pod that was bound before this process knew of its move. It
// considers only late moves, because pods that came while a move was known were paired at
// once.
func (b *book) boundBefore(pod *Pod, node string, now time.Time) {
	move := b.replacing(pod.UID)
	if _, passed := b.passed[pod.UID]; move == nil && !passed && !b.landed(pod.UID) {
		for _, other := range b.inFlight {
			if other.late && other.takes(pod) {
				move = other
				break
			}
		}
	}
	if move != nil {
		move.take(pod)
		b.land(move, node, now)
	}
}

// takeOver gives a move the first pod that came after its pod left and that
// replaces nothing else.
func (b *book) takeOver(move *Move, now time.Time) {
	if !move.gone {
		return
	}
	var first *passed
	for uid, pod := range b.passed {
		if pod.came <= move.left || !move.takes(&pod.pod) || first != nil && pod.came > first.came {
			continue
		}
		if b.replacing(uid) == nil && !b.landed(uid) { // another process may have paired it
			first = new(pod)
		}
	}
	if first == nil {
		return
	}
	delete(b.passed, first.pod.UID)
	move.take(&first.pod)
	if first.node != "" {
		b.land(move, first.node, now)
	}
}

// supersede ends a move whose pod was recreated under the same name but from another
// template. Its owner was rolled out in the meantime and creates no other replacement.
func (b *book) supersede(pod *Pod, now time.Time) {
	for _, move := range slices.Clone(b.inFlight) {
		again := *pod
		again.TemplateHash = move.TemplateHash
		if pod.TemplateHash != move.TemplateHash && move.keepsName() && move.mayTake(&again) {
			b.end(move, Cancelled, now)
		}
	}
}
