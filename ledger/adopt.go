package ledger

import (
	"maps"
	"slices"
	"time"
)

// newestEnded returns the newest move of each pod that has ended here.
func (b *book) newestEnded() map[string]*Move {
	newest := make(map[string]*Move, len(b.ended))
	for _, move := range b.ended {
		if other := newest[move.PodUID]; other == nil || move.Recorded.After(other.Recorded) {
			newest[move.PodUID] = move
		}
	}
	return newest
}

// hear takes in one move as another process tells it; ended is the newest of
// the same pod that has ended here, nil for none.
func (b *book) hear(told, ended *Move, now time.Time) {
	mine := b.byPod[told.PodUID]
	if mine != nil && told.Recorded.After(mine.Recorded) { // over for the writer, and begun again
		b.end(mine, Cancelled, now)
		mine = nil
	}
	switch {
	case mine != nil && told.Recorded.Before(mine.Recorded): // a former attempt
	case mine != nil:
		b.catchUp(mine, told, now)
	case ended != nil && !told.Recorded.After(ended.Recorded):
		if ended.Outcome == nil {
			ended.Outcome = told.Outcome
		}
		b.learnSurge(ended, told)
	case told.InFlight():
		b.adopt(told, now)
	default:
		if told.State == Landed {
			b.freed(told.Replacement, told)
		}
		b.ended = append(b.ended, told)
		b.learnSurge(told, told)
	}
}

// adopt takes a move of another process into flight, reserved where that has
// it, unless its time is over here.
func (b *book) adopt(told *Move, now time.Time) {
	if now.After(told.Expires()) {
		told.State, told.Ended, told.Node = Expired, now, ""
		b.ended = append(b.ended, told)
		b.learnSurge(told, told)
		return
	}
	node := told.Node
	b.freed(told.Replacement, told)
	told.Attempts, told.Asked, told.late = 0, false, true // those are the other process's
	b.enter(told, node)
	b.learnSurge(told, told)
}

// freed takes a pod from the move that it has replaced here, because it
// replaced that of taker for the process that decides.
func (b *book) freed(podUID string, taker *Move) {
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
	if other.Surge != nil && other.Evicted.IsZero() {
		other.State = Intended
	}
	if b.byPod[other.PodUID] == nil {
		b.enter(other, other.To)
	}
}

// catchUp brings a move in flight here to what another process knows of it.
func (b *book) catchUp(mine, told *Move, now time.Time) {
	b.learnSurge(mine, told)
	if told.Replacement != "" && told.Replacement != mine.Replacement {
		b.freed(told.Replacement, mine)
		mine.Replacement, mine.ReplacementName, mine.guessed, mine.late = told.Replacement, told.ReplacementName, false, true
	}
	switch {
	case told.State.rank() <= mine.State.rank():
	case told.InFlight():
		mine.State, mine.Evicted, mine.late = told.State, told.Evicted, true
		if told.Node != "" {
			b.reserve(mine, told.Node)
		}
	default:
		if told.State == Landed {
			b.freed(told.Replacement, mine)
			b.reserve(mine, told.Node)
			mine.Replacement, mine.ReplacementName, mine.guessed = told.Replacement, told.ReplacementName, false
		}
		b.end(mine, told.State, now)
		mine.Ended, mine.Evicted, mine.Outcome = told.Ended, told.Evicted, told.Outcome
	}
}

// learnSurge takes in what another process knows of a move's surge.
func (b *book) learnSurge(mine, told *Move) {
	if mine == nil || told.Surge == nil || !told.Recorded.Equal(mine.Recorded) || mine.Surge != nil && mine.Surge.Done {
		return
	}
	mine.Surge = told.Surge
	if mine.Evicted.IsZero() {
		mine.Evicted = told.Evicted
	}
	if mine.Surging() {
		b.surging[mine.PodUID] = mine
	} else {
		delete(b.surging, mine.PodUID)
	}
}

// keepSurges forgets those that the process which scales has forgotten.
func (b *book) keepSurges(d *Document) {
	told := map[string]bool{}
	for i := range d.Moves {
		told[d.Moves[i].PodUID] = told[d.Moves[i].PodUID] || d.Moves[i].Surging()
	}
	maps.DeleteFunc(b.surging, func(podUID string, _ *Move) bool { return !told[podUID] })
}

// Export returns the ledger as a Document, without generation, writer and time,
// which are the writer's.
func (l *Ledger) Export() Document {
	l.mu.Lock()
	defer l.mu.Unlock()
	document := Document{Format: Format, Hold: l.hold, Moves: append(copies(l.inFlight), copies(l.ended)...)}
	for i := range document.Moves {
		document.Moves[i].forgetGuess()
	}
	return document
}

// Adopt brings the ledger to what another process has written: moves that are
// new here, and what became of the others. What this process has seen itself
// stands: documents come late.
func (l *Ledger) Adopt(d Document, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold = d.Hold
	before := l.newestEnded()
	for i := range d.Moves {
		told := d.Moves[i]
		if told.Outcome != nil {
			told.Outcome = new(*told.Outcome)
		}
		l.hear(&told, before[told.PodUID], now)
	}
	slices.SortStableFunc(l.ended, func(a, b *Move) int { return a.Ended.Compare(b.Ended) })
	l.keepSurges(&d)
	l.prune(now)
}

// forgetGuess leaves out what others are to learn when the watch has told it.
func (m *Move) forgetGuess() {
	if m.guessed {
		m.vacate()
	}
}
