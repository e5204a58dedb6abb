package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/ledger/configmap"
	"github.com/evenkeel/evenkeel/runner"
)

// cycles waits until usage has been observed for long enough and runs one cycle
// or many.
func (a *App) cycles(ctx context.Context) error {
	a.announcer.Evicting()
	err := a.takeLedger(ctx)
	if held := a.options.loops() && errors.Is(err, configmap.ErrUnreadable); err != nil && !held { // each cycle tries again
		return err
	}
	if !a.awaitUsage(ctx, io.Discard) {
		return nil
	}
	if !a.options.loops() {
		return errors.Join(a.cycle(ctx), a.syncNodesOnce(ctx))
	}
	schedule, err := a.options.schedule()
	if err != nil {
		return exit.Usage(err)
	}
	group, ctx := errgroup.WithContext(ctx)
	if !a.options.DryRun {
		group.Go(func() error {
			return a.authority.Keep(ctx, func(ctx context.Context) { a.current().evictor.JudgeMoves(ctx) })
		})
	}
	group.Go(func() error { return a.eachPolicy(ctx, syncNodes) })
	group.Go(func() error {
		runner.Loop(ctx, schedule, a.kube.Clock.Now, a.health.Progress, a.nextCycle)
		return nil
	})
	return group.Wait()
}

// syncNodes publishes usage on nodes as a policy wants it.
func syncNodes(ctx context.Context, a *App) error {
	if a.nodeSync == nil {
		return nil
	}
	return a.nodeSync.Run(ctx)
}

// nextCycle runs a cycle by the policy at work.
func (p *process) nextCycle(ctx context.Context) {
	if !p.current().awaitUsage(ctx, io.Discard) {
		return
	}
	p.reload.cycling.Lock()
	defer p.reload.cycling.Unlock()
	if err := p.current().cycle(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "Cycle failed")
	}
}

// syncNodesOnce publishes what a one-shot run has seen.
func (a *App) syncNodesOnce(ctx context.Context) error {
	if a.nodeSync != nil && ctx.Err() == nil {
		return a.nodeSync.Sync(ctx)
	}
	return nil
}

func (a *App) cycle(ctx context.Context) error {
	a.health.Progress()
	a.observer.Ledger().Expire(a.kube.Clock.Now()) // without samples nothing else does
	a.evictions.ResetCycle()
	if err := a.takeLedger(ctx); err != nil {
		return err
	}
	a.evictor.BeginCycle(ctx)
	if err := a.providers.ready(ctx); err != nil {
		return err
	}
	return a.runner.Cycle(ctx)
}

// awaitUsage waits until sources with history have told enough, or for the
// policy's observation period, counted from the first reading: windows from a
// source without history have to fill first, those of most pods too, because a
// pod that is not measured is not moved. A source that delivers too little is
// waited for twice as long and then left to the gate. It returns false when the
// context ended.
func (a *App) awaitUsage(ctx context.Context, progress io.Writer) bool {
	if !a.readsUsage() {
		a.waited = false
	}
	if a.waited || !a.readsUsage() {
		return true
	}
	period := a.load.Usage.ObservationPeriod.Duration
	started := a.kube.Clock.Local()
	ticker := time.NewTicker(250 * time.Millisecond)
	defer ticker.Stop()
	told := false
	for {
		a.health.Progress()
		// The newest observation has to be one that the whole period was
		// sampled for; a replica that takes the Lease over has observed all
		// along.
		latest := a.observer.Latest()
		ripe := latest != nil && latest.Ripe(period, a.load.Usage.MinCoveragePercent)
		if ripe || a.kube.Clock.Local().Sub(started) > 2*period {
			a.waited = true
			return true
		}
		if latest != nil && !told {
			_, _ = fmt.Fprintf(progress, "Observing real usage for up to %v, until its windows have filled.\n", 2*period)
			told = true
		}
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
	}
}

// takeLedger reads what is stored, as the one process that writes it from now
// on, and scales back what a predecessor left scaled up.
func (a *App) takeLedger(ctx context.Context) error {
	if err := a.authority.Take(ctx, a.readsUsage()); err != nil {
		return err
	}
	if !a.options.DryRun && !a.authority.Alone() {
		a.scaler.SettleSurges(ctx, a.observer.Ledger())
	}
	return nil
}
