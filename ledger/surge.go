package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Surge says that a Deployment is scaled up for a move, so that the replacement comes before the pod leaves. A Surge is
// never changed; a Move is given another one.
type Surge struct {
	// Deployment is in the namespace of the move.
	Deployment string `json:"deployment"`
	// Replicas is how many pods it wanted before, and is to want again; it is scaled to one more.
	Replicas int32 `json:"replicas"`
	// Done says that nothing is left to be scaled back.
	Done bool `json:"done,omitempty"`
}

// maxSurgeReplicas bounds what a stored Surge may say.
const maxSurgeReplicas = 1000

func (s *Surge) validate() error {
	switch {
	case s == nil:
	case s.Deployment == "":
		return errors.New("its surge names no Deployment")
	case s.Replicas < 1 || s.Replicas > maxSurgeReplicas:
		return fmt.Errorf("its surge is of %d replicas, want 1 to %d", s.Replicas, maxSurgeReplicas)
	}
	return nil
}

// Surging says whether a Deployment may still be scaled up for the move.
func (m *Move) Surging() bool { return m.Surge != nil && !m.Surge.Done }

// SurgeFailed says whether a Deployment was scaled up for the move, or was about to be, and the pod stayed.
func (m *Move) SurgeFailed() bool { return m.Surge != nil && m.Surge.Done && m.Evicted.IsZero() }

// BeginSurge says that a Deployment is about to be scaled up for a move that is recorded: the pod that comes next is its
// replacement. It returns false for a move that is not in flight, or whose pod leaves already.
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

// EndSurge says that the Deployment is as it was, or is somebody else's to scale. A move whose pod stayed is over: it was
// made for nothing.
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

// Surges returns copies of the moves for which a Deployment may still be scaled up, oldest first.
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

// moving returns the move of a pod that is in flight or, having landed, waits for its pod to leave.
func (l *Ledger) moving(podUID string) *Move {
	if move := l.byPod[podUID]; move != nil {
		return move
	}
	return l.surging[podUID]
}

// learnSurge takes in what another process knows of a move's surge.
func (l *Ledger) learnSurge(mine, told *Move) {
	if mine == nil || told.Surge == nil || !told.Recorded.Equal(mine.Recorded) || mine.Surge != nil && mine.Surge.Done {
		return
	}
	mine.Surge = told.Surge
	if mine.Evicted.IsZero() {
		mine.Evicted = told.Evicted
	}
	if mine.Surging() {
		l.surging[mine.PodUID] = mine
	} else {
		delete(l.surging, mine.PodUID)
	}
}

// keepSurges forgets those that the process which scales has forgotten.
func (l *Ledger) keepSurges(d *Document) {
	told := map[string]bool{}
	for i := range d.Moves {
		told[d.Moves[i].PodUID] = told[d.Moves[i].PodUID] || d.Moves[i].Surging()
	}
	maps.DeleteFunc(l.surging, func(podUID string, _ *Move) bool { return !told[podUID] })
}
