package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"
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
		return a.once(ctx)
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
	group.Go(func() error { return a.publish(ctx) })
	group.Go(func() error {
		runner.Loop(ctx, schedule, a.kube.Clock.Now, a.health.Progress, a.nextCycle)
		return nil
	})
	return group.Wait()
}

// once runs one cycle and publishes what it has seen.
func (a *App) once(ctx context.Context) error {
	err := a.cycle(ctx)
	if syncer := a.current().nodeSync; syncer != nil && ctx.Err() == nil {
		err = errors.Join(err, syncer.Sync(ctx))
	}
	return err
}

// nextCycle runs a cycle by the policy at work.
func (a *App) nextCycle(ctx context.Context) {
	if !a.awaitUsage(ctx, io.Discard) {
		return
	}
	a.cycling.Lock()
	defer a.cycling.Unlock()
	if err := a.cycle(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "Cycle failed")
	}
}

// cycle runs one cycle by the policy at work.
func (a *App) cycle(ctx context.Context) error {
	g := a.current()
	a.health.Progress()
	a.observer.Ledger().Expire(a.kube.Clock.Now()) // without samples nothing else does
	a.evictions.ResetCycle()
	if err := a.takeLedger(ctx); err != nil {
		return err
	}
	g.evictor.BeginCycle(ctx)
	return g.runner.Cycle(ctx)
}

// awaitUsage waits until sources with history have told enough, or for the
// policy's observation period, counted from the first reading: windows from a
// source without history have to fill first, those of most pods too, because a
// pod that is not measured is not moved. A source that delivers too little is
// waited for twice as long and then left to the gate. It returns false when the
// context ended.
func (a *App) awaitUsage(ctx context.Context, progress io.Writer) bool {
	g := a.current()
	if !g.readsUsage() {
		a.waited = false
	}
	if a.waited || !g.readsUsage() {
		return true
	}
	period := g.load.Usage.ObservationPeriod.Duration
	started := a.kube.Clock.Local()
	told := false
	err := wait.PollUntilContextCancel(ctx, 250*time.Millisecond, true, func(context.Context) (bool, error) {
		a.health.Progress()
		// The newest observation has to be one that the whole period was
		// sampled for; a replica that takes the Lease over has observed all
		// along.
		latest := a.observer.Latest()
		ripe := latest != nil && latest.Ripe(period, g.load.Usage.MinCoveragePercent)
		a.waited = ripe || a.kube.Clock.Local().Sub(started) > 2*period
		if latest != nil && !a.waited && !told {
			_, _ = fmt.Fprintf(progress, "Observing real usage for up to %v, until its windows have filled.\n", 2*period)
			told = true
		}
		return a.waited, nil
	})
	return err == nil
}

// takeLedger reads what is stored, as the one process that writes it from now
// on, and scales back what a predecessor left scaled up.
func (a *App) takeLedger(ctx context.Context) error {
	if err := a.authority.Take(ctx, a.current().readsUsage()); err != nil {
		return err
	}
	if !a.options.DryRun && !a.authority.Alone() {
		a.scaler.SettleSurges(ctx, a.observer.Ledger())
	}
	return nil
}
