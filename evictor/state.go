package evictor

import (
	"context"
	"errors"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/descheduler/pkg/descheduler/evictions"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/reasons"
)

// EvictFunc takes one pod through the framework's filters and its evictor, which
// counts it by the reason.
type EvictFunc = func(ctx context.Context, pod *v1.Pod, why reasons.Reason) error

// Cycle makes the moves of one plan, a step at a time. It must not be used
// concurrently.
type Cycle struct {
	*Evictor

	evict    EvictFunc
	left     []Move
	outcomes []Outcome
	// deadline and all times below are from Clock.Local.
	deadline time.Time
	// probing holds back further evictions until the last one's replacement has
	// proved that kube-scheduler is steered.
	probing bool
	// probe is the UID of the pod whose replacement the cycle waits for, until
	// probeBy. Before probeFails its pod may still terminate.
	probe               string
	probeBy, probeFails time.Time
	// exhausted holds the DeschedulerPolicy limits that are reached, by
	// "node/…" or "namespace/…".
	exhausted map[string]bool
	// unsteered holds, by namespace, why a replacement in this cycle counts as not
	// steered.
	unsteered map[string]reasons.Reason
	// backingOff holds the moves that the API server refused for now, surges
	// those whose Deployments are scaled up. Both are keyed by pod UID.
	backingOff map[string]backoff
	surges     map[string]*surge
	// began is when the cycle began, by Clock.Now. waits is since when all moves
	// wait, zero while they do not.
	began, waits time.Time
	// session answers whether landings still take their pods, nil until one is
	// asked about in a step.
	session *placement.Session
	// stop is why no more moves are made.
	stop reasons.Reason
}

// surge is a move whose Deployment is scaled up first. Its pod is evicted once
// the replacement is ready.
type surge struct {
	move  Move
	until time.Time
	// announced is closed once the processes that answer kube-scheduler had
	// time to learn of the surge.
	announced chan struct{}
	cancel    context.CancelFunc
	attempts  int
	// called: a scale-up call may have been accepted. scaled: it was.
	called, scaled bool
	// proved: the landing was checked as a proof of steering.
	proved  bool
	checked time.Time
}

// classify returns the reason for a failed eviction and notes its effect on the
// other moves.
func (c *Cycle) classify(err error, move *Move) reasons.Reason {
	if _, ok := errors.AsType[*evictions.EvictionTotalLimitError](err); ok {
		c.stop = reasons.EvictionLimit
		return reasons.EvictionLimit
	}
	if _, ok := errors.AsType[*evictions.EvictionNodeLimitError](err); ok {
		c.exhausted["node/"+move.From] = true
		return reasons.EvictionLimit
	}
	if _, ok := errors.AsType[*evictions.EvictionNamespaceLimitError](err); ok {
		c.exhausted["namespace/"+move.Namespace] = true
		return reasons.EvictionLimit
	}
	reason := reasonOf(err)
	if slices.Contains([]reasons.Reason{
		reasons.Paused, reasons.PauseUnreadable, reasons.NotLeader, reasons.LedgerUnwritable, reasons.LedgerUnreadable, reasons.Stopping,
	}, reason) {
		c.stop = reason
	}
	return reason
}

// learn judges whether a landing proves steering. A replacement that came with a
// node proves nothing, wherever that is.
func (c *Cycle) learn(ctx context.Context, move *ledger.Move) {
	if move.CameBound {
		c.ledger().Unsteered(move.PodUID, string(reasons.Unsteerable))
		return
	}
	switch c.config.Steering.Proves(ctx, move) {
	case Steered:
		c.probing = false
	case NotSteered:
		c.failed(ctx, move, reasons.SteeringAbsent)
	case Unproven:
	}
}
