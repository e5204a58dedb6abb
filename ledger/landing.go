package ledger

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// Quiet reports whether no request can concern the ledger. It takes no lock.
func (l *Ledger) Quiet() bool { return l.busy.Load() == 0 }

// Created records that the watch reported a pod that is not bound yet. If open moves of
// its owner and template wait for a replacement, the pod is paired with the oldest of
// them now; otherwise it is never paired. Every process sees pods come in the same order
// and so makes the same pairs.
func (l *Ledger) Created(pod Pod) {
	if l.Quiet() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pair(&pod) == nil {
		l.pass(&pod, "")
	}
}

// Match returns the move for which a pod being scheduled is the replacement, and binds
// the move to the pod's UID if the watch has not done so. It returns false for an
// unrelated pod and after MaxAttempts. The pod must be known from the watch, no matter
// who asks.
func (l *Ledger) Match(pod Pod, now time.Time) (Move, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	move := l.pair(&pod)
	if !move.awaits(now) {
		return Move{}, false
	}
	move.Asked = true
	return *move, true
}

// Overtaken reports whether a request about a pod came before the watch reported the pod,
// while its owner has moves in flight. Whether the pod is a replacement, and of which
// move, is known only once the watch has caught up.
func (l *Ledger) Overtaken(pod Pod) bool {
	if l.Quiet() {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, passed := l.passed[pod.UID]; passed || l.replacing(pod.UID) != nil {
		return false
	}
	return slices.ContainsFunc(l.inFlight, func(move *Move) bool { return move.mayTake(&pod) })
}

// Guess returns the move for which a pod unknown to the watch would be the replacement if
// the request describes the pod truthfully. This is the oldest possible move, preferably
// one whose pod is known to be evicted. Guess changes nothing.
func (l *Ledger) Guess(pod Pod, now time.Time) (Move, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	move := l.replacing(pod.UID)
	if _, passed := l.passed[pod.UID]; move == nil && !passed && !l.landed(pod.UID) {
		move = l.guess(&pod)
	}
	if !move.awaits(now) {
		return Move{}, false
	}
	return *move, true
}

// Answered records that kube-scheduler got an answer to where the replacement of a move
// may go. The reservation stays at the planned node until the replacement is bound,
// because a request must not be able to shift it. If the moved pod was never measured,
// the estimate is reserved.
func (l *Ledger) Answered(podUID string, estimate cluster.Amounts, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if move := l.byPod[podUID]; move != nil {
		l.attempt(move, move.Node, estimate, now)
	}
}

// Book records that a kube-scheduler in this process has chosen a node for the
// replacement of a move. It reserves the move's usage there, or the estimate if the moved
// pod was never measured. It returns false if the pod is not known as the replacement.
func (l *Ledger) Book(podUID, replacement, node string, estimate cluster.Amounts, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	move := l.byPod[podUID]
	if move == nil || replacement == "" || move.Replacement != replacement {
		return false
	}
	move.Asked = true
	l.attempt(move, node, estimate, now)
	return true
}

// Bound records that a pod was bound to a node. If the pod is the replacement of a move,
// the move lands and its reservation ends. Bound also recognizes a replacement that
// kube-scheduler never asked about.
func (l *Ledger) Bound(pod Pod, node string, now time.Time) (Move, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(pod.UID)
	seen := l.replacing(pod.UID) != nil
	move := l.pair(&pod)
	if move == nil {
		l.supersede(&pod, now)
		l.pass(&pod, node)
		return Move{}, false
	}
	move.CameBound = !seen && !pod.Scheduled
	l.land(move, node, now)
	return *move, true
}

// Reconcile updates the moves in flight from the cluster. It covers pods that left, and
// replacements that were bound, before this process watched the cluster or knew of the
// move.
func (l *Ledger) Reconcile(snapshot *cluster.Snapshot, now time.Time) {
	if l.Quiet() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	owners := map[string]bool{}
	for _, move := range l.inFlight {
		leaving, ended := left(snapshot, move)
		if !move.gone && leaving {
			l.evicted(move, now)
			l.leaves(move)
			move.late = true
		}
		if ended {
			l.left(move, now)
		}
		if move.late && move.gone {
			owners[move.Owner.UID] = true
		}
	}
	for _, pod := range candidates(snapshot, owners) {
		l.boundBefore(&Pod{
			UID: pod.UID, Namespace: pod.Namespace, Name: pod.Name, OwnerUID: pod.Owner.UID, OwnerKind: pod.Owner.Kind,
			TemplateHash: pod.TemplateHash, Created: pod.Created, Scheduled: pod.Scheduled,
		}, pod.Node, now)
	}
	for _, move := range l.inFlight {
		move.late = move.late && !move.gone
	}
}

// left reports whether the pod of a move is terminating or gone from its node, and
// whether it has ended. A pod on a node that no longer exists counts as terminating until
// it is deleted.
func left(snapshot *cluster.Snapshot, move *Move) (leaving, ended bool) {
	i := snapshot.Index(move.From)
	if i < 0 {
		return true, false
	}
	for _, pod := range snapshot.Nodes[i].Pods {
		if pod.UID == move.PodUID {
			return pod.Terminating, false
		}
	}
	return true, true
}

// candidates returns the pods of the given owners, in the order in which the
// API server created them.
func candidates(snapshot *cluster.Snapshot, owners map[string]bool) []*cluster.Pod {
	var pods []*cluster.Pod
	for _, node := range snapshot.Nodes {
		for _, pod := range node.Pods {
			if owners[pod.Owner.UID] && pod.Owner.UID != "" {
				pods = append(pods, pod)
			}
		}
	}
	slices.SortFunc(pods, func(a, b *cluster.Pod) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Name, b.Name))
	})
	return pods
}

// Gone records that a pod was deleted. A move that waited for this pod to be bound takes
// another pod instead: the next pod of its owner, or one that has already arrived if the
// owner created one too many.
func (l *Ledger) Gone(podUID string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(podUID)
	delete(l.passed, podUID)
	if move := l.replacing(podUID); move != nil {
		move.vacate()
		l.takeOver(move, now)
	}
}

// Expects returns the expected usage of a pod that is the replacement of a move.
func (l *Ledger) Expects(podUID string) (cluster.Amounts, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	amounts, ok := l.expected[podUID]
	return amounts, ok
}

// Avoid calls visit with each node that the owner's pods should avoid for now.
func (l *Ledger) Avoid(namespace, ownerUID string, now time.Time, visit func(node string)) {
	if ownerUID == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, moves := range [...][]*Move{l.inFlight, l.ended} {
		for _, move := range moves {
			if move.Owner.UID == ownerUID && move.Namespace == namespace && l.avoids(move, now) {
				visit(move.From)
			}
		}
	}
}

// Presume reserves a pod's charge on its likely node until it is bound, gone or asked
// about again, or until within has passed. The replacement of a move already has its
// reservation.
func (l *Ledger) Presume(podUID, node string, charge cluster.Charge, within time.Duration, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(podUID)
	if podUID == "" || len(l.presumed) >= maxPresumed {
		return
	}
	l.presumed[podUID] = presumption{node, charge, now, within}
	l.reserves(node, charge)
}

// Unpresume ends the reservation of a pod about which kube-scheduler asks
// again, so that the pod is not counted twice.
func (l *Ledger) Unpresume(podUID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(podUID)
}
