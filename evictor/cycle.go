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

// tick is how often a cycle checks what it waits for: a budget or a landing.
const tick = 200 * time.Millisecond

// waitLimit is how long a cycle goes on while none of its moves may be made.
// After it the rest is planned anew, from a newer observation.
const waitLimit = 30 * time.Second

// landingLimit is waitLimit for the next move of an owner whose last one is on its
// way. An owner whose pods start within it has more than one move per cycle.
const landingLimit = 2 * time.Minute

// storeTimeout bounds storing the results of a cycle, which is a read and a write
// of five seconds at most, and settleTimeout what takes back the steering of its
// moves, even when it was told to stop. Without time for both calls a slow API
// server would look like one that stores nothing.
const (
	storeTimeout  = 10 * time.Second
	settleTimeout = 5 * time.Second
)

// Cycle makes the moves of one plan, a step at a time. It must not be used
// concurrently.
type Cycle struct {
	e *Evictor

	profile  *strategies.Profile
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
	// unsteered holds, by namespace, why a replacement in this cycle counts as not
	// steered.
	unsteered map[string]reasons.Reason
	// backingOff holds the moves that the API server refused for now, by pod UID.
	backingOff map[string]backoff
	// began is when the cycle began, by Clock.Now. waits is since when all moves
	// wait, zero while they do not.
	began, waits time.Time
	// session answers whether landings still take their pods, nil until one is
	// asked about in a step.
	session *placement.Session
	// stop is why no more moves are made.
	stop reasons.Reason
}

// BeginCycle starts a cycle, whose moves settle none of each other's nodes. It
// first judges the outcomes that are due, takes back what the steering of
// earlier moves left behind, and ends a hold that is over, because the plan
// leaves out the pods of namespaces on hold.
func (e *Evictor) BeginCycle(ctx context.Context) {
	e.endHold(ctx)
	e.mu.Lock()
	e.cycleStart, e.verdict = e.config.Clock.Now(), nil
	e.mu.Unlock()
	e.AssessMoves(ctx)
	if e.config.Steering != nil && !e.config.Evictions.DryRun() {
		e.config.Steering.Settle(ctx)
	}
}

// Begin records a plan's moves, for Step to make them.
func (e *Evictor) Begin(ctx context.Context, p *strategies.Plan, profile *strategies.Profile) *Cycle {
	moves := make([]Move, 0, len(p.Moves))
	for i := range p.Moves {
		moves = append(moves, e.move(&p.Moves[i]))
	}
	return e.begin(ctx, moves, profile)
}

func (e *Evictor) begin(ctx context.Context, moves []Move, profile *strategies.Profile) *Cycle {
	c := &Cycle{
		e: e, profile: profile, left: moves, began: e.config.Clock.Now(),
		deadline:   e.config.Clock.Local().Add(e.config.Settings.Deadline),
		unsteered:  map[string]reasons.Reason{},
		backingOff: map[string]backoff{},
	}
	reason := c.steered(ctx)
	c.quickFirst()
	if reason == "" {
		reason = c.held(ctx)
	}
	if reason == "" {
		reason = c.record(ctx)
	}
	if reason != "" {
		c.leaveAll(reason)
	}
	return c
}

// record enters the moves in the ledger, stores it and gives the processes that
// answer kube-scheduler time to read it.
func (c *Cycle) record(ctx context.Context) reasons.Reason {
	if c.e.config.Evictions.DryRun() || len(c.left) == 0 {
		return ""
	}
	intents := make([]ledger.Intent, len(c.left))
	for i := range c.left {
		intents[i] = c.left[i].Intent
	}
	c.e.ledger().Record(c.e.config.Clock.Now(), intents...)
	if err := c.e.config.Evictions.Commit(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "Storing the ledger failed, so nothing is evicted")
		return reasonOf(err)
	}
	c.e.config.Evictions.Announced(ctx)
	return ""
}

// Next says when a Cycle wants its next Step.
type Next struct {
	// Wait is how long to wait from now.
	Wait time.Duration
	// Blocked: no move may be made before the cluster changes. Wait is then the
	// time until the next check. Until is when the cycle ends if nothing changes,
	// by Clock.Local.
	Blocked bool
	Until   time.Time
	// Over: only End is left to call.
	Over bool
}

// Step makes at most one move. Time passes between two Steps, on a clock or in
// a replay.
func (c *Cycle) Step(ctx context.Context) Next {
	c.e.progress()
	switch {
	case c.stop != "":
		c.leaveAll(c.stop)
		return Next{Over: true}
	case len(c.left) == 0 && c.probe == "":
		return Next{Over: true}
	case !c.e.config.Clock.Local().Before(c.deadline): // of a probe, too
		c.leaveAll(reasons.CycleDeadline)
		return Next{Over: true}
	case c.probe != "" && !c.probed(ctx):
		return Next{Wait: tick, Blocked: true, Until: slices.MinFunc([]time.Time{c.probeBy, c.deadline}, time.Time.Compare)}
	}
	made := c.next(ctx)
	switch {
	case len(c.left) == 0 || c.stop != "":
		return Next{}
	case made:
		c.waits = time.Time{}
		return Next{Wait: c.e.config.Settings.Interval}
	}
	return c.wait()
}

// wait waits until a move may be made, but not for long: everybody else's moves
// wait for the end of the cycle, and the next one plans again what is left.
func (c *Cycle) wait() Next {
	now := c.e.config.Clock.Local()
	if c.waits.IsZero() {
		c.waits = now
	}
	limit := waitLimit
	if slices.ContainsFunc(c.left, func(m Move) bool { return c.e.comesSoon(m.Namespace, m.Owner.UID) }) {
		limit = landingLimit
	}
	until := slices.MinFunc([]time.Time{c.waits.Add(limit), c.deadline}, time.Time.Compare)
	if !now.Before(until) {
		c.leaveAll(reasons.CycleDeadline)
		return Next{Over: true}
	}
	return Next{Wait: tick, Blocked: true, Until: until}
}

// Left returns the moves that are neither made nor given up.
func (c *Cycle) Left() []Move { return c.left }

// End finishes the cycle and returns the outcomes of its moves. It removes
// moves that were not made from the ledger and stores the results, even when
// the process is told to stop.
func (c *Cycle) End(ctx context.Context) []Outcome {
	c.leaveAll(reasons.CycleDeadline)
	c.keep(ctx)
	for i := range c.outcomes {
		c.e.config.Metrics.Skipped(c.outcomes[i].Reason)
	}
	if c.e.config.Evictions.DryRun() {
		return c.outcomes
	}
	c.e.ledger().CancelIntended(c.e.config.Clock.Now())
	ctx = context.WithoutCancel(ctx)
	bounded(ctx, storeTimeout, func(ctx context.Context) {
		if err := c.e.config.Evictions.Commit(ctx); err != nil {
			klog.FromContext(ctx).Error(err, "Storing the results of the cycle failed")
		}
	})
	if c.e.config.Steering != nil {
		bounded(ctx, settleTimeout, c.e.config.Steering.Settle)
	}
	return c.outcomes
}

func bounded(ctx context.Context, limit time.Duration, call func(context.Context)) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	call(ctx)
}

// next makes the first move that may be made now. It returns false if all have
// to wait.
func (c *Cycle) next(ctx context.Context) bool {
	defer c.closeSession()
	c.e.mu.Lock()
	c.e.tallies = nil
	c.e.mu.Unlock()
	for i := 0; i < len(c.left) && c.stop == "" && ctx.Err() == nil; {
		outcome, wait := c.make(ctx, c.left[i])
		if wait {
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

// make makes one move. It returns wait if the move has to wait, or if the API
// server's answer asks for a retry.
func (c *Cycle) make(ctx context.Context, move Move) (outcome Outcome, wait bool) {
	pod := c.e.config.Cluster.Pod(move.Namespace, move.Pod)
	q := question{e: c.e, at: recheckPhase, cycle: c, profile: c.profile, move: &move, pod: pod}
	if a := q.ask(ctx, checks); a.refuses() {
		return Outcome{Move: move, Reason: a.reason}, a.wait || passes(a.reason)
	}
	c.closeSession()
	if reason, wait := c.ready(ctx, &move, pod); wait || reason != "" {
		return Outcome{Move: move, Reason: reason}, wait
	}
	err := c.e.evict(ctx, &question{
		e: c.e, at: callPhase, cycle: c, profile: c.profile, move: &move, pod: pod, eviction: c.e.request(&move, c.profile),
	})
	switch {
	case err == nil:
		c.startProbe(pod)
		return Outcome{Move: move}, false
	case apierrors.IsTooManyRequests(err):
		klog.FromContext(ctx).V(2).Info("Eviction was refused for now", "pod", klog.KObj(pod), "error", err.Error())
		c.undo(ctx, &move)
		c.backingOff[move.PodUID] = newBackoff(err, c.e.config.Cluster.Budgets(pod), c.e.config.Clock.Local())
		return Outcome{}, true
	}
	return Outcome{Move: move, Reason: c.classify(err), Err: err}, false
}

// unsteered refuses pods of a namespace whose replacements were not steered in this
// cycle.
func (q *question) unsteered(context.Context) ruling {
	return refusing(q.cycle.unsteered[q.move.Namespace])
}

// backingOff waits after the API server refused the eviction for now.
func (q *question) backingOff(context.Context) ruling {
	r, refused := q.cycle.backingOff[q.move.PodUID]
	return ruling{wait: refused && !r.over(q.budgetsOf(), q.e.config.Clock.Local())}
}

// classify returns the reason for a failed eviction and notes its effect on the
// other moves.
func (c *Cycle) classify(err error) reasons.Reason {
	reason := reasonOf(err)
	if slices.Contains([]reasons.Reason{
		reasons.Paused, reasons.PauseUnreadable, reasons.NotLeader, reasons.LedgerUnwritable, reasons.LedgerUnreadable, reasons.Stopping,
	}, reason) {
		c.stop = reason
	}
	return reason
}

func (c *Cycle) drop(ctx context.Context, i int, outcome Outcome) {
	c.left = append(c.left[:i:i], c.left[i+1:]...)
	if outcome.Reason != "" && !c.e.config.Evictions.DryRun() { // which recorded none, so one there would be another's
		c.e.ledger().Cancel(outcome.Move.PodUID, c.e.config.Clock.Now())
		c.undo(ctx, &outcome.Move)
	}
	c.outcomes = append(c.outcomes, outcome)
}

func (c *Cycle) leaveAll(reason reasons.Reason) {
	for _, move := range c.left {
		c.outcomes = append(c.outcomes, Outcome{Move: move, Reason: reason})
	}
	c.left = nil
}
