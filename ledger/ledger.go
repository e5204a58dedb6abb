// Package ledger keeps the moves in flight: what was evicted, from where, what it used, where its replacement belongs and
// what became of it. It is the handshake between the evicting and the scheduling half.
//
// A move is recorded before its eviction. Pods of one template are interchangeable, so a replacement is matched by owner
// and count and then bound to its UID. Until it is seen on a node, its usage is reserved where it was booked. The ledger
// does no I/O and never asks for the time; it is safe for concurrent use, because the evictor, the extender and the pod
// watch meet in it.
package ledger

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// State is how far a move has come.
type State string

// The states of a move. Intended, Evicted and Booked are in flight.
const (
	// Intended: recorded, the eviction is about to be called.
	Intended State = "Intended"
	// Evicted: the API server accepted the eviction; no replacement has been seen.
	Evicted State = "Evicted"
	// Booked: kube-scheduler asked for a replacement and was given a node.
	Booked State = "Booked"
	// Landed: the replacement is bound to a node.
	Landed State = "Landed"
	// Cancelled: the eviction was refused or failed, or the owner wants no replacement.
	Cancelled State = "Cancelled"
	// Expired: no replacement was seen in time.
	Expired State = "Expired"
)

// Intent is what is known of a move before it is made.
type Intent struct {
	Namespace, Pod, PodUID string
	Owner                  cluster.Owner
	TemplateHash           string
	// Usage is what the pod was measured at; its replacement is expected to use as much. Zero is not known.
	Usage cluster.Amounts
	From  string
	// To is the planned destination; empty for an eviction by a plugin that plans none.
	To string
	// TTL is how long the move may be in flight: the pod's grace period plus a margin.
	TTL time.Duration
}

// Move is an Intent and what became of it.
type Move struct {
	ID uint64
	Intent
	State State
	// Node is where usage is reserved or, once Landed, where the replacement is bound.
	Node string
	// Replacement is the UID of the pod that takes the move up, ReplacementName its name; empty until one was seen.
	Replacement, ReplacementName string
	// Asked says that kube-scheduler asked this process where the replacement may go.
	Asked bool
	// Attempts counts how often the replacement was booked.
	Attempts int
	Recorded time.Time
	// Ended is when the move landed, was cancelled or expired.
	Ended time.Time
}

// InFlight says whether the move still holds a reservation.
func (m *Move) InFlight() bool {
	return m.State == Intended || m.State == Evicted || m.State == Booked
}

// Config bounds a Ledger.
type Config struct {
	// SourceAvoidance is how long an owner's pods are kept away from the node one was moved from.
	SourceAvoidance time.Duration
	// KeepEnded is how many ended moves are remembered.
	KeepEnded int
	// OnReserve, which may be nil, is told every change of a node's reserved usage, under the ledger's lock.
	OnReserve func(node string, by cluster.Amounts)
}

// Ledger holds moves. The zero value is not usable; see New.
type Ledger struct {
	config Config
	// busy counts moves that a scheduling request could concern, so that requests in quiet times take no lock.
	busy atomic.Int64

	mu       sync.Mutex
	nextID   uint64
	inFlight []*Move
	ended    []*Move // oldest first
	expected map[string]cluster.Amounts
}

// New returns an empty Ledger.
func New(config Config) *Ledger {
	if config.KeepEnded <= 0 {
		config.KeepEnded = 1000
	}
	return &Ledger{config: config, expected: map[string]cluster.Amounts{}}
}

// Record enters an intent and reserves its usage at its destination. Call it before the eviction.
func (l *Ledger) Record(intent Intent, now time.Time) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nextID++
	move := &Move{ID: l.nextID, Intent: intent, State: Intended, Recorded: now}
	l.inFlight = append(l.inFlight, move)
	l.busy.Add(1)
	l.reserve(move, intent.To)
	return move.ID
}

// Confirm says that the API server accepted the eviction.
func (l *Ledger) Confirm(id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if move := l.find(id); move != nil && move.State == Intended {
		move.State = Evicted
	}
}

// Cancel ends a move whose eviction did not happen, and releases what it reserved.
func (l *Ledger) Cancel(id uint64, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if move := l.find(id); move != nil {
		l.end(move, Cancelled, now)
	}
}

// CancelOwner ends the oldest in-flight moves of an owner that have no replacement yet, as many as given: the owner was
// scaled down and will not create them.
func (l *Ledger) CancelOwner(ownerUID string, count int, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, move := range append([]*Move(nil), l.inFlight...) {
		if count > 0 && move.Owner.UID == ownerUID && move.Replacement == "" {
			l.end(move, Cancelled, now)
			count--
		}
	}
}

// Expire ends the moves whose time is over. Call it at every observation.
func (l *Ledger) Expire(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, move := range append([]*Move(nil), l.inFlight...) {
		if now.Sub(move.Recorded) > move.TTL {
			l.end(move, Expired, now)
		}
	}
	l.prune(now)
}

// Reserved calls visit with the usage that moves in flight reserve, move by move, and then publish, before any further
// change is reported to OnReserve: what publish makes visible and what follows add up.
func (l *Ledger) Reserved(visit func(node string, by cluster.Amounts), publish func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, move := range l.inFlight {
		if move.Node != "" {
			visit(move.Node, move.Usage)
		}
	}
	publish()
}

// Expected returns, by UID, what replacements that landed are expected to use until they are measured.
func (l *Ledger) Expected() map[string]cluster.Amounts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.expected)
}

// MovesOf returns copies of an owner's moves, those in flight first, oldest first.
func (l *Ledger) MovesOf(ownerUID string) []Move {
	l.mu.Lock()
	defer l.mu.Unlock()
	var moves []Move
	for _, all := range [...][]*Move{l.inFlight, l.ended} {
		for _, move := range all {
			if move.Owner.UID == ownerUID {
				moves = append(moves, *move)
			}
		}
	}
	return moves
}

// Moving says whether a pod is being moved away.
func (l *Ledger) Moving(podUID string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, move := range l.inFlight {
		if move.PodUID == podUID {
			return true
		}
	}
	return false
}

// Get returns a copy of a move.
func (l *Ledger) Get(id uint64) (Move, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if move := l.find(id); move != nil {
		return *move, true
	}
	for _, move := range l.ended {
		if move.ID == id {
			return *move, true
		}
	}
	return Move{}, false
}

// Moves returns copies of the moves in flight and of the ended ones that are remembered, oldest first.
func (l *Ledger) Moves() (inFlight, ended []Move) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, move := range l.inFlight {
		inFlight = append(inFlight, *move)
	}
	for _, move := range l.ended {
		ended = append(ended, *move)
	}
	return inFlight, ended
}

func (l *Ledger) find(id uint64) *Move {
	for _, move := range l.inFlight {
		if move.ID == id {
			return move
		}
	}
	return nil
}

// reserve moves a move's reservation to a node; empty means nowhere.
func (l *Ledger) reserve(move *Move, node string) {
	if move.Node == node {
		return
	}
	if l.config.OnReserve != nil {
		if move.Node != "" {
			l.config.OnReserve(move.Node, cluster.Amounts{}.Minus(move.Usage))
		}
		if node != "" {
			l.config.OnReserve(node, move.Usage)
		}
	}
	move.Node = node
}

// end takes a move out of flight. A landed move keeps its Node: the pod is there, only the reservation ends.
func (l *Ledger) end(move *Move, state State, now time.Time) {
	node := move.Node
	l.reserve(move, "")
	if state == Landed {
		move.Node = node
	}
	move.State, move.Ended = state, now
	for i, other := range l.inFlight {
		if other == move {
			l.inFlight = append(l.inFlight[:i], l.inFlight[i+1:]...)
			break
		}
	}
	l.ended = append(l.ended, move)
}

// prune forgets ended moves beyond the bound, and what they expected, and counts who still matters to a request.
func (l *Ledger) prune(now time.Time) {
	if excess := len(l.ended) - l.config.KeepEnded; excess > 0 {
		l.ended = append([]*Move(nil), l.ended[excess:]...)
	}
	busy := len(l.inFlight)
	expected := map[string]cluster.Amounts{}
	for _, move := range l.ended {
		if l.avoids(move, now) {
			busy++
		}
		if move.State == Landed && move.measured() && now.Sub(move.Ended) < expectFor {
			expected[move.Replacement] = move.Usage
		}
	}
	l.expected = expected
	l.busy.Store(int64(busy))
}

// expectFor is how long a landed replacement is expected to use what its predecessor was measured at, unless it is
// measured itself before: two windows of five minutes.
const expectFor = 10 * time.Minute

func (l *Ledger) avoids(move *Move, now time.Time) bool {
	return move.State != Cancelled && now.Sub(move.Recorded) < l.config.SourceAvoidance
}
