package ledger

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// Pod is what the ledger needs of a pod that is being scheduled or was bound.
type Pod struct {
	UID, Namespace, Name, OwnerUID, OwnerKind, TemplateHash string
	// Created is when the API server made it; zero where that is not known.
	Created time.Time
}

// MaxAttempts is how often a replacement is booked before it is scheduled like any other pod.
const MaxAttempts = 2

// Quiet says that no request can concern the ledger; it takes no lock.
func (l *Ledger) Quiet() bool { return l.busy.Load() == 0 }

// Created says that the watch saw a pod that is not bound yet. The oldest open move of its owner and template is its, or none
// ever: every process sees pods come in the same order and pairs them alike.
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

// passed is a pod that replaces nothing.
type passed struct {
	pod  Pod
	node string // empty until it is bound
	// came is when the watch told of it, in the ledger's count of what it was told; 0 for one that can replace nothing.
	came int64
}

// pass remembers that a pod is no replacement, as long as it could be taken for one.
func (l *Ledger) pass(pod *Pod, node string) {
	if !l.concerns(pod.OwnerUID) {
		return
	}
	known, ok := l.passed[pod.UID]
	if !ok {
		l.told++
		known = passed{pod: *pod, came: l.told}
	}
	known.node = node
	l.passed[pod.UID] = known
}

// concerns says whether a move of the owner is in flight, so that it matters which of its pods are no replacements.
func (l *Ledger) concerns(ownerUID string) bool {
	return slices.ContainsFunc(l.inFlight, func(move *Move) bool { return move.Owner.UID == ownerUID })
}

// settle returns the move that a pod replaces now that the watch has told of it, whichever was guessed before.
func (l *Ledger) settle(pod *Pod) *Move {
	guess := l.replacing(pod.UID)
	if guess == nil || !guess.guessed {
		return l.pair(pod)
	}
	before := *guess
	guess.vacate()
	move := l.pair(pod)
	if move == guess {
		if move.Attempts = before.Attempts; move.Attempts > 0 {
			move.State = Booked
		}
		return move
	}
	l.reserve(guess, guess.To)
	l.revision.Add(1)
	if move != nil {
		move.Asked = move.Asked || before.Asked
	}
	return move
}

// vacate takes the replacement from a move.
func (m *Move) vacate() {
	m.Replacement, m.ReplacementName, m.Attempts, m.guessed = "", "", 0, false
}

// take gives a move its replacement, in place of one that was guessed.
func (m *Move) take(pod *Pod) {
	m.vacate()
	m.Replacement, m.ReplacementName = pod.UID, pod.Name
}

// Match returns the move that a pod being scheduled takes up, binding it to the pod's UID if the watch has not. It returns
// false for a pod like any other, also after MaxAttempts.
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

// Overtaken says that a request about a pod came before the watch told of the pod, while moves of its owner are in flight:
// which of them it takes up, if any, is known when the watch has caught up.
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

// MatchUnseen is Match for a pod that the watch does not tell of in time: by a guess it takes the oldest move that it may be
// the replacement for, rather one whose pod is known to be evicted. What the watch tells then stands against the guess.
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

// guess returns the oldest move without a replacement that a pod may be for, of those whose pods are evicted if there is one.
func (l *Ledger) guess(pod *Pod) *Move {
	var guess *Move
	for _, move := range l.inFlight {
		if move.Replacement != "" || !move.mayTake(pod) {
			continue
		}
		if !move.Evicted.IsZero() {
			return move
		}
		guess = cmp.Or(guess, move)
	}
	return guess
}

// pair returns the move that a pod replaces, giving it one if it has none and may.
func (l *Ledger) pair(pod *Pod) *Move {
	if pod.UID == "" || pod.OwnerUID == "" {
		return nil
	}
	if move := l.replacing(pod.UID); move != nil {
		return move
	}
	if _, passed := l.passed[pod.UID]; passed {
		return nil
	}
	for _, move := range l.inFlight {
		if move.takes(pod) && !l.landed(pod.UID) {
			move.take(pod)
			return move
		}
	}
	return nil
}

// landed says whether a pod has replaced another one already.
func (l *Ledger) landed(podUID string) bool {
	return slices.ContainsFunc(l.ended, func(m *Move) bool { return m.State == Landed && m.Replacement == podUID })
}

// replacing returns the move in flight that a pod is known to replace.
func (l *Ledger) replacing(podUID string) *Move {
	for _, move := range l.inFlight {
		if move.Replacement == podUID {
			return move
		}
	}
	return nil
}

// Book reserves the move's usage at the node that kube-scheduler was answered with. A move whose pod was never measured
// takes the estimate for its usage.
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

// Bound says that a pod was bound to a node. If it takes up a move, the move lands and its reservation ends. Bound also
// recognises a replacement that kube-scheduler never asked about.
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

func (l *Ledger) land(move *Move, node string, now time.Time) {
	l.reserve(move, node)
	l.end(move, Landed, now)
	if move.measured() {
		l.expected[move.Replacement] = move.Usage
	}
}

// Reconcile brings the moves in flight to what the cluster looks like, for what happened before this process watched it or
// knew of a move: pods that left, and replacements that were bound.
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

// boundBefore takes in a pod that was bound before its move was known. What was seen to come while a move was known is
// settled, so only moves that came late look back.
func (l *Ledger) boundBefore(pod *Pod, node string, now time.Time) {
	move := l.replacing(pod.UID)
	if _, passed := l.passed[pod.UID]; move == nil && !passed && !l.landed(pod.UID) {
		for _, other := range l.inFlight {
			if other.late && other.takes(pod) {
				move = other
				break
			}
		}
	}
	if move != nil {
		move.take(pod)
		l.land(move, node, now)
	}
}

// left says whether the pod of a move is gone from its node, or is about to be.
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

// candidates are the pods of the given owners, in the order in which the API server made them.
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

// Gone says that a pod was deleted. A move that waits for it to be bound waits for another one: for the next that comes, or
// for one that came already where its owner had made one too many.
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

// takeOver gives a move the first pod that came after its pod left and replaces nothing.
func (l *Ledger) takeOver(move *Move, now time.Time) {
	if !move.gone || move.Surging() {
		return
	}
	var first *passed
	for uid, pod := range l.passed {
		if pod.came <= move.left || !move.takes(&pod.pod) || first != nil && pod.came > first.came {
			continue
		}
		if l.replacing(uid) == nil && !l.landed(uid) { // another process may have told so
			first = new(pod)
		}
	}
	if first == nil {
		return
	}
	delete(l.passed, first.pod.UID)
	move.take(&first.pod)
	if first.node != "" {
		l.land(move, first.node, now)
	}
}

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
