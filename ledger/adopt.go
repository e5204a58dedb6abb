package ledger

import (
	"cmp"
	"slices"
	"time"
)

// newestEnded returns the newest ended move of each pod.
func (b *book) newestEnded() map[string]*Move {
	newest := make(map[string]*Move, len(b.ended))
	for _, move := range b.ended {
		if other := newest[move.PodUID]; other == nil || move.Recorded.After(other.Recorded) {
			newest[move.PodUID] = move
		}
	}
	return newest
}

// merge merges a move from another process into the book. ended is the newest ended move
// of the same pod in this process; nil if there is none.
func (b *book) merge(theirs, ended *Move, now time.Time) {
	ours := b.byPod[theirs.PodUID]
	if ours != nil && theirs.Recorded.After(ours.Recorded) { // the writer has ended our move and recorded a new one
		b.end(ours, Cancelled, now)
		ours = nil
	}
	switch {
	case ours != nil && theirs.Recorded.Before(ours.Recorded): // an earlier attempt
	case ours != nil:
		b.catchUp(ours, theirs, now)
	case ended != nil && !theirs.Recorded.After(ended.Recorded):
		if ended.Outcome == nil {
			ended.Outcome = theirs.Outcome
		}
		ended.Accepted = ended.Accepted || theirs.Accepted
		ended.learnSteering(theirs)
		if theirs.Saved.longer(ended.Saved) {
			ended.Saved = theirs.Saved
		}
	case theirs.InFlight():
		b.adopt(theirs, now)
	default:
		if theirs.State == Landed {
			b.release(theirs.Replacement, theirs)
		}
		b.ended = append(b.ended, theirs)
	}
}

// adopt takes another process's move into flight, reserved on the same node as in that
// process, unless it has expired here.
func (b *book) adopt(theirs *Move, now time.Time) {
	if theirs.expired(now) {
		theirs.State, theirs.Ended, theirs.Node = Expired, now, ""
		b.ended = append(b.ended, theirs)
		return
	}
	node := theirs.Node
	b.release(theirs.Replacement, theirs)
	theirs.Attempts, theirs.Asked, theirs.late = 0, false, true // these fields describe the other process
	b.enter(theirs, node)
}

// release detaches a pod from the move that it replaced here, because the
// deciding process has assigned it to taker.
func (b *book) release(podUID string, taker *Move) {
	if podUID == "" {
		return
	}
	if other := b.replacing(podUID); other != nil && other != taker {
		other.vacate()
	}
	i := slices.IndexFunc(b.ended, func(m *Move) bool { return m.State == Landed && m.Replacement == podUID })
	if i < 0 {
		return
	}
	other := b.ended[i]
	b.ended = slices.Delete(b.ended, i, i+1)
	if other.PodUID == taker.PodUID { // an older record of the same move
		return
	}
	other.State, other.Replacement, other.ReplacementName, other.Attempts, other.Ended = Evicted, "", "", 0, time.Time{}
	if b.byPod[other.PodUID] == nil {
		b.enter(other, other.To)
	}
}

// catchUp updates a move in flight with what another process knows about it.
func (b *book) catchUp(ours, theirs *Move, now time.Time) {
	ours.Accepted = ours.Accepted || theirs.Accepted
	if ours.PodGone.IsZero() {
		ours.PodGone = theirs.PodGone
	}
	if theirs.Replacement != "" && theirs.Replacement != ours.Replacement {
		b.release(theirs.Replacement, ours)
		ours.Replacement, ours.ReplacementName, ours.late = theirs.Replacement, theirs.ReplacementName, true
	}
	switch {
	case theirs.State.rank() <= ours.State.rank():
	case theirs.InFlight():
		ours.State, ours.Evicted, ours.late = theirs.State, theirs.Evicted, true
		if theirs.Node != "" {
			b.reserve(ours, theirs.Node)
		}
	default:
		if theirs.State == Landed {
			b.release(theirs.Replacement, ours)
			b.reserve(ours, theirs.Node)
			ours.Replacement, ours.ReplacementName = theirs.Replacement, theirs.ReplacementName
		}
		b.end(ours, theirs.State, now)
		ours.Ended, ours.Evicted, ours.Outcome, ours.Denied = theirs.Ended, theirs.Evicted, theirs.Outcome, theirs.Denied
		ours.Saved = theirs.Saved
	}
	ours.learnSteering(theirs)
}

// learnSteering copies what another process has observed about how the
// replacement of a move arrived.
func (m *Move) learnSteering(theirs *Move) {
	m.CameBound = m.CameBound || theirs.CameBound
	m.Unsteered = cmp.Or(theirs.Unsteered, m.Unsteered)
}

// Export returns the ledger as a Document, without the generation, writer and
// time, which the writer sets.
func (l *Ledger) Export() Document {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Document{
		Format: Format, Hold: l.hold, Unrest: l.unrest, Calls: slices.Clone(l.calls), Moves: append(copies(l.inFlight), copies(l.ended)...),
	}
}

// Adopt merges another process's document: it adds moves that are new here, and the
// results of known ones. This process's own observations take precedence, because
// documents arrive late.
func (l *Ledger) Adopt(d Document, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold, l.unrest, l.calls = d.Hold, d.Unrest, newest(d.Calls)
	before := l.newestEnded()
	for i := range d.Moves {
		theirs := d.Moves[i]
		if theirs.Outcome != nil {
			theirs.Outcome = new(*theirs.Outcome)
		}
		l.merge(&theirs, before[theirs.PodUID], now)
	}
	slices.SortStableFunc(l.ended, func(a, b *Move) int { return a.Ended.Compare(b.Ended) })
	l.prune(now)
}
