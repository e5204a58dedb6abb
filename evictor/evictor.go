// Package evictor is the evicting half: it decides whether, when and in what
// order planned moves are made, and makes them through the eviction API.
//
// An Evictor goes by one policy. It says what may be moved, takes a plan, and
// makes its moves one at a time, each checked again just before its call, paced
// by what PodDisruptionBudgets and owners allow. It stops when kube-scheduler
// turns out not to be steered. A Cycle is its step function: told what time it
// is, it does the next thing or says how long to wait, so that a clock drives
// it in production and virtual time in a replay. A Client stands between the
// descheduler framework and the API server, so that upstream plugins' evictions
// pass the same pause switch, recheck, ledger record and dry run. Which moves
// to make is planned elsewhere.
package evictor

import (
	"errors"
	"sync"
	"time"

	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/calendar"
	"github.com/evenkeel/evenkeel/safeguards"
)

// Config is what an Evictor depends on.
type Config struct {
	Observer  Observer
	Cluster   Cluster
	Evictions Evictions
	// Steering proves that kube-scheduler is steered; nil where the policy does
	// not ask for it.
	Steering Steering
	// Scaler serves moves that ask for a surge; nil refuses them.
	Scaler   Scaler
	Clock    Clock
	Settings Settings
	Metrics  *Metrics
	// Outcomes counts what becomes of moves; nil does not.
	Outcomes *Outcomes
	// Progress is called whenever a cycle is alive, so that a long, paced one
	// is not taken for a hang; may be nil.
	Progress func()
}

// Settings are what a policy says about evicting.
type Settings struct {
	// Interval is the least time between two evictions, Deadline how long a
	// cycle may take, MoveTTL how long beyond its grace period a move may be in
	// flight.
	Interval, Deadline, MoveTTL time.Duration
	// ProbeTimeout is how long beyond its grace period the first replacement of
	// a cycle may take to be bound.
	ProbeTimeout time.Duration
	// OwnerSettle is how long an owner is left alone after it was rolled out or
	// scaled, OutcomeAfter how long after its landing a move is judged.
	OwnerSettle, OutcomeAfter time.Duration
	// OwnerPercent is the share of an owner's replicas that may be on the move
	// where no budget says it.
	OwnerPercent float64
	// GracePeriodSeconds overrides that of the pods; nil does not.
	GracePeriodSeconds *int64
	Safeguards         *safeguards.Rules
	// Calendar says when evicting is allowed; nil says always.
	Calendar *calendar.Calendar
}

// probeTimeout is the ProbeTimeout of every policy.
const probeTimeout = 45 * time.Second

// SettingsOf reads a policy.
func SettingsOf(e *policy.Eviction) (Settings, error) {
	calendar, err := e.Calendar()
	if err != nil {
		return Settings{}, err
	}
	return Settings{
		Interval: e.Interval.Duration, Deadline: e.CycleDeadline.Duration, MoveTTL: e.MoveTTL.Duration,
		ProbeTimeout: probeTimeout, OwnerSettle: e.OwnerSettle.Duration, OutcomeAfter: e.OutcomeAfter.Duration,
		OwnerPercent: e.MaxInFlightPercentOfOwner, Safeguards: safeguardsOf(e), Calendar: calendar,
	}, nil
}

func safeguardsOf(e *policy.Eviction) *safeguards.Rules {
	return safeguards.New(safeguards.Config{
		MaxPerHour:            e.MaxMovesPerHour,
		MaxPerHourOfNamespace: e.MaxMovesPerHourOfNamespace,
		MaxPerHourOfOwner:     e.MaxMovesPerHourOfOwner,
		MaxPerHourOfPool:      e.MaxMovesPerHourOfNodePool,
		NodeSettle:            e.NodeSettle.Duration,
		MoveTTL:               e.MoveTTL.Duration,
		Cooldown:              safeguards.Cooldown{Base: e.Cooldown.Base.Duration, Max: e.Cooldown.Max.Duration},
		Breaker: safeguards.Breaker{
			MaxPending:         e.Breaker.MaxPendingReplacements,
			PendingAfter:       e.Breaker.PendingAfter.Duration,
			MaxUnready:         e.Breaker.MaxUnreadyReplacements,
			UnreadyAfter:       e.Breaker.UnreadyAfter.Duration,
			MaxRefusedPercent:  e.Breaker.MaxRefusedPercent,
			MaxErrors:          e.Breaker.MaxErrors,
			Rest:               e.Breaker.Rest.Duration,
			MaxNotReadyPercent: e.Breaker.MaxNotReadyPercent,
		},
	})
}

// Evictor is the evicting half under one policy. Its questions may be asked
// concurrently; there is one Cycle at a time.
type Evictor struct {
	config Config

	mu         sync.Mutex
	cycleStart time.Time
	// verdict is what the safeguards said at a time, of a revision of the
	// ledger.
	verdict  *safeguards.Verdict
	at       time.Time
	revision int64
	// toldForbidden: the log has it that Deployments may not be scaled.
	toldForbidden bool
}

// New returns an Evictor.
func New(config Config) (*Evictor, error) {
	if config.Observer == nil || config.Cluster == nil || config.Evictions == nil || config.Clock == nil ||
		config.Settings.Safeguards == nil || config.Settings.Deadline <= 0 {
		return nil, errors.New("evictor: Observer, Cluster, Evictions, Clock, Safeguards and Deadline must be set")
	}
	return &Evictor{config: config}, nil
}

func (e *Evictor) ledger() *ledger.Ledger { return e.config.Observer.Ledger() }

func (e *Evictor) progress() {
	if e.config.Progress != nil {
		e.config.Progress()
	}
}

// find returns the newest observation and where it has a node; negative where it
// does not.
func (e *Evictor) find(node string) (latest *observer.Observation, i int) {
	if latest = e.config.Observer.Latest(); latest == nil {
		return nil, -1
	}
	return latest, latest.View.Snapshot.Index(node)
}
