package evictor

import (
	"context"
	"errors"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
	"sigs.k8s.io/descheduler/pkg/descheduler/evictions"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// Steered is what is known of whether kube-scheduler asked the extender about a replacement.
type Steered int

// What can be known of steering.
const (
	// SteeredUnproven: the replacement landed well, but nobody knows whether that was chance.
	SteeredUnproven Steered = iota
	// SteeredYes: the extender was asked.
	SteeredYes
	// SteeredNo: the extender was not asked, or the replacement landed where no extender would have let it.
	SteeredNo
)

// ExecutorConfig is what an Executor depends on.
type ExecutorConfig struct {
	Gate    *Gate
	Budgets Budgets
	// Pod returns the pod as the watch has it, nil when it is gone.
	Pod func(namespace, name string) *v1.Pod
	// Recheck says why a move should not be made any more; empty when it should.
	Recheck func(*Move) reasons.Reason
	// Replicas returns how many pods the owner of a pod wants, 0 when that is not known.
	Replicas func(pod *v1.Pod) int
	// Ready says whether the replacement of a move that landed is ready.
	Ready func(*ledger.Move) bool
	// Steered judges a move that landed; nil turns the steering check off.
	Steered func(context.Context, ledger.Move) Steered
	// Asked counts the requests of kube-scheduler that the extender has answered, as far as known; 0 where it is not. May be
	// nil. After a failed probe nothing is evicted until the count has grown or a long time has passed.
	Asked func(context.Context) int64
	// Scaler serves moves that ask for a surge; without it they are not made.
	Scaler Scaler
	// Interval is the least time between two evictions, Deadline how long a cycle may take, ProbeTimeout how long beyond its
	// grace period the first replacement may take to be bound.
	Interval, Deadline, ProbeTimeout time.Duration
	// OwnerPercent is the share of an owner's replicas that may be on the move where no budget says it.
	OwnerPercent float64
	// Announced waits until those who answer kube-scheduler know what was stored; nil does not wait.
	Announced func(context.Context)
	// Progress is called whenever the cycle is alive, so that a long, paced one is not taken for a hang.
	Progress func()
	Now      func() time.Time
	// Local measures how long something takes, by a clock that is not set; nil means Now.
	Local   func() time.Time
	Metrics *Metrics
}

// Executor makes the moves of a plan. It must not be used concurrently.
type Executor struct {
	config ExecutorConfig
	// toldForbidden says that it was told that Deployments may not be scaled.
	toldForbidden bool
}

// NewExecutor returns an Executor.
func NewExecutor(config ExecutorConfig) (*Executor, error) {
	if config.Gate == nil || config.Pod == nil || config.Recheck == nil || config.Now == nil || config.Deadline <= 0 {
		return nil, errors.New("evictor: Gate, Pod, Recheck, Now and Deadline must be set")
	}
	if config.Local == nil {
		config.Local = config.Now
	}
	return &Executor{config: config}, nil
}

// tick is how often a blocked cycle looks again whether a budget has room or a replacement has landed.
const tick = 200 * time.Millisecond

// Run makes the moves in order, leaving one aside while its budget or owner has no room, until all are decided, the
// deadline is reached or something says stop. evict takes one pod through the framework to the Gate.
func (e *Executor) Run(ctx context.Context, moves []Move, evict func(context.Context, *v1.Pod) error) []Outcome {
	c := &cycle{
		Executor: e, evict: evict, left: moves,
		deadline: e.config.Local().Add(e.config.Deadline),
		probing:  e.config.Steered != nil && !e.config.Gate.config.DryRun,
		spent:    map[string]bool{},
		resting:  map[string]respite{},
		surges:   map[string]*surge{},
	}
	reason := e.held(ctx, moves)
	if reason == "" {
		reason = e.record(ctx, moves)
	}
	if reason != "" {
		c.leaveAll(reason)
	} else {
		c.run(ctx)
		c.endSurges(ctx)
		e.keep(ctx, c.stop)
	}
	e.settle(ctx)
	for i := range c.outcomes {
		e.config.Metrics.leave(c.outcomes[i].Reason)
	}
	return c.outcomes
}

// record enters the moves in the ledger, stores it and gives those who answer kube-scheduler time to learn of them.
func (e *Executor) record(ctx context.Context, moves []Move) reasons.Reason {
	gate := e.config.Gate
	if gate.config.DryRun || len(moves) == 0 {
		return ""
	}
	intents := make([]ledger.Intent, len(moves))
	for i := range moves {
		intents[i] = moves[i].Intent
		intents[i].Wait = e.config.Deadline
	}
	gate.config.Ledger.Record(e.config.Now(), intents...)
	if err := gate.commit(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "Nothing is evicted that is not on record")
		return reasonOf(err)
	}
	if e.config.Announced != nil {
		e.config.Announced(ctx)
	}
	return ""
}

// settleTimeout bounds storing the results of a cycle that was told to end.
const settleTimeout = 5 * time.Second

// settle takes what was not made off the record and stores the results, also when the process is told to end.
func (e *Executor) settle(ctx context.Context) {
	gate := e.config.Gate
	if gate.config.DryRun {
		return
	}
	gate.config.Ledger.CancelIntended(e.config.Now())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	if err := gate.commit(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "Storing the results of the cycle failed")
	}
}

// cycle is one Run.
type cycle struct {
	*Executor
	evict    func(context.Context, *v1.Pod) error
	left     []Move
	outcomes []Outcome
	deadline time.Time
	// probing holds evictions back until the replacement of the last one proved that kube-scheduler is steered.
	probing bool
	// probe is the UID of the pod whose replacement is waited for.
	probe   string
	probeBy time.Time
	// spent holds the limits of the DeschedulerPolicy that are reached, by "node/…" or "namespace/…".
	spent map[string]bool
	// resting holds the moves that the API server refused for now, by the UIDs of their pods.
	resting map[string]respite
	// surges holds the moves whose Deployments are scaled up, by the UIDs of their pods.
	surges map[string]*surge
	stop   reasons.Reason
}

func (c *cycle) run(ctx context.Context) {
	for len(c.left) > 0 && ctx.Err() == nil {
		c.progress()
		if c.stop != "" {
			c.leaveAll(c.stop)
			return
		}
		if !c.config.Local().Before(c.deadline) {
			c.leaveAll(reasons.CycleDeadline)
			return
		}
		wait := tick
		if c.probe == "" || c.probed(ctx) {
			if c.stop == "" && c.next(ctx) {
				wait = c.config.Interval
			}
		}
		if len(c.left) > 0 && c.stop == "" {
			sleep(ctx, wait)
		}
	}
	c.finishProbe(ctx)
	c.leaveAll(reasons.CycleDeadline)
}

// finishProbe waits for a probe that was also the last move, because an absent extender has to be told.
func (c *cycle) finishProbe(ctx context.Context) {
	for c.probe != "" && c.stop == "" && ctx.Err() == nil && !c.probed(ctx) {
		c.progress()
		sleep(ctx, tick)
	}
}

// next makes the first move that may be made now. It returns false when every one has to wait.
func (c *cycle) next(ctx context.Context) bool {
	for i := 0; i < len(c.left) && c.stop == "" && ctx.Err() == nil; {
		move := c.left[i]
		reason, wait := c.check(ctx, &move)
		if wait {
			i++
			continue
		}
		if reason != "" {
			c.drop(ctx, i, Outcome{Move: move, Reason: reason})
			continue
		}
		outcome, again := c.make(ctx, move)
		if again {
			i++
			continue
		}
		c.drop(ctx, i, outcome)
		if outcome.Reason == "" || c.stop != "" {
			return true
		}
	}
	return false
}

// check says why a move is not to be made, or that it has to wait.
func (c *cycle) check(ctx context.Context, move *Move) (reason reasons.Reason, wait bool) {
	if c.spent["node/"+move.From] || c.spent["namespace/"+move.Namespace] {
		return reasons.EvictionLimit, false
	}
	pod := c.config.Pod(move.Namespace, move.Pod)
	if pod == nil || string(pod.UID) != move.PodUID || pod.DeletionTimestamp != nil {
		return reasons.PodChanged, false
	}
	if reason := c.config.Recheck(move); reason != "" {
		return reason, false
	}
	budgets := c.config.Budgets.Of(pod)
	if move.Surge != "" {
		return c.checkSurge(ctx, move, budgets)
	}
	if r, refused := c.resting[move.PodUID]; refused && !r.over(budgets, c.config.Local()) {
		return "", true
	}
	return Room(budgets, func() int { return c.inFlight(move.Owner.UID) },
		func() int { return OwnerLimit(c.config.Replicas(pod), c.config.OwnerPercent) })
}

// inFlight counts an owner's pods on the move: evicted and not landed, or landed and not ready.
func (c *cycle) inFlight(ownerUID string) int {
	now, n := c.config.Now(), 0
	for _, m := range c.config.Gate.config.Ledger.MovesOf(ownerUID) {
		if m.InFlight() && m.State != ledger.Intended || m.State == ledger.Landed && now.Sub(m.Ended) < m.TTL && !c.config.Ready(&m) {
			n++
		}
	}
	return n
}

// make takes one move through the framework. It returns again when the API server's answer asks to try later.
func (c *cycle) make(ctx context.Context, move Move) (outcome Outcome, again bool) {
	pod := c.config.Pod(move.Namespace, move.Pod)
	if pod == nil {
		return Outcome{Move: move, Reason: reasons.PodChanged}, false
	}
	a := c.config.Gate.announce(move)
	defer c.config.Gate.withdraw(a)
	err := c.evict(ctx, pod)
	if a.err != nil {
		err = a.err // as the API server or the Gate said it, before the framework flattened it
	}
	if err == nil {
		if a.made && move.Surge == "" { // a surge has been the probe when it landed
			c.startProbe(pod)
		}
		return Outcome{Move: move}, false
	}
	if apierrors.IsTooManyRequests(err) {
		c.resting[move.PodUID] = newRespite(err, c.config.Budgets.Of(pod), c.config.Local())
		return Outcome{}, true
	}
	reason := c.classify(err, &move)
	return Outcome{Move: move, Reason: reason, Err: err}, false
}

// classify finds the reason behind a failed eviction and notes what it means for the other moves.
func (c *cycle) classify(err error, move *Move) reasons.Reason {
	if _, ok := errors.AsType[*evictions.EvictionTotalLimitError](err); ok {
		c.stop = reasons.EvictionLimit
		return reasons.EvictionLimit
	}
	if _, ok := errors.AsType[*evictions.EvictionNodeLimitError](err); ok {
		c.spent["node/"+move.From] = true
		return reasons.EvictionLimit
	}
	if _, ok := errors.AsType[*evictions.EvictionNamespaceLimitError](err); ok {
		c.spent["namespace/"+move.Namespace] = true
		return reasons.EvictionLimit
	}
	reason := reasonOf(err)
	if slices.Contains([]reasons.Reason{reasons.Paused, reasons.PauseUnreadable, reasons.NotLeader, reasons.LedgerUnwritable, reasons.Stopping}, reason) {
		c.stop = reason
	}
	return reason
}

func (c *cycle) startProbe(pod *v1.Pod) {
	if c.probing {
		c.probe = string(pod.UID)
		c.probeBy = c.config.Local().Add(Grace(pod, nil) + c.config.ProbeTimeout)
	}
}

// probed says whether evicting may go on after the probe, or sets stop.
func (c *cycle) probed(ctx context.Context) bool {
	move, ok := c.config.Gate.config.Ledger.Get(c.probe)
	switch {
	case ok && move.State == ledger.Landed:
		c.probe = ""
		switch c.config.Steered(ctx, move) {
		case SteeredYes:
			c.probing = false
		case SteeredNo:
			c.stop = reasons.SteeringAbsent
		case SteeredUnproven: // the next move is a probe too
		}
		return true
	case ok && move.State == ledger.Cancelled: // its owner wants no replacement; the next move is a probe too
		c.probe = ""
		return true
	case !ok || !move.InFlight() || c.config.Local().After(c.probeBy):
		c.probe, c.stop = "", reasons.ProbeNotLanded
		return true
	}
	return false
}

func (c *cycle) drop(ctx context.Context, i int, outcome Outcome) {
	if err := c.endSurge(ctx, outcome.Move.PodUID); err != nil {
		klog.FromContext(ctx).V(2).Info("Deployment was not scaled back yet", "error", err.Error())
	}
	c.left = append(c.left[:i:i], c.left[i+1:]...)
	if outcome.Reason != "" {
		c.config.Gate.config.Ledger.Cancel(outcome.Move.PodUID, c.config.Now())
	}
	c.outcomes = append(c.outcomes, outcome)
}

func (c *cycle) leaveAll(reason reasons.Reason) {
	for _, move := range c.left {
		c.outcomes = append(c.outcomes, Outcome{Move: move, Reason: reason})
	}
	c.left = nil
}

func (c *cycle) progress() {
	if c.config.Progress != nil {
		c.config.Progress()
	}
}

func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
