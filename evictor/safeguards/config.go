package safeguards

import (
	"time"

	"github.com/evenkeel/evenkeel/ledger"
)

// Config sets the limits on evicting.
type Config struct {
	// MaxPerHour and its variants bound the evictions within any 60 minutes: all
	// of them, and those of the pods of one namespace, of one owner and on the
	// nodes of one pool. 0 means unlimited, except for a namespace, where it means
	// the share of MaxPerHour that one may use.
	MaxPerHour, MaxPerHourOfNamespace, MaxPerHourOfOwner, MaxPerHourOfPool int
	// MaxPercentPerHour, if above 0, replaces MaxPerHour by that percentage of all
	// pods, but at least LeastPerHour. MaxPercentPerHourOfOwner does the same for
	// an owner and its own pods, with at least LeastPerHourOfOwner.
	MaxPercentPerHour, MaxPercentPerHourOfOwner int
	// NodeSettle is how long nothing is moved off a node after a move from or
	// to it.
	NodeSettle time.Duration
	// MoveTTL is how long a move may be in flight beyond its pod's grace period: a
	// move's own TTL is the sum of both.
	MoveTTL  time.Duration
	Cooldown Cooldown
	Breaker  Breaker
}

// Cooldown is how long an owner is left alone: for Always after an earlier
// cycle evicted any of its pods; after moves that did not help, for Base after
// the first, doubled after each consecutive one, at most for Max. A Base of 0
// disables the latter; a Max below Base counts as Base.
type Cooldown struct {
	Always, Base, Max time.Duration
}

// Breaker sets when evicting stops. A limit of 0 allows none.
type Breaker struct {
	// MaxPending is how many replacements may be without a node for longer than
	// PendingAfter.
	MaxPending   int
	PendingAfter time.Duration
	// MaxUnready is how many replacements may be bound for longer than
	// UnreadyAfter, or have restarted, and not be ready.
	MaxUnready   int
	UnreadyAfter time.Duration
	// MaxRefusedPercent is the share of the latest calls that may be refused.
	// MaxErrors consecutive failures stop evicting; 0 means never.
	MaxRefusedPercent float64
	MaxErrors         int
	// Rest is how long evicting stops after either, and how long an expired
	// move counts as pending.
	Rest time.Duration
	// MaxNotReadyPercent is the share of nodes that may be not ready.
	MaxNotReadyPercent float64
	// MaxDrainingPercent is the share of nodes that may be cordoned, drained or
	// being deleted. MaxUnschedulablePercent is the percentage of pods by which
	// the number of pods waiting for a node may exceed that of the hour before.
	// Beyond either, evicting stands back for at most StandBack.
	MaxDrainingPercent, MaxUnschedulablePercent float64
	StandBack                                   time.Duration
}

// Facts are the input of a Verdict.
type Facts struct {
	// InFlight and Ended are the ledger's moves, each oldest first.
	InFlight, Ended []ledger.Move
	// CycleStart is when the current cycle began. Its own moves settle no
	// nodes; zero if all moves are from earlier cycles.
	CycleStart time.Time
	// Unsteered: moves whose replacements were not steered stop their namespaces.
	// This ends when kube-scheduler asks again.
	Unsteered bool
	// Pods counts the pods to which percentage bounds refer; nil if they are not
	// counted. It must not change afterwards.
	Pods *Census
	// Nodes counts the nodes, NotReady those that are not ready.
	Nodes, NotReady int
	// Replacement returns the state of a move's replacement; may be nil.
	Replacement func(move *ledger.Move) ledger.Replacement
	// Unrest is what others change in the cluster; may be nil.
	Unrest *Unrest
	// Calls are the latest eviction calls: at least 20, and at least
	// Breaker.MaxErrors.
	Calls []Call
	// Closed is why the calendar forbids evicting; empty if it does not. Opens is
	// when it allows evicting again; zero if unknown.
	Closed string
	Opens  time.Time
}

// Call is an eviction call with its result.
type Call struct {
	Whose
	Pod string
	At  time.Time
	// Refused: by a PodDisruptionBudget, or because of too many requests (429).
	// Err: it failed otherwise.
	Refused, Err bool
}
