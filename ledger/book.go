package ledger

import (
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// presumption is what a pod is going to use on the node that kube-scheduler is
// likely to choose for it. It is this process's alone: kube-scheduler places a
// hundred pods before the watch reports the first.
type presumption struct {
	node   string
	charge cluster.Charge
	at     time.Time
}

const (
	// presumeFor is how long a pod that is not seen bound is reckoned with
	// where it was likely to go.
	presumeFor = 10 * time.Second
	// maxPresumed bounds the pods that are reckoned with.
	maxPresumed = 10_000
)

// book is what a Ledger knows.
type book struct {
	config Config
	// busy counts moves that a scheduling request could concern, so that
	// requests in quiet times take no lock.
	busy atomic.Int64
	// revision counts changes that others have to know.
	revision atomic.Int64

	inFlight []*Move          // in the order of their recording
	byPod    map[string]*Move // those in flight, by the UID of the pod that is moved
	ended    []*Move          // oldest first
	expected map[string]cluster.Amounts
	// passed holds the pods that replace nothing: they came when no move of
	// their owner was open.
	passed map[string]passed
	// told counts what the watch reported pods that matter here, so that it is
	// known what came first.
	told int64
	hold Hold
	// presumed holds pods that kube-scheduler is placing, by UID.
	presumed map[string]presumption
	// surging holds the moves for which a Deployment may still be scaled up, in
	// flight or landed, by the UID of their pod.
	surging map[string]*Move
}

// enter takes a move into flight.
func (b *book) enter(move *Move, node string) {
	b.inFlight = append(b.inFlight, move)
	b.byPod[move.PodUID] = move
	b.busy.Add(1)
	b.revision.Add(1)
	move.Node = ""
	b.reserve(move, node)
}

// leaves notes that the watch has reported a move's pod that it leaves.
func (b *book) leaves(move *Move) {
	if !move.gone {
		b.told++
		move.gone, move.left = true, b.told
	}
}

func (b *book) evicted(move *Move, now time.Time) {
	if move.Evicted.IsZero() {
		move.Evicted = now
		b.revision.Add(1)
	}
	if move.State == Intended {
		move.State = Evicted
	}
}

// reserve moves a move's reservation to a node; empty means nowhere.
func (b *book) reserve(move *Move, node string) {
	if move.Node == node {
		return
	}
	if move.Node != "" {
		b.reserves(move.Node, cluster.Charge{Usage: move.Usage}.Back())
	}
	if node != "" {
		b.reserves(node, cluster.Charge{Usage: move.Usage})
	}
	move.Node = node
}

func (b *book) reserves(node string, by cluster.Charge) {
	if b.config.Listener != nil {
		b.config.Listener.Reserved(node, by)
	}
}

// end takes a move out of flight. A landed move keeps its Node: the pod is
// there, only the reservation ends.
func (b *book) end(move *Move, state State, now time.Time) {
	node := move.Node
	b.reserve(move, "")
	if state == Landed {
		move.Node = node
	}
	move.State, move.Ended = state, now
	if i := slices.Index(b.inFlight, move); i >= 0 {
		b.inFlight = slices.Delete(b.inFlight, i, i+1)
	}
	delete(b.byPod, move.PodUID)
	if move.guessed {
		move.vacate()
	}
	if move.Replacement != "" {
		b.passed[move.Replacement] = passed{pod: Pod{OwnerUID: move.Owner.UID}} // it has had its move
	}
	b.ended = append(b.ended, move)
	b.revision.Add(1)
	if b.config.Listener != nil {
		b.config.Listener.Ended(*move)
	}
}

// prune forgets ended moves beyond the bound, and what they expected, and
// counts who still matters to a request.
func (b *book) prune(now time.Time) {
	if excess := len(b.ended) - b.config.KeepEnded; excess > 0 {
		b.ended = slices.Clone(b.ended[excess:])
	}
	maps.DeleteFunc(b.passed, func(_ string, pod passed) bool { return !b.concerns(pod.pod.OwnerUID) })
	busy := len(b.inFlight) + len(b.surging)
	expected := map[string]cluster.Amounts{}
	for _, move := range b.ended {
		if b.avoids(move, now) {
			busy++
		}
		if move.State == Landed && move.measured() && now.Sub(move.Ended) < expectFor {
			expected[move.Replacement] = move.Usage
		}
	}
	b.expected = expected
	b.busy.Store(int64(busy))
}

// avoids reports whether the owner of a move is still kept away from its
// source; a move that was never made avoids nothing.
func (b *book) avoids(move *Move, now time.Time) bool {
	return !move.Evicted.IsZero() && move.State != Cancelled && now.Sub(move.Evicted) < b.config.SourceAvoidance
}

// expectFor is how long a landed replacement is expected to use what its
// predecessor was measured at, unless it is measured itself before: two windows
// of five minutes.
const expectFor = 10 * time.Minute

// moving returns the move of a pod that is in flight or, having landed, waits
// for its pod to leave.
func (b *book) moving(podUID string) *Move {
	if move := b.byPod[podUID]; move != nil {
		return move
	}
	return b.surging[podUID]
}

// concerns reports whether a move of the owner is in flight, so that it matters
// which of its pods are no replacements.
func (b *book) concerns(ownerUID string) bool {
	return slices.ContainsFunc(b.inFlight, func(move *Move) bool { return move.Owner.UID == ownerUID })
}

// landed reports whether a pod has replaced another one already.
func (b *book) landed(podUID string) bool {
	return slices.ContainsFunc(b.ended, func(m *Move) bool { return m.State == Landed && m.Replacement == podUID })
}

// replacing returns the move in flight that a pod is known to replace.
func (b *book) replacing(podUID string) *Move {
	for _, move := range b.inFlight {
		if move.Replacement == podUID {
			return move
		}
	}
	return nil
}

func (b *book) land(move *Move, node string, now time.Time) {
	b.reserve(move, node)
	b.end(move, Landed, now)
	if move.measured() {
		b.expected[move.Replacement] = move.Usage
	}
}

// forget ends a presumption.
func (b *book) forget(podUID string) {
	if p, ok := b.presumed[podUID]; ok {
		delete(b.presumed, podUID)
		b.reserves(p.node, p.charge.Back())
	}
}

func (b *book) forgetOld(now time.Time) {
	for uid, p := range b.presumed {
		if age := now.Sub(p.at); age > presumeFor || age < 0 {
			b.forget(uid)
		}
	}
}

// passed is a pod that replaces nothing.
type passed struct {
	pod  Pod
	node string // empty until it is bound
	// came is when the watch reported it, in the ledger's count of what it was
	// told; 0 for one that can replace nothing.
	came int64
}

// Config bounds a Ledger.
type Config struct {
	// SourceAvoidance is how long an owner's pods are kept away from the node
	// one was moved from.
	SourceAvoidance time.Duration
	// KeepEnded is how many ended moves are remembered.
	KeepEnded int
	// Listener may be nil.
	Listener Listener
}

// Listener is told what changes, under the ledger's lock.
type Listener interface {
	// Reserved is told by how much that changes which is reserved on a node: the
	// usage of a move, and of a pod that kube-scheduler is placing its requests
	// too.
	Reserved(node string, by cluster.Charge)
	// Ended is told every move that ends.
	Ended(move Move)
}

// Hold is why evicting rests from one cycle to the next; the zero value holds
// nothing.
type Hold struct {
	Reason string    `json:"reason,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	// Until is when it ends by itself.
	Until time.Time `json:"until,omitzero"`
	// Asked is how many requests of kube-scheduler the extender had answered by
	// then.
	Asked int64 `json:"asked,omitempty"`
}

func copies(moves []*Move) []Move {
	all := make([]Move, len(moves))
	for i, move := range moves {
		all[i] = *move
	}
	return all
}
