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
	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/internal/patterns"
	"github.com/evenkeel/evenkeel/internal/settings"
	"github.com/evenkeel/evenkeel/internal/terminal"
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
	if !a.options.DryRun {
		defer a.steering.keep(ctx)()
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
	if !a.options.DryRun {
		keeper := patterns.Keeper{Client: a.kube.Client, Namespace: a.options.Namespace, Known: a.observer}
		group.Go(func() error { return keeper.Run(ctx) })
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
	a.cluster.SetTaints(settings.Taints(g.load))
	if a.customs != nil { // a kind may be served by now
		if err := a.wireCustom(g.load.Eviction.RecreatingControllers); err != nil {
			klog.FromContext(ctx).Error(err, "Kinds of recreatingControllers that were not served when this process began were not looked for, the next cycle tries again")
		}
	}
	if err := a.takeLedger(ctx); err != nil {
		a.metrics.runner.NotBegun()
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
// context ended or waiting is hopeless.
func (a *App) awaitUsage(ctx context.Context, progress io.Writer) bool {
	g := a.current()
	reads := g.readsUsage() || a.parts.onlyRealUsage
	if !reads {
		a.waited = false
	}
	if a.waited || !reads {
		return true
	}
	period := g.load.Usage.ObservationPeriod.Duration
	started := a.kube.Clock.Local()
	told := terminal.NewProgress(progress, started)
	defer told.Done()
	err := wait.PollUntilContextCancel(ctx, 250*time.Millisecond, true, func(context.Context) (bool, error) {
		a.health.Progress()
		// The newest observation must cover the whole period. A replica that
		// takes over the Lease has observed all along.
		latest := a.observer.Latest()
		ripe := latest != nil && latest.Ripe(period, g.load.Usage.SampleInterval.Duration, g.load.Usage.MinCoveragePercent)
		now := a.kube.Clock.Local()
		a.waited = ripe || now.Sub(started) > 2*period
		if !a.waited {
			told.Say(now, waiting(latest, now.Sub(started), period))
		}
		return a.waited, a.hopeless(latest)
	})
	return err == nil
}

// hopeless returns why a plan that is only printed waits for usage no longer.
// Any other process waits on: someone may install the source meanwhile.
func (a *App) hopeless(latest *observer.Observation) error {
	if a.parts.execute == nil || latest == nil || latest.Batches > 0 {
		return nil
	}
	return latest.LastingError()
}

// waiting says what the wait for usage has seen, and how long it still takes.
func waiting(latest *observer.Observation, waited, period time.Duration) string {
	seen, left := "nothing read yet", ""
	if latest != nil {
		seen = fmt.Sprintf("%d of %d ready nodes measured for long enough", latest.Fresh, latest.Ready)
	}
	if waited < period {
		left = fmt.Sprintf("about %v left, ", (period - waited).Round(time.Second))
	}
	return fmt.Sprintf("Watching usage: %s, %s%v at most", seen, left, (2*period - waited).Round(time.Second))
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
