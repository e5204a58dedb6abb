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
	"github.com/evenkeel/evenkeel/runner"
)

// cycles waits until usage has been observed for long enough, and then runs one
// cycle or many.
func (a *App) cycles(ctx context.Context) error {
	a.authority.Begin()
	a.announcer.Evicting(a.authority)
	if err := a.takeLedger(ctx); err != nil && !a.options.loops() {
		return err
	} else if err != nil {
		klog.FromContext(ctx).Error(err, "The ledger was not taken over, each cycle tries again")
	}
	if !a.options.loops() {
		err := a.steering.once(ctx, a.options.DryRun, a.current().load.Eviction.CycleDeadline.Duration, func(ctx context.Context) error {
			if !a.awaitUsage(ctx, io.Discard) {
				return nil
			}
			return a.cycle(ctx)
		})
		if syncer := a.current().nodeSync; syncer != nil && ctx.Err() == nil { // publishes the usage as well
			err = errors.Join(err, syncer.Sync(ctx))
		}
		return err
	}
	if !a.awaitUsage(ctx, io.Discard) {
		return nil
	}
	schedule, err := a.options.schedule()
	if err != nil {
		return exit.Usage(err)
	}
	group, ctx := errgroup.WithContext(ctx)
	if !a.options.DryRun {
		group.Go(func() error {
			return a.authority.Keep(ctx, func(ctx context.Context) { a.current().evictor.AssessMoves(ctx) })
		})
	}
	group.Go(func() error { return a.publish(ctx) })
	group.Go(func() error {
		runner.Loop(ctx, schedule, a.kube.Clock.Now, a.health.Progress, a.nextCycle)
		return nil
	})
	return group.Wait()
}

// nextCycle waits for usage and runs a cycle by the policy in effect.
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

// cycle runs one cycle by the policy in effect.
func (a *App) cycle(ctx context.Context) error {
	g := a.current()
	a.health.Progress()
	a.observer.Ledger().Expire(a.kube.Clock.Now()) // without samples nothing else does this
	a.evictions.ResetCycle()
	if err := a.takeLedger(ctx); err != nil {
		return err
	}
	g.evictor.BeginCycle(ctx)
	return g.runner.Cycle(ctx)
}

// awaitUsage waits until sources with history have reported enough, or for the
// policy's observation period, counted from the first reading: windows from a
// source without history have to fill first, also those of most pods, because
// an unmeasured pod is not moved. If a source delivers too little it waits
// twice as long and then leaves the matter to the gate. It returns false if the
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
	reported := false
	err := wait.PollUntilContextCancel(ctx, 250*time.Millisecond, true, func(context.Context) (bool, error) {
		a.health.Progress()
		// The newest observation must cover the whole period. A replica that
		// takes over the Lease has observed all along.
		latest := a.observer.Latest()
		ripe := latest != nil && latest.Ripe(period, g.load.Usage.SampleInterval.Duration, g.load.Usage.MinCoveragePercent)
		a.waited = ripe || a.kube.Clock.Local().Sub(started) > 2*period
		if latest != nil && !a.waited && !reported {
			_, _ = fmt.Fprintf(progress, "Observing real usage for up to %v, until its windows have filled.\n", 2*period)
			reported = true
		}
		return a.waited, nil
	})
	return err == nil
}

// takeLedger reads the stored ledger, as the one process that writes it from
// now on, and scales back what a predecessor left scaled up.
func (a *App) takeLedger(ctx context.Context) error {
	if err := a.authority.Take(ctx, a.current().readsUsage()); err != nil {
		return err
	}
	if !a.options.DryRun && !a.authority.Alone() {
		a.scaler.SettleSurges(ctx, a.observer.Ledger())
	}
	return nil
}
