package safeguards

import (
	"time"

	"github.com/evenkeel/evenkeel/ledger"
)

// Config says how much restraint there is.
type Config struct {
	// MaxPerHour and its kin bound the evictions of any 60 minutes: all, and
	// those of the pods of one namespace, of one owner and on the nodes of one
	// pool. 0 is no bound.
	MaxPerHour, MaxPerHourOfNamespace, MaxPerHourOfOwner, MaxPerHourOfPool int
	// NodeSettle is how long after a move from or to it nothing is moved off a
	// node.
	NodeSettle time.Duration
	// MoveTTL is how long a move may be in flight beyond its pod's grace
	// period: what a move's own TTL has more is the grace.
	MoveTTL  time.Duration
	Cooldown Cooldown
	Breaker  Breaker
}

// Cooldown is the rest of an owner after moves that did not help: Base after
// the first, doubled with each further one in a row, Max at most. A Base of 0
// is none; a Max below Base is Base.
type Cooldown struct {
	Base, Max time.Duration
}

// Breaker says when evicting stops. What may be exceeded by nothing is 0.
type Breaker struct {
	// MaxPending is how many replacements may be without a node for longer than
	// PendingAfter.
	MaxPending   int
	PendingAfter time.Duration
	// MaxUnready is how many replacements may be bound for longer than
	// UnreadyAfter, or have restarted, and not be ready.
	MaxUnready   int
	UnreadyAfter time.Duration
	// MaxRefusedPercent is the share of the last calls that may be refused,
	// MaxErrors how many failures in a row stop evicting; 0 errors is no bound.
	MaxRefusedPercent float64
	MaxErrors         int
	// Rest is how long evicting rests after either, and how long a move that
	// expired counts as pending.
	Rest time.Duration
	// MaxNotReadyPercent is the share of nodes that may be not ready.
	MaxNotReadyPercent float64
}

// Facts are what restraint is derived from.
type Facts struct {
	// InFlight and Ended are the ledger's moves, oldest first each.
	InFlight, Ended []ledger.Move
	// CycleStart is when the cycle began, whose own moves settle no nodes; zero
	// where all moves are of earlier ones.
	CycleStart time.Time
	// Nodes counts the nodes, NotReady those of them that are not ready.
	Nodes, NotReady int
	// Replacement, which may be nil, tells how a move's replacement is.
	Replacement func(move *ledger.Move) ledger.Replacement
	// Calls are the latest eviction calls: at least 20, and as many as
	// Breaker.MaxErrors.
	Calls []Call
	// Closed says why the calendar forbids evicting, empty where it does not;
	// Opens is when it allows it again, zero where that is not known.
	Closed string
	Opens  time.Time
}

// Call is an eviction call and its answer.
type Call struct {
	At time.Time
	// Refused: by a PodDisruptionBudget, or because of too many requests (429).
	// Err: it failed otherwise.
	Refused, Err bool
}
