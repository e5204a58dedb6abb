package ledger

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// BeginSurge notes that a Deployment is about to be scaled up for a recorded
// move: the next pod that comes is its replacement. It returns false for a move
// that is not in flight, or whose pod is already leaving.
func (l *Ledger) BeginSurge(podUID string, surge Surge) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	move := l.byPod[podUID]
	if move == nil || move.State != Intended || move.Surging() {
		return false
	}
	surge.Done = false
	move.Surge = &surge
	l.surging[podUID] = move
	l.revision.Add(1)
	return true
}

// EndSurge notes that the Deployment is scaled back, or left to whoever scaled
// it since. A move whose pod stayed ends as well: it was made for nothing.
func (l *Ledger) EndSurge(podUID string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	move := l.surging[podUID]
	if move == nil {
		return
	}
	delete(l.surging, podUID)
	ended := *move.Surge
	ended.Done = true
	move.Surge = &ended
	l.revision.Add(1)
	switch {
	case !move.Evicted.IsZero():
	case move.InFlight():
		l.end(move, Cancelled, now)
	case move.State == Landed && move.Outcome == nil:
		move.Outcome = &Outcome{Judged: now, Planned: move.To != "" && move.Node == move.To}
	}
}

// Surges returns copies of the moves whose Deployment may still be scaled up,
// oldest first.
func (l *Ledger) Surges() []Move {
	l.mu.Lock()
	defer l.mu.Unlock()
	moves := make([]Move, 0, len(l.surging))
	for _, move := range l.surging {
		moves = append(moves, *move)
	}
	slices.SortFunc(moves, func(a, b Move) int {
		return cmp.Or(a.Recorded.Compare(b.Recorded), strings.Compare(a.PodUID, b.PodUID))
	})
	return moves
}
