package ledger

import (
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// presumption is a pod's expected charge on the node that kube-scheduler is
// likely to choose for it. It is needed because kube-scheduler places a hundred
// pods before the watch reports the first. Only this process knows it.
type presumption struct {
	node   string
	charge cluster.Charge
	at     time.Time
	// within is the time, counted from at, within which the watch should report the pod
	// as bound.
	within time.Duration
}

// These are the times after an answer within which the watch should report the pod as
// bound. A pod with claims may wait for its volumes as long as kube-scheduler allows:
// bindTimeoutSeconds is 600 by default. Claims are not watched, so the longer time also
// applies to pods whose claims are bound already. That costs nothing, because such pods
// are bound as soon as others.
const (
	BoundWithin       = 10 * time.Second
	ProvisionedWithin = 10 * time.Minute
)

// maxPresumed bounds the number of presumed pods.
const maxPresumed = 10_000

// book is the content of a Ledger.
type book struct {
	config Config
	// busy counts the moves that may concern a scheduling request. While it is
	// 0, requests take no lock.
	busy atomic.Int64
	// revision counts changes that other processes have to learn about.
	revision atomic.Int64

	inFlight []*Move          // in the order in which they were recorded
	byPod    map[string]*Move // the moves in flight, by the UID of the moved pod
	ended    []*Move          // oldest first
	expected map[string]cluster.Amounts
	// passed holds the pods that replace nothing because no move of their owner
	// was open when they came.
	passed map[string]passed
	// reports counts the watch's reports of relevant pods. The counts preserve
	// the order of the reports.
	reports int64
	hold    Hold
	unrest  Unrest
	calls   []Call // at most MaxCalls, oldest first
	// presumed holds the pods that kube-scheduler is placing, by UID.
	presumed map[string]presumption
}

// enter adds a move in flight.
func (b *book) enter(move *Move, node string) {
	b.inFlight = append(b.inFlight, move)
	b.byPod[move.PodUID] = move
	b.busy.Add(1)
	b.revision.Add(1)
	move.Node = ""
	b.reserve(move, node)
}

// leaves records the watch's report that a move's pod is leaving.
func (b *book) leaves(move *Move) {
	if !move.gone {
		b.reports++
		move.gone, move.left = true, b.reports
	}
}

// left records that a move's pod has ended.
func (b *book) left(move *Move, now time.Time) {
	if move.PodGone.IsZero() {
		move.PodGone = now
		b.revision.Add(1)
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

// attempt counts an attempt to place a move's replacement, with its usage
// reserved on a node.
func (b *book) attempt(move *Move, node string, estimate cluster.Amounts, now time.Time) {
	if !move.measured() {
		b.reserve(move, "")
		move.Usage = estimate
	}
	b.reserve(move, node)
	if since := now.Sub(move.answered); since >= retryAfter || since < 0 {
		move.Attempts++
		move.answered = now
	}
	move.State = Booked
}

func (b *book) reserves(node string, by cluster.Charge) {
	if b.config.Listener != nil {
		b.config.Listener.Reserved(node, by)
	}
}

// end takes a move out of flight. A landed move keeps its Node, because the pod is there.
// Only the reservation ends.
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
	if move.Replacement != "" {
		b.passed[move.Replacement] = passed{pod: Pod{OwnerUID: move.Owner.UID}} // the pod already has a move
	}
	b.ended = append(b.ended, move)
	b.revision.Add(1)
	if b.config.Listener != nil {
		b.config.Listener.Ended(*move)
	}
}

// prune forgets the oldest ended moves if there are more than KeepEnded,
// starting with moves that were never made. It also forgets their expected
// usage and recounts busy.
func (b *book) prune(now time.Time) {
	if excess := len(b.ended) - b.config.KeepEnded; excess > 0 {
		b.ended = slices.DeleteFunc(slices.Clone(b.ended), func(move *Move) bool {
			drop := excess > 0 && move.idle()
			if drop {
				excess--
			}
			return drop
		})
		b.ended = b.ended[excess:]
	}
	maps.DeleteFunc(b.passed, func(_ string, pod passed) bool { return !b.concerns(pod.pod.OwnerUID) })
	busy := len(b.inFlight)
	expected := map[string]cluster.Amounts{}
	for _, move := range b.ended {
		if b.avoids(move, now) {
			busy++
		}
		if move.State == Landed && move.measured() && Within(move.Ended, now, expectFor) {
			expected[move.Replacement] = move.Usage
		}
	}
	b.expected = expected
	b.busy.Store(int64(busy))
}

// avoids reports whether a move's owner is still kept away from the move's
// source. A move that was never made keeps nobody away.
func (b *book) avoids(move *Move, now time.Time) bool {
	return move.State != Cancelled && Within(move.Evicted, now, b.config.SourceAvoidance)
}

// expectFor is how long a landed replacement is expected to use its
// predecessor's measured usage until it is measured itself: two windows of five
// minutes.
const expectFor = 10 * time.Minute

// concerns reports whether the owner has a move in flight, so that its pods
// that replace nothing matter.
func (b *book) concerns(ownerUID string) bool {
	return slices.ContainsFunc(b.inFlight, func(move *Move) bool { return move.Owner.UID == ownerUID })
}

// landed reports whether a pod is the replacement of a landed move.
func (b *book) landed(podUID string) bool {
	return slices.ContainsFunc(b.ended, func(m *Move) bool { return m.State == Landed && m.Replacement == podUID })
}

// replacing returns the move in flight whose known replacement is the pod.
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
		if age := now.Sub(p.at); age > p.within || age < 0 {
			b.forget(uid)
		}
	}
}

// passed is a pod that replaces nothing.
type passed struct {
	pod  Pod
	node string // empty until it is bound
	// came is the value of the ledger's count of reports when the watch reported the pod;
	// 0 for a pod that cannot replace anything.
	came int64
}

// Config configures a Ledger.
type Config struct {
	// SourceAvoidance is how long an owner's pods are kept away from a node after one of
	// them was moved off it.
	SourceAvoidance time.Duration
	// KeepEnded is the number of ended moves that are remembered.
	KeepEnded int
	// Listener may be nil.
	Listener Listener
}

// Listener receives changes, under the ledger's lock.
type Listener interface {
	// Reserved receives a change to a node's reservations: a move's usage or, for
	// a pod that kube-scheduler is placing, its usage and requests.
	Reserved(node string, by cluster.Charge)
	// Ended receives every move that ends.
	Ended(move Move)
}

// Hold describes why evictions are on hold from one cycle to the next; zero for no hold.
type Hold struct {
	Reason string    `json:"reason,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	// Until is when the hold expires.
	Until time.Time `json:"until,omitzero"`
	// Asked is the number of kube-scheduler's requests that the extender had answered
	// when the hold began.
	Asked int64 `json:"asked,omitempty"`
	// Partial is true if only the namespaces of moves with Unsteered are on
	// hold.
	Partial bool `json:"partial,omitempty"`
}

func copies(moves []*Move) []Move {
	all := make([]Move, len(moves))
	for i, move := range moves {
		all[i] = *move
	}
	return all
}
