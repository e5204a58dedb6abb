// Package ledger keeps the moves in flight: which pod was evicted from which node, what
// it used, where its replacement belongs and what became of the replacement. It connects
// the half of Evenkeel that evicts with the half that schedules.
//
// A move is recorded before its eviction. Pods of one template are interchangeable. A
// replacement is therefore matched by owner and count and then bound to its UID, in the
// order in which the API server created the pods, so that all processes form the same
// pairs. Until the replacement is seen on a node, its usage is reserved where it was
// booked. Only one process writes: its Ledger is exported as a Document, which the other
// processes adopt. The ledger does no I/O and reads no clock. It is safe for concurrent
// use, because the evictor, the extender and the pod watch share it.
package ledger

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// maxDenied bounds the message of a denial, in bytes.
const maxDenied = 300

// DefaultKeepEnded is the number of ended moves that are remembered by default.
const DefaultKeepEnded = 2000

// Ledger holds moves. Create it with New. Its methods take the lock; those of its book
// expect it to be held.
type Ledger struct {
	mu sync.Mutex
	book
}

// New returns an empty Ledger.
func New(config Config) *Ledger {
	if config.KeepEnded <= 0 {
		config.KeepEnded = DefaultKeepEnded
	}
	return &Ledger{book: book{
		config: config, byPod: map[string]*Move{}, expected: map[string]cluster.Amounts{}, passed: map[string]passed{},
		presumed: map[string]presumption{},
	}}
}

// SetSourceAvoidance changes how long an owner's pods are kept away from a node after one
// of them was moved off it.
func (l *Ledger) SetSourceAvoidance(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.config.SourceAvoidance = d
}

// Revision counts the changes of which other processes have to learn. When it has
// increased, the ledger must be written again.
func (l *Ledger) Revision() int64 { return l.revision.Load() }

// Record enters intents and reserves their usage at their destinations. Call it
// before the evictions. It skips pods that are already being moved.
func (l *Ledger) Record(now time.Time, intents ...Intent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, intent := range intents {
		if l.byPod[intent.PodUID] == nil {
			l.enter(&Move{Intent: intent, State: Intended, Recorded: now}, intent.To)
		}
	}
}

// Accepted records that the API server accepted a pod's eviction, or may have.
func (l *Ledger) Accepted(podUID string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if move := l.byPod[podUID]; move != nil {
		if !move.Accepted {
			move.Accepted = true
			l.revision.Add(1)
		}
		l.evicted(move, now)
	}
}

// Leaves records that the watch reported a pod as terminating or gone. From
// then on the replacement of its move is expected.
func (l *Ledger) Leaves(podUID string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if move := l.byPod[podUID]; move != nil {
		l.evicted(move, now)
		l.leaves(move)
	}
	if pod, ok := l.passed[podUID]; ok {
		pod.came = 0
		l.passed[podUID] = pod
	}
}

// Left is like Leaves, for a pod that has ended. Owners that wait for the pod's
// end create the next one from then on.
func (l *Ledger) Left(podUID string, now time.Time) {
	l.Leaves(podUID, now)
	l.mu.Lock()
	defer l.mu.Unlock()
	if move := l.byPod[podUID]; move != nil {
		l.left(move, now)
	}
}

// Finished records that a failed or succeeded pod was evicted or, if denied is not empty,
// that its eviction was denied. Such a move is never in flight, because nothing replaces
// the pod.
func (l *Ledger) Finished(intent Intent, denied string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	move := &Move{Intent: intent, State: Cancelled, Recorded: now, Ended: now, Finished: true, Denied: boundDenial(denied)}
	if denied == "" {
		move.Evicted, move.Accepted = now, true
	}
	l.ended = append(l.ended, move)
	l.revision.Add(1)
}

// Cancel ends a move whose eviction did not happen and releases its
// reservation. A move whose pod is leaving stays in flight.
func (l *Ledger) Cancel(podUID string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if move := l.byPod[podUID]; move != nil && move.State == Intended {
		l.end(move, Cancelled, now)
	}
}

// Deny is like Cancel, for a move whose eviction admission control denied. words is the
// message of the denial.
func (l *Ledger) Deny(podUID, words string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	move := l.byPod[podUID]
	if move == nil {
		return
	}
	move.Denied = boundDenial(words)
	if move.State == Intended {
		l.end(move, Cancelled, now)
	}
	l.revision.Add(1)
}

func boundDenial(words string) string {
	return strings.ToValidUTF8(words[:min(len(words), maxDenied)], "")
}

// CancelIntended ends the moves that were recorded but never made. It is called when
// their cycle is over or their process is gone.
func (l *Ledger) CancelIntended(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, move := range slices.Clone(l.inFlight) {
		if move.State == Intended {
			l.end(move, Cancelled, now)
		}
	}
}

// CancelOwner ends up to count of an owner's oldest in-flight moves that have
// no replacement yet, because the owner was scaled down and will not create
// one.
func (l *Ledger) CancelOwner(namespace, ownerUID string, count int, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, move := range slices.Clone(l.inFlight) {
		if count > 0 && move.Namespace == namespace && move.Owner.UID == ownerUID && move.Replacement == "" {
			l.end(move, Cancelled, now)
			count--
		}
	}
}

// CancelPods ends in-flight moves without a replacement if their owner
// recreates pods under the same names and no longer wants pods of these names.
func (l *Ledger) CancelPods(namespace, ownerUID string, wanted func(pod string) bool, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, move := range slices.Clone(l.inFlight) {
		if move.Namespace == namespace && move.Owner.UID == ownerUID && move.Replacement == "" && !wanted(move.Pod) {
			l.end(move, Cancelled, now)
		}
	}
}

// Expire ends the moves that have expired. Call it at every observation.
func (l *Ledger) Expire(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, move := range slices.Clone(l.inFlight) {
		if move.expired(now) {
			l.end(move, Expired, now)
		}
	}
	l.forgetOld(now)
	l.prune(now)
}

// SetOutcome records the outcome of a landed move and the hot time that it has
// saved. A nil leaves the value unchanged. Saved is informational; other
// processes see it with the next write.
func (l *Ledger) SetOutcome(podUID string, outcome *Outcome, saved *Saved) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, move := range slices.Backward(l.ended) {
		if move.PodUID != podUID || move.State != Landed {
			continue
		}
		if saved != nil {
			move.Saved = saved
		}
		if outcome != nil {
			move.Outcome = outcome
			l.revision.Add(1)
		}
		return
	}
}

// Unsteered records why the replacement of a pod is held against its owner or
// namespace.
func (l *Ledger) Unsteered(podUID, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	move := l.byPod[podUID]
	for _, ended := range slices.Backward(l.ended) {
		if move == nil && ended.PodUID == podUID {
			move = ended
		}
	}
	if move != nil {
		move.Unsteered = reason
		l.revision.Add(1)
	}
}

// Hold returns why evictions are on hold.
func (l *Ledger) Hold() Hold {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hold
}

// SetHold puts evictions on hold; the zero value ends the hold.
func (l *Ledger) SetHold(hold Hold) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hold != hold {
		l.hold = hold
		l.revision.Add(1)
	}
}

// Reserved calls visit with each reservation, and then publish before the
// Listener receives any further change, so that no change is lost or counted
// twice.
func (l *Ledger) Reserved(visit func(node string, by cluster.Charge), publish func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, move := range l.inFlight {
		if move.Node != "" {
			visit(move.Node, cluster.Charge{Usage: move.Usage})
		}
	}
	for _, p := range l.presumed {
		visit(p.node, p.charge)
	}
	publish()
}

// Expected returns, by UID, the expected usage of landed replacements that have
// not been measured yet.
func (l *Ledger) Expected() map[string]cluster.Amounts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.expected)
}

// MovesOf returns copies of an owner's moves, first those in flight, each group
// oldest first.
func (l *Ledger) MovesOf(namespace, ownerUID string) []Move {
	l.mu.Lock()
	defer l.mu.Unlock()
	var moves []Move
	for _, all := range [...][]*Move{l.inFlight, l.ended} {
		for _, move := range all {
			if move.Owner.UID == ownerUID && move.Namespace == namespace {
				moves = append(moves, *move)
			}
		}
	}
	return moves
}

// Moving reports whether a pod is being moved away, even if its replacement has
// already come.
func (l *Ledger) Moving(podUID string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byPod[podUID] != nil
}

// Leaving reports whether a pod that is being moved has already been evicted.
func (l *Ledger) Leaving(podUID string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	move := l.byPod[podUID]
	return move != nil && !move.Evicted.IsZero()
}

// Get returns a copy of the newest move of a pod.
func (l *Ledger) Get(podUID string) (Move, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if move := l.byPod[podUID]; move != nil {
		return *move, true
	}
	for _, move := range slices.Backward(l.ended) {
		if move.PodUID == podUID {
			return *move, true
		}
	}
	return Move{}, false
}

// InFlight returns copies of the moves in flight, oldest first.
func (l *Ledger) InFlight() []Move {
	l.mu.Lock()
	defer l.mu.Unlock()
	return copies(l.inFlight)
}

// Moves returns copies of the moves in flight and of the remembered ended ones,
// oldest first.
func (l *Ledger) Moves() (inFlight, ended []Move) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return copies(l.inFlight), copies(l.ended)
}
