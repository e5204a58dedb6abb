package safeguards

import (
	"time"

	"github.com/evenkeel/evenkeel/ledger"
)

// Config holds the limits on evicting.
type Config struct {
	// MaxPerHour and its variants bound the evictions within any 60 minutes: in total, of
	// the pods in one namespace, of the pods of one owner, and off the nodes of one pool.
	// 0 means unlimited, but for a namespace it means the default share of MaxPerHour.
	MaxPerHour, MaxPerHourOfNamespace, MaxPerHourOfOwner, MaxPerHourOfPool int
	// MaxPercentPerHour, if above 0, replaces MaxPerHour by that percentage of all pods,
	// but at least LeastPerHour. MaxPercentPerHourOfOwner does the same for an owner, as
	// a percentage of its own pods, but at least LeastPerHourOfOwner.
	MaxPercentPerHour, MaxPercentPerHourOfOwner int
	// NodeSettle is how long nothing is moved off a node after a move from or
	// to it.
	NodeSettle time.Duration
	// MoveTTL is how long a move may be in flight beyond its pod's grace period. The TTL
	// of a move is the sum of both.
	MoveTTL  time.Duration
	Cooldown Cooldown
	Breaker  Breaker
}

// Cooldown is how long an owner is left alone: for Always after an earlier cycle evicted
// any of its pods, and for Base after a move that did not help. Base is doubled for each
// consecutive move that did not help, up to Max. A Base of 0 disables it; a Max below
// Base counts as Base.
type Cooldown struct {
	Always, Base, Max time.Duration
}

// Breaker defines when evicting stops. A limit of 0 allows none.
type Breaker struct {
	// MaxPending is the number of replacements that may be without a node for longer than
	// PendingAfter.
	MaxPending   int
	PendingAfter time.Duration
	// MaxUnready is the number of replacements that may be unready although they have
	// been bound for longer than UnreadyAfter or have restarted.
	MaxUnready   int
	UnreadyAfter time.Duration
	// MaxRefusedPercent is the share of the latest calls that may be refused.
	// MaxErrors consecutive failures stop evicting; 0 means never.
	MaxRefusedPercent float64
	MaxErrors         int
	// Rest is how long evicting stops after too many refusals or failures, and how long
	// an expired move counts as pending.
	Rest time.Duration
	// MaxNotReadyPercent is the percentage of nodes that may be not ready.
	MaxNotReadyPercent float64
	// MaxDrainingPercent is the percentage of nodes that may have begun to be cordoned,
	// drained or deleted within StandBack. MaxUnschedulablePercent is the number of pods
	// created within StandBack that may be waiting for a node, as a percentage of all
	// pods. Beyond either, evicting stands back for at most StandBack.
	MaxDrainingPercent, MaxUnschedulablePercent float64
	StandBack                                   time.Duration
}

// Facts are the input of a Verdict.
type Facts struct {
	// InFlight and Ended are the ledger's moves, each oldest first.
	InFlight, Ended []ledger.Move
	// CycleStart is when the current cycle began, because its own moves settle no nodes;
	// zero if all moves are from earlier cycles.
	CycleStart time.Time
	// Unsteered reports whether moves whose replacements were not steered stop their
	// namespaces. This ends when kube-scheduler asks again.
	Unsteered bool
	// Pods counts the pods to which percentage bounds refer; nil if they are not counted.
	// It must not be changed later.
	Pods *Census
	// Nodes is the number of nodes, and NotReady the number of those that are not ready.
	Nodes, NotReady int
	// Replacement returns the state of a move's replacement; it may be nil.
	Replacement func(move *ledger.Move) ledger.Replacement
	// Unrest tracks the changes that others make to the cluster; it may be nil.
	Unrest *Unrest
	// Calls holds the latest eviction calls: at least 20, and at least Breaker.MaxErrors.
	Calls []Call
	// Closed explains why the calendar forbids evicting; empty if it does not. Opens is
	// when it allows evicting again; zero if unknown.
	Closed string
	Opens  time.Time
}

// Call is an eviction call with its result.
type Call struct {
	Whose
	Pod string
	At  time.Time
	// Refused reports whether the call was rejected with status 429, by a
	// PodDisruptionBudget or because of too many requests. Err reports whether it failed
	// for another reason.
	Refused, Err bool
}
