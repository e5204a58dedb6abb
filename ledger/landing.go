package ledger

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// MaxAttempts is how often a replacement is booked before it is scheduled like
// any other pod.
const MaxAttempts = 2

// Quiet says that no request can concern the ledger; it takes no lock.
func (l *Ledger) Quiet() bool { return l.busy.Load() == 0 }

// Created says that the watch saw a pod that is not bound yet. The oldest open
// move of its owner and template is its, or none ever: every process sees pods
// come in the same order and pairs them alike.
func (l *Ledger) Created(pod Pod) {
	if l.Quiet() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.settle(&pod) == nil {
		l.pass(&pod, "")
	}
}

// Match returns the move that a pod being scheduled takes up, binding it to the
// pod's UID if the watch has not. It returns false for a pod like any other,
// also after MaxAttempts.
func (l *Ledger) Match(pod Pod, now time.Time) (Move, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return answer(l.pair(&pod), now)
}

// answer is what is said of a move to a request about its replacement.
func answer(move *Move, now time.Time) (Move, bool) {
	if move == nil || move.Attempts >= MaxAttempts || now.After(move.Expires()) {
		return Move{}, false
	}
	move.Asked = true
	return *move, true
}

// Overtaken says that a request about a pod came before the watch reported the
// pod, while moves of its owner are in flight: which of them it takes up, if
// any, is known when the watch has caught up.
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

// MatchUnseen is Match for a pod that the watch does not report in time: by a
// guess it takes the oldest move that it may be the replacement for, rather one
// whose pod is known to be evicted. What the watch tells then stands against
// the guess.
func (l *Ledger) MatchUnseen(pod Pod, now time.Time) (Move, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	move := l.replacing(pod.UID)
	if _, passed := l.passed[pod.UID]; move == nil && !passed && !l.landed(pod.UID) {
		if move = l.guess(&pod); move != nil {
			move.take(&pod)
			move.guessed = true
		}
	}
	return answer(move, now)
}

// Book reserves the move's usage at the node that kube-scheduler was answered
// with. A move whose pod was never measured takes the estimate for its usage.
func (l *Ledger) Book(podUID, node string, estimate cluster.Amounts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	move := l.byPod[podUID]
	if move == nil {
		return
	}
	if !move.measured() {
		l.reserve(move, "")
		move.Usage = estimate
	}
	l.reserve(move, node)
	move.Attempts++
	if move.State != Intended || move.Surging() { // else it is a guess, and its pod may stay
		move.State = Booked
	}
}

// Bound says that a pod was bound to a node. If it takes up a move, the move
// lands and its reservation ends. Bound also recognises a replacement that
// kube-scheduler never asked about.
func (l *Ledger) Bound(pod Pod, node string, now time.Time) (Move, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(pod.UID)
	move := l.settle(&pod)
	if move == nil {
		l.pass(&pod, node)
		return Move{}, false
	}
	l.land(move, node, now)
	return *move, true
}

// Reconcile brings the moves in flight to what the cluster looks like, for what
// happened before this process watched it or knew of a move: pods that left,
// and replacements that were bound.
func (l *Ledger) Reconcile(snapshot *cluster.Snapshot, now time.Time) {
	if l.Quiet() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	owners := map[string]bool{}
	for _, move := range l.inFlight {
		if !move.gone && left(snapshot, move) {
			l.evicted(move, now)
			l.leaves(move)
			move.late = true
		}
		if move.late && move.gone {
			owners[move.Owner.UID] = true
		}
	}
	for _, pod := range candidates(snapshot, owners) {
		l.boundBefore(&Pod{pod.UID, pod.Namespace, pod.Name, pod.Owner.UID, pod.Owner.Kind, pod.TemplateHash, pod.Created}, pod.Node, now)
	}
	for _, move := range l.inFlight {
		move.late = move.late && !move.gone
	}
}

// left reports whether the pod of a move is gone from its node, or is about to
// be.
func left(snapshot *cluster.Snapshot, move *Move) bool {
	i := snapshot.Index(move.From)
	if i < 0 {
		return true
	}
	for _, pod := range snapshot.Nodes[i].Pods {
		if pod.UID == move.PodUID {
			return pod.Terminating
		}
	}
	return true
}

// candidates are the pods of the given owners, in the order in which the API
// server made them.
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

// Gone says that a pod was deleted. A move that waits for it to be bound waits
// for another one: for the next that comes, or for one that came already where
// its owner had made one too many.
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

// Expects returns what a pod that took up a move is expected to use.
func (l *Ledger) Expects(podUID string) (cluster.Amounts, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	amounts, ok := l.expected[podUID]
	return amounts, ok
}

// Avoid calls visit with each node that the owner's pods are to be kept away
// from for a while.
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

// Presume reserves a pod's charge on the node it is likely to be bound to, until
// it is bound, gone or asked about again. A pod that takes up a move has its
// reservation already.
func (l *Ledger) Presume(podUID, node string, charge cluster.Charge, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(podUID)
	if podUID == "" || len(l.presumed) >= maxPresumed {
		return
	}
	l.presumed[podUID] = presumption{node, charge, now}
	l.reserves(node, charge)
}

// Unpresume ends the reservation of a pod that is asked about again: it counts
// once.
func (l *Ledger) Unpresume(podUID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(podUID)
}
