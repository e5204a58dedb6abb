// Package evictor is the evicting half: it decides whether, when and in what order
// planned moves are made, and makes them through the eviction API.
//
// An Evictor applies one policy. It decides which pods may be moved, and makes a plan's
// moves one at a time, at the pace that PodDisruptionBudgets and owners allow. It checks
// each move again just before its call, and stops when it finds that kube-scheduler is
// not steered. An Execution carries out one plan in steps: it takes the next step or
// returns how long to wait. It is driven by the clock in production and by virtual time
// in a replay. A Client makes the eviction calls. Its Clientset sits between the
// descheduler framework and the API server, so that the pause switch, limits, safeguards,
// ledger and dry run apply to the evictions of upstream plugins, too. Other packages plan
// which moves to make.
package evictor

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor/metrics"
	"github.com/evenkeel/evenkeel/evictor/owners"
	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/evictor/saved"
	"github.com/evenkeel/evenkeel/evictor/trial"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/policy/calendar"
)

// Config is what an Evictor depends on.
type Config struct {
	Observer  Observer
	Cluster   Cluster
	Evictions Evictions
	// DryRun makes the evictions of plugins in dry run, that is, it only logs them.
	DryRun Evictions
	// Steering proves that kube-scheduler is steered; nil if the policy does not require
	// it.
	Steering ledger.Steering
	Clock    Clock
	Settings Settings
	Metrics  *metrics.Metrics
	// Outcomes counts the outcomes of moves; it may be nil.
	Outcomes *metrics.Outcomes
	// Saved tracks what moves save, across all Evictors of the process. If it is nil, the
	// Evictor uses its own.
	Saved *saved.Watch
	// Unplanned receives each eviction that an upstream plugin asked for by itself, made or
	// not; it may be nil.
	Unplanned func(*Unplanned)
	// Progress is called while a cycle makes progress, so that a long, paced cycle is not
	// mistaken for a hang; it may be nil.
	Progress func()
}

// Settings are a policy's settings for evicting.
type Settings struct {
	// Policy identifies the policy file in the record of a move.
	Policy string
	// Interval is the minimum time between two evictions, Deadline the maximum duration
	// of a cycle, and MoveTTL how long a move may be in flight beyond its grace period.
	Interval, Deadline, MoveTTL time.Duration
	// ProbeTimeout is how long, beyond its grace period, the first replacement of a cycle
	// may take to be bound. A grace period longer than ProbeTimeout is not waited for.
	ProbeTimeout time.Duration
	// OwnerSettle is how long an owner is left alone after a rollout or scaling, and
	// OutcomeAfter how long after its landing a move is judged.
	OwnerSettle, OutcomeAfter time.Duration
	// OwnerPercent is the share of an owner's replicas that may be moving at
	// once if no budget limits them.
	OwnerPercent float64
	// GracePeriodSeconds overrides the grace period of the pods, unless nil.
	GracePeriodSeconds *int64
	Safeguards         *safeguards.Rules
	// Recreating lists additional kinds of controllers that replace an evicted pod.
	Recreating []schema.GroupKind
	// EvictJobs allows moving pods of Jobs. SchedulerNames lists the schedulers whose
	// pods may be moved, because they are steered.
	EvictJobs      bool
	SchedulerNames []string
	Limits         Limits
	// NotifyFailures creates an Event for each eviction that failed.
	NotifyFailures bool
	// Calendar determines when evicting is allowed; nil means always.
	Calendar *calendar.Calendar
	// NextCycle returns when the next cycle begins, given the end of the last one. If it
	// is nil, the next cycle begins five minutes later, as in serve.
	NextCycle func(ended time.Time) time.Time
}

// Evictor is the evicting half under one policy. Its queries are safe for
// concurrent use; only one Execution runs at a time.
type Evictor struct {
	config Config

	mu         sync.Mutex
	cycleStart time.Time
	// steering reports whether replacements can be steered in this cycle, once
	// steeringAsked is set.
	steering, steeringAsked bool
	// verdict is the safeguards' latest verdict, with its time and ledger revision.
	verdict  *safeguards.Verdict
	at       time.Time
	revision int64
	// tallies holds the latest tallies of owners, with their time and ledger revision.
	tallies    map[ownerKey]owners.Tally
	talliedAt  time.Time
	talliedFor int64
	unrest     safeguards.Unrest
	// counted is the latest census.
	counted atomic.Pointer[counted]
	// trial holds the moves that a dry run would have made.
	trial trial.Trial
}

// counted is the census of a snapshot.
type counted struct {
	snapshot *cluster.Snapshot
	census   *safeguards.Census
}

// New returns an Evictor.
func New(config Config) (*Evictor, error) {
	if config.Observer == nil || config.Cluster == nil || config.Evictions == nil || config.DryRun == nil || config.Clock == nil ||
		config.Settings.Safeguards == nil || config.Settings.Deadline <= 0 {
		return nil, errors.New("evictor: Observer, Cluster, Evictions, DryRun, Clock, Safeguards and Deadline must be set")
	}
	if config.Saved == nil {
		config.Saved = &saved.Watch{}
	}
	return &Evictor{config: config}, nil
}

// evictionsOf returns what makes the evictions of a plugin.
func (e *Evictor) evictionsOf(dryRun bool) Evictions {
	if dryRun {
		return e.config.DryRun
	}
	return e.config.Evictions
}

// CycleID identifies the current cycle by its start time.
func (e *Evictor) CycleID() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.cycleStart.UTC().Format("20060102T150405Z")
}

func (e *Evictor) ledger() *ledger.Ledger { return e.config.Observer.Ledger() }

func (e *Evictor) progress() {
	if e.config.Progress != nil {
		e.config.Progress()
	}
}

// find returns the newest observation and the index of a node in it; -1 if the node is
// not in it.
func (e *Evictor) find(node string) (latest *observer.Observation, i int) {
	if latest = e.config.Observer.Latest(); latest == nil {
		return nil, -1
	}
	return latest, latest.View.Snapshot.Index(node)
}
