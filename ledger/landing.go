package ledger

import (
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// Pod is what the ledger needs of a pod that is being scheduled or was bound.
type Pod struct {
	UID, Name, OwnerUID, OwnerKind, TemplateHash string
}

// MaxAttempts is how often a replacement is booked before it is scheduled like any other pod.
const MaxAttempts = 2

// Quiet says that no request can concern the ledger; it takes no lock.
func (l *Ledger) Quiet() bool { return l.busy.Load() == 0 }

// Match returns the move that a pod being scheduled takes up, binding it to the pod's UID on first sight. Pods of one
// owner and template are interchangeable, a StatefulSet's only under the same name. It returns false for a pod like any
// other, also after MaxAttempts.
func (l *Ledger) Match(pod Pod, now time.Time) (Move, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	move := l.match(pod, now)
	if move == nil || move.Attempts >= MaxAttempts {
		return Move{}, false
	}
	move.Asked = true
	return *move, true
}

func (l *Ledger) match(pod Pod, now time.Time) *Move {
	if pod.UID == "" || pod.OwnerUID == "" {
		return nil
	}
	var open *Move
	for _, move := range l.inFlight {
		switch {
		case move.Replacement == pod.UID:
			return move
		case open == nil && move.takes(pod) && now.Sub(move.Recorded) <= move.TTL:
			open = move
		}
	}
	if open != nil {
		open.Replacement, open.ReplacementName = pod.UID, pod.Name
	}
	return open
}

func (m *Move) takes(pod Pod) bool {
	if m.Replacement != "" || m.Owner.UID != pod.OwnerUID || m.TemplateHash != pod.TemplateHash || m.PodUID == pod.UID {
		return false
	}
	return m.Owner.Kind != "StatefulSet" || m.Pod == pod.Name
}

// Book reserves the move's usage at the node that kube-scheduler was answered with. A move whose pod was never measured
// takes the estimate for its usage.
func (l *Ledger) Book(id uint64, node string, estimate cluster.Amounts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	move := l.find(id)
	if move == nil {
		return
	}
	if !move.measured() {
		l.reserve(move, "")
		move.Usage = estimate
	}
	l.reserve(move, node)
	move.State = Booked
	move.Attempts++
}

// Bound says that a pod was bound to a node. If it takes up a move, the move lands and its reservation ends. Bound also
// recognises a replacement that kube-scheduler never asked about.
func (l *Ledger) Bound(pod Pod, node string, now time.Time) (Move, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	move := l.match(pod, now)
	if move == nil {
		return Move{}, false
	}
	l.end(move, Landed, now)
	move.Node = node
	if move.measured() {
		l.expected[pod.UID] = move.Usage
	}
	return *move, true
}

// measured says whether the move knows what its pod used; nothing is not known to be used by any pod.
func (m *Move) measured() bool { return m.Usage != cluster.Amounts{} }

// Expects returns what a pod that took up a move is expected to use.
func (l *Ledger) Expects(podUID string) (cluster.Amounts, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	amounts, ok := l.expected[podUID]
	return amounts, ok
}

// Avoid calls visit with each node that the owner's pods are to be kept away from for a while.
func (l *Ledger) Avoid(ownerUID string, now time.Time, visit func(node string)) {
	if ownerUID == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, moves := range [...][]*Move{l.inFlight, l.ended} {
		for _, move := range moves {
			if move.Owner.UID == ownerUID && l.avoids(move, now) {
				visit(move.From)
			}
		}
	}
}
