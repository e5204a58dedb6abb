package app

import (
	"context"
	"errors"
	"io"
	"slices"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/cycle"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/settings"
	"github.com/evenkeel/evenkeel/internal/terminal"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/patterns"
)

// cycles waits until usage has been observed for long enough. It then runs one cycle or,
// with an interval or a schedule, many.
func (e *evicting) cycles(ctx context.Context) error {
	p := e.process
	p.authority.Begin()
	p.announcer.Evicting(p.authority)
	if err := e.takeLedger(ctx); err != nil && !p.options.Loops() {
		return err
	} else if err != nil {
		klog.FromContext(ctx).Error(err, "The ledger was not taken over; each cycle tries again")
	}
	if !p.options.DryRun {
		defer e.steering.admission.Begin(ctx)()
	}
	if !p.options.Loops() {
		err := e.steering.once(ctx, p.options.DryRun, p.current().load.Eviction.CycleDeadline.Duration, func(ctx context.Context) error {
			if !e.awaitUsage(ctx, io.Discard, forever) {
				return nil
			}
			return e.cycle(ctx)
		})
		if syncer := p.current().nodeSync; syncer != nil && ctx.Err() == nil { // a single run also publishes usage
			err = errors.Join(err, syncer.Sync(ctx))
		}
		return err
	}
	if !e.awaitUsage(ctx, io.Discard, forever) {
		return nil
	}
	schedule, err := p.options.Cycles()
	if err != nil {
		return exit.Usage(err)
	}
	group, ctx := errgroup.WithContext(ctx)
	if !p.options.DryRun {
		group.Go(func() error {
			return p.authority.Keep(ctx, func(ctx context.Context) { p.current().evictor.AssessMoves(ctx) })
		})
	}
	if !p.options.DryRun {
		keeper := patterns.Keeper{Client: p.kube.Client, Namespace: p.options.Namespace, Known: p.observer}
		group.Go(func() error { return keeper.Run(ctx) })
	}
	group.Go(func() error { return p.publish(ctx) })
	group.Go(func() error {
		for why := range cycle.Due(ctx, schedule, p.cycleEvents, p.kube.Clock.Now, p.health.Progress) {
			e.nextCycle(ctx, why)
		}
		return nil
	})
	return group.Wait()
}

// nextCycle waits for usage and runs a cycle under the policy in effect.
func (e *evicting) nextCycle(ctx context.Context, why cycle.Event) {
	p := e.process
	if !e.awaitUsage(ctx, io.Discard, forever) {
		return
	}
	p.cycling.Lock()
	defer p.cycling.Unlock()
	klog.FromContext(ctx).Info("Cycle starts", "cause", why.Cause, "node", why.Node)
	e.cycleMetrics.Started(why.Cause)
	if err := e.cycle(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "Cycle failed")
	}
}

// cycle runs one cycle under the policy in effect.
func (e *evicting) cycle(ctx context.Context) error {
	p := e.process
	g := p.current()
	p.health.Progress()
	p.observer.Ledger().Expire(p.kube.Clock.Now()) // without samples, only this expires moves
	e.evictions.ResetCycle()
	e.cluster.SetTaints(settings.Taints(g.load))
	if err := e.demand.Renew(g.load.Eviction.RecreatingControllers); err != nil { // the API server may have begun to serve a kind
		klog.FromContext(ctx).Error(err, "Looking for kinds of recreatingControllers that were not served when this process started failed; the next cycle tries again")
	}
	if err := e.takeLedger(ctx); err != nil {
		e.cycleMetrics.NotBegun()
		return err
	}
	return g.runner.Run(ctx)
}

// awaitUsage waits until enough usage has been observed for a cycle under the policy in effect, and reports to
// progress. It returns false if the context ended or hopeless returned an error.
func (e *evicting) awaitUsage(ctx context.Context, progress io.Writer, hopeless func(*observer.Observation) error) bool {
	p := e.process
	g := p.current()
	reads := g.readsUsage() || p.mode.onlyPlanned
	if !reads {
		e.waited = false
	}
	if e.waited || !reads {
		return true
	}
	told := terminal.NewProgress(progress, p.kube.Clock.Local())
	defer told.Done()
	usage := &g.load.Usage
	e.waited = p.observer.Await(ctx, observer.Wait{
		Period: usage.ObservationPeriod.Duration, SampleInterval: usage.SampleInterval.Duration, MinCoverage: usage.MinCoveragePercent,
		Local: p.kube.Clock.Local, Progress: p.health.Progress, Say: told.Say, Hopeless: hopeless,
	})
	return e.waited
}

// forever makes awaitUsage wait without a limit, because someone may install the source
// in the meantime.
func forever(*observer.Observation) error { return nil }

// takeLedger reads the stored ledger, which only this process writes from then on. It
// also reports the Deployments that an earlier version left scaled up.
func (e *evicting) takeLedger(ctx context.Context) error {
	p := e.process
	if err := p.authority.Take(ctx, p.current().readsUsage()); err != nil {
		return err
	}
	inFlight, ended := p.observer.Ledger().Moves()
	for _, move := range slices.Concat(inFlight, ended) {
		if deployment, replicas := move.ScaledUp(); deployment != "" {
			klog.FromContext(ctx).Info("An earlier version scaled this Deployment up for a move and may not have scaled it back, and this version does not: "+
				"scale it back if it still has a pod too many", "deployment", klog.KRef(move.Namespace, deployment), "replicasBefore", replicas)
		}
	}
	return nil
}
