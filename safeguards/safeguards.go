// Package safeguards says whether anything may be evicted now, and of whom: hourly budgets, cooldowns of owners whose moves
// did not help, nodes whose measurements have to catch up, and the breaker that stops evicting when it does harm.
//
// It decides nothing about usage, fit or PodDisruptionBudgets, and what the calendar says is told it. All it knows comes
// from the moves that the ledger remembers and a few facts beside them, so a process that starts is as restrained as the
// one that ended. Values in, values out: it never asks for the time and keeps nothing from one Verdict to the next.
//
// What has happened restrains for a stated time and then no more, however late somebody looks. A time more than an hour
// ahead of now is a clock's mistake and restrains nobody, or it would do so until then.
package safeguards

import (
	"math"
	"time"

	"github.com/evenkeel/evenkeel/ledger"
)

// Config says how much restraint there is.
type Config struct {
	// MaxPerHour and its kin bound the evictions of any 60 minutes: all, and those of the pods of one namespace, of one owner
	// and on the nodes of one pool. 0 is no bound.
	MaxPerHour, MaxPerHourOfNamespace, MaxPerHourOfOwner, MaxPerHourOfPool int
	// NodeSettle is how long after a move from or to it nothing is moved off a node.
	NodeSettle time.Duration
	// MoveTTL is how long a move may be in flight beyond its pod's grace period: what a move's own TTL has more is the grace.
	MoveTTL  time.Duration
	Cooldown Cooldown
	Breaker  Breaker
}

// Cooldown is the rest of an owner after moves that did not help: Base after the first, doubled with each further one in a
// row, Max at most. A Base of 0 is none; a Max below Base is Base.
type Cooldown struct {
	Base, Max time.Duration
}

// Breaker says when evicting stops. What may be exceeded by nothing is 0.
type Breaker struct {
	// MaxPending is how many replacements may be without a node for longer than PendingAfter.
	MaxPending   int
	PendingAfter time.Duration
	// MaxUnready is how many replacements may be bound for longer than UnreadyAfter, or have restarted, and not be ready.
	MaxUnready   int
	UnreadyAfter time.Duration
	// MaxRefusedPercent is the share of the last calls that may be refused, MaxErrors how many failures in a row stop evicting;
	// 0 errors is no bound.
	MaxRefusedPercent float64
	MaxErrors         int
	// Rest is how long evicting rests after either, and how long a move that expired counts as pending.
	Rest time.Duration
	// MaxNotReadyPercent is the share of nodes that may be not ready.
	MaxNotReadyPercent float64
}

// Facts are what restraint is derived from.
type Facts struct {
	// InFlight and Ended are the ledger's moves, oldest first each.
	InFlight, Ended []ledger.Move
	// CycleStart is when the cycle began, whose own moves settle no nodes; zero where all moves are of earlier ones.
	CycleStart time.Time
	// Nodes counts the nodes, NotReady those of them that are not ready.
	Nodes, NotReady int
	// Health, which may be nil, tells how the replacement with a UID is.
	Health func(replacementUID string) Health
	// Calls are the latest eviction calls: at least 20, and as many as Breaker.MaxErrors.
	Calls []Call
	// Closed says why the calendar forbids evicting, empty where it does not; Opens is when it allows it again, zero where that
	// is not known.
	Closed string
	Opens  time.Time
}

// Health is how a replacement is.
type Health struct {
	// Known is false for a pod that is gone.
	Known, Ready bool
	Restarts     int
	// Bound is when it was given its node; zero for when its move landed.
	Bound time.Time
}

// Call is an eviction call and its answer.
type Call struct {
	At time.Time
	// Refused: by a PodDisruptionBudget, or because of too many requests (429). Err: it failed otherwise.
	Refused, Err bool
}

// Rules are a Config to judge by. They are safe for concurrent use.
type Rules struct {
	config Config
}

// New returns Rules by a Config; what is negative in it counts as 0.
func New(config Config) *Rules {
	c := config
	for _, bound := range []*int{
		&c.MaxPerHour, &c.MaxPerHourOfNamespace, &c.MaxPerHourOfOwner, &c.MaxPerHourOfPool,
		&c.Breaker.MaxPending, &c.Breaker.MaxUnready, &c.Breaker.MaxErrors,
	} {
		*bound = max(*bound, 0)
	}
	for _, wait := range []*time.Duration{
		&c.NodeSettle, &c.MoveTTL, &c.Cooldown.Base, &c.Breaker.PendingAfter, &c.Breaker.UnreadyAfter, &c.Breaker.Rest,
	} {
		*wait = max(*wait, 0)
	}
	c.Cooldown.Max = max(c.Cooldown.Max, c.Cooldown.Base)
	return &Rules{config: c}
}

// At judges the facts at a time. The Verdict holds on to none of them.
func (r *Rules) At(facts Facts, now time.Time) *Verdict {
	v := &Verdict{
		config: &r.config, now: now, owners: map[string]*owner{}, nodes: map[string]settling{},
		namespaces: map[string]*hour{}, pools: map[string]*hour{}, before: map[string]counts{},
	}
	for _, moves := range [...][]ledger.Move{facts.Ended, facts.InFlight} {
		for i := range moves {
			v.take(&moves[i], &facts)
		}
	}
	v.hourEnds = v.freeAgain()
	v.close(&facts)
	return v
}

// aheadAtMost is by how much clocks may differ for a time to be taken seriously.
const aheadAtMost = time.Hour

// within says whether a time is less than d ago, or somewhat ahead.
func within(t, now time.Time, d time.Duration) bool {
	return known(t, now) && now.Sub(t) < d
}

// known says whether a time is one to reckon with.
func known(t, now time.Time) bool { return !t.IsZero() && t.Sub(now) <= aheadAtMost }

// sum adds durations that are not negative.
func sum(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// stamp prints a time as details have it.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
