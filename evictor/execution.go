package evictor

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// tick is how often an execution checks what it waits for: a budget or a landing.
const tick = 200 * time.Millisecond

// waitLimit is how long an execution continues while none of its moves may be made. After
// that, the remaining moves are planned again, from a newer observation.
const waitLimit = 30 * time.Second

// landingLimit replaces waitLimit if the next move of an owner waits for the landing of
// its last one. An owner whose pods start within this time can have more than one move
// per cycle.
const landingLimit = 2 * time.Minute

// storeTimeout bounds storing the results of an execution: a read and a write of up to
// five seconds each. It must allow for both calls, because otherwise a slow API server
// would look like one that stores nothing. settleTimeout bounds the time for undoing the
// steering of its moves. Both calls are made even if the process is stopping.
const (
	storeTimeout  = 10 * time.Second
	settleTimeout = 5 * time.Second
)

// Execution carries out one plan, a step at a time. It must not be used
// concurrently.
type Execution struct {
	e *Evictor

	profile   *strategies.Profile
	evictions Evictions
	left      []Move
	results   []Result
	// deadline and the times below come from Clock.Local, except began.
	deadline time.Time
	// probing holds back further evictions until the replacement of the last one has
	// proved that kube-scheduler is steered.
	probing bool
	// probe is the UID of the evicted pod whose replacement is awaited until probeBy.
	// Until probeFails, the pod may still be terminating.
	probe               string
	probeBy, probeFails time.Time
	// hosted reports whether a descheduler plugin asked for the moves. Such moves are
	// made even if replacements cannot be steered; unaided is then true.
	hosted, unaided bool
	// unsteered holds, by namespace, why a replacement of this plan counts as not
	// steered.
	unsteered map[string]reasons.Reason
	// backingOff holds, by pod UID, the moves that the API server refused for now.
	backingOff map[string]backoff
	// began is when the execution began, by Clock.Now. waits is the time since which all
	// moves have been waiting; zero while they are not.
	began, waits time.Time
	// session is used to check whether destinations still accept their pods; nil until
	// the first such check.
	session *placement.Session
	// stop is the reason why no more moves are made.
	stop reasons.Reason
}

// BeginCycle starts a cycle, whose moves do not settle each other's nodes. It judges the
// outcomes that are due, and cleans up what the steering of earlier moves left behind. It
// also ends a hold whose time is over, so that the plan includes the pods of namespaces
// that were on hold.
func (e *Evictor) BeginCycle(ctx context.Context) {
	e.endHold(ctx)
	e.mu.Lock()
	e.cycleStart, e.verdict, e.steeringAsked = e.config.Clock.Now(), nil, false
	e.mu.Unlock()
	e.AssessMoves(ctx)
	if e.config.Steering != nil && !e.config.Evictions.DryRun() {
		e.config.Steering.Settle(ctx)
	}
}

// Make makes the moves of a plan for a profile, paced by the clock, and logs the results.
// In a dry run it returns the moves that would have been made.
func (e *Evictor) Make(ctx context.Context, p *strategies.Plan, profile *strategies.Profile) []strategies.Move {
	x := e.Begin(ctx, e.Moves(p, profile), profile)
	for ctx.Err() == nil {
		next := x.Step(ctx)
		if next.Over || next.Blocked && x.evictions.DryRun() { // what blocks it will not change by its moves
			break
		}
		if !x.evictions.DryRun() {
			Sleep(ctx, next.Wait)
		}
	}
	logger, made := klog.FromContext(ctx), map[string]bool{}
	for _, result := range x.End(ctx) {
		if result.Reason == "" {
			made[result.Move.PodUID] = true
			continue
		}
		logger.Info("Move was not made", "pod", klog.KRef(result.Move.Namespace, result.Move.Pod), "node", result.Move.From,
			"destination", result.Move.To, "reason", result.Reason, "error", result.Err)
	}
	if x.evictions.DryRun() {
		logger.Info("Plan would be carried out", "planned", len(p.Moves), "wouldEvict", len(made))
		return slices.DeleteFunc(slices.Clone(p.Moves), func(m strategies.Move) bool { return !made[m.UID] })
	}
	logger.Info("Plan carried out", "planned", len(p.Moves), "evicted", len(made))
	return nil
}

// Begin records moves, which Step then makes. If nothing may be evicted now, it gives
// them up instead.
func (e *Evictor) Begin(ctx context.Context, moves []Move, profile *strategies.Profile) *Execution {
	x := &Execution{
		e: e, profile: profile, evictions: e.evictionsOf(profile.DryRun), left: moves, hosted: len(moves) > 0 && moves[0].Plugin != "", began: e.config.Clock.Now(),
		deadline:   e.config.Clock.Local().Add(e.config.Settings.Deadline),
		unsteered:  map[string]reasons.Reason{},
		backingOff: map[string]backoff{},
	}
	reason := x.whyUnsteered(ctx)
	x.quickFirst()
	if reason == "" {
		reason = x.whyHeld(ctx)
	}
	if reason == "" {
		reason = x.record(ctx)
	}
	if reason != "" {
		x.leaveAll(reason)
	}
	return x
}

// record enters the moves in the ledger, stores it, and gives the processes that answer
// kube-scheduler time to read it.
func (x *Execution) record(ctx context.Context) reasons.Reason {
	if x.evictions.DryRun() || len(x.left) == 0 {
		return ""
	}
	intents := make([]ledger.Intent, len(x.left))
	for i := range x.left {
		intents[i] = x.left[i].Intent
	}
	x.e.ledger().Record(x.e.config.Clock.Now(), intents...)
	if err := x.evictions.Commit(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "Storing the ledger failed, so nothing is evicted")
		return reasonOf(err)
	}
	x.evictions.Announced(ctx)
	return ""
}

// Next describes when an Execution needs its next Step.
type Next struct {
	// Wait is how long to wait from now.
	Wait time.Duration
	// Blocked reports whether no move may be made until the cluster changes. Wait is then
	// the time until the next check. Until is when the execution ends if nothing changes,
	// by Clock.Local.
	Blocked bool
	Until   time.Time
	// Over reports whether only End remains to be called.
	Over bool
}

// Step makes at most one move. Time passes between two Steps, on a clock or in
// a replay.
func (x *Execution) Step(ctx context.Context) Next {
	x.e.progress()
	switch {
	case x.stop != "":
		x.leaveAll(x.stop)
		return Next{Over: true}
	case len(x.left) == 0 && x.probe == "":
		return Next{Over: true}
	case !x.e.config.Clock.Local().Before(x.deadline): // also applies to a probe
		x.leaveAll(reasons.CycleDeadline)
		return Next{Over: true}
	case x.probe != "" && !x.probed(ctx):
		return Next{Wait: tick, Blocked: true, Until: slices.MinFunc([]time.Time{x.probeBy, x.deadline}, time.Time.Compare)}
	}
	defer x.closeSession()
	x.e.mu.Lock()
	x.e.tallies = nil
	x.e.mu.Unlock()
	for i := 0; i < len(x.left) && x.stop == "" && ctx.Err() == nil; {
		result, wait := x.make(ctx, x.left[i])
		if wait {
			i++
			continue
		}
		x.drop(ctx, i, result)
		switch {
		case len(x.left) == 0 || x.stop != "":
			return Next{}
		case result.Reason == "":
			x.waits = time.Time{}
			return Next{Wait: x.e.config.Settings.Interval}
		}
	}
	return x.wait()
}

// wait waits until a move may be made, but not for long. Everything else waits for this
// execution to end, and the next cycle plans the remaining moves again.
func (x *Execution) wait() Next {
	now := x.e.config.Clock.Local()
	if x.waits.IsZero() {
		x.waits = now
	}
	limit := waitLimit
	if slices.ContainsFunc(x.left, func(m Move) bool { return x.e.comesSoon(m.Namespace, m.Owner.UID) }) {
		limit = landingLimit
	}
	until := slices.MinFunc([]time.Time{x.waits.Add(limit), x.deadline}, time.Time.Compare)
	if !now.Before(until) {
		x.leaveAll(reasons.CycleDeadline)
		return Next{Over: true}
	}
	return Next{Wait: tick, Blocked: true, Until: until}
}

// Left returns the moves that are neither made nor given up.
func (x *Execution) Left() []Move { return x.left }

// End finishes the execution and returns the results of its moves. It removes moves that
// were not made from the ledger and stores the results, even if the process is told to
// stop.
func (x *Execution) End(ctx context.Context) []Result {
	x.leaveAll(reasons.CycleDeadline)
	x.keep(ctx)
	for i := range x.results {
		x.e.config.Metrics.Skipped(x.results[i].Reason)
	}
	if x.evictions.DryRun() {
		return x.results
	}
	x.e.ledger().CancelIntended(x.e.config.Clock.Now())
	ctx = context.WithoutCancel(ctx)
	bounded(ctx, storeTimeout, func(ctx context.Context) {
		if err := x.evictions.Commit(ctx); err != nil {
			klog.FromContext(ctx).Error(err, "Storing the results of the cycle failed")
		}
	})
	if x.e.config.Steering != nil {
		bounded(ctx, settleTimeout, x.e.config.Steering.Settle)
	}
	return x.results
}

func bounded(ctx context.Context, limit time.Duration, call func(context.Context)) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	call(ctx)
}

// make makes one move. wait reports whether to retry later, because a check requires it
// or the API server refused the eviction for now.
func (x *Execution) make(ctx context.Context, move Move) (result Result, wait bool) {
	pod := x.e.config.Cluster.Pod(move.Namespace, move.Pod)
	q := question{e: x.e, at: recheckPhase, execution: x, evictions: x.evictions, profile: x.profile, move: &move, pod: pod}
	if a := q.ask(ctx, checks); a.refuses() {
		return Result{Move: move, Reason: a.reason}, a.wait || passes(a.reason)
	}
	x.closeSession()
	if reason, wait := x.ready(ctx, &move, pod); wait || reason != "" {
		return Result{Move: move, Reason: reason}, wait
	}
	err := x.e.evict(ctx, &question{
		e: x.e, at: callPhase, execution: x, evictions: x.evictions, profile: x.profile, move: &move, pod: pod, eviction: x.e.request(&move, x.profile),
	})
	switch {
	case err == nil:
		x.startProbe(pod)
		return Result{Move: move}, false
	case apierrors.IsTooManyRequests(err):
		klog.FromContext(ctx).V(2).Info("Eviction was refused for now", "pod", klog.KObj(pod), "error", err.Error())
		x.undo(ctx, &move)
		x.backingOff[move.PodUID] = newBackoff(err, x.e.config.Cluster.Budgets(pod), x.e.config.Clock.Local())
		return Result{}, true
	}
	return Result{Move: move, Reason: x.classify(err), Err: err}, false
}

// unsteered refuses pods of a namespace in which a replacement was not steered during
// this execution.
func (q *question) unsteered(context.Context) ruling {
	return refusing(q.execution.unsteered[q.move.Namespace])
}

// backingOff makes a move wait after the API server refused its eviction for now.
func (q *question) backingOff(context.Context) ruling {
	r, refused := q.execution.backingOff[q.move.PodUID]
	return ruling{wait: refused && !r.over(q.budgetsOf(), q.e.config.Clock.Local())}
}

// classify returns the reason for a failed eviction and records its effect on the other
// moves.
func (x *Execution) classify(err error) reasons.Reason {
	reason := reasonOf(err)
	if slices.Contains([]reasons.Reason{
		reasons.Paused, reasons.PauseUnreadable, reasons.NotLeader, reasons.LedgerUnwritable, reasons.LedgerUnreadable, reasons.Stopping,
	}, reason) {
		x.stop = reason
	}
	return reason
}

func (x *Execution) drop(ctx context.Context, i int, result Result) {
	x.left = append(x.left[:i:i], x.left[i+1:]...)
	if result.Reason != "" && !x.evictions.DryRun() { // a dry run records no moves, so a recorded one belongs to another process
		x.e.ledger().Cancel(result.Move.PodUID, x.e.config.Clock.Now())
		x.undo(ctx, &result.Move)
	}
	x.results = append(x.results, result)
}

func (x *Execution) leaveAll(reason reasons.Reason) {
	for _, move := range x.left {
		x.results = append(x.results, Result{Move: move, Reason: reason})
	}
	x.left = nil
}

// Sleep waits for d or until the context ends.
func Sleep(ctx context.Context, d time.Duration) {
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
