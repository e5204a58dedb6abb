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
func (e *evicting) cycles(ctx context.Context) error {
	e.authority.Begin()
	e.announcer.Evicting(e.authority)
	if err := e.takeLedger(ctx); err != nil && !e.options.Loops() {
		return err
	} else if err != nil {
		klog.FromContext(ctx).Error(err, "The ledger was not taken over, each cycle tries again")
	}
	if !e.options.DryRun {
		defer e.steering.keep(ctx)()
	}
	if !e.options.Loops() {
		err := e.steering.once(ctx, e.options.DryRun, e.current().load.Eviction.CycleDeadline.Duration, func(ctx context.Context) error {
			if !e.awaitUsage(ctx, untold()) {
				return nil
			}
			return e.cycle(ctx)
		})
		if syncer := e.current().nodeSync; syncer != nil && ctx.Err() == nil { // publishes the usage as well
			err = errors.Join(err, syncer.Sync(ctx))
		}
		return err
	}
	if !e.awaitUsage(ctx, untold()) {
		return nil
	}
	schedule, err := e.options.Cycles()
	if err != nil {
		return exit.Usage(err)
	}
	group, ctx := errgroup.WithContext(ctx)
	if !e.options.DryRun {
		group.Go(func() error {
			return e.authority.Keep(ctx, func(ctx context.Context) { e.current().evictor.AssessMoves(ctx) })
		})
	}
	if !e.options.DryRun {
		keeper := patterns.Keeper{Client: e.kube.Client, Namespace: e.options.Namespace, Known: e.observer}
		group.Go(func() error { return keeper.Run(ctx) })
	}
	group.Go(func() error { return e.publish(ctx) })
	group.Go(func() error {
		runner.Loop(ctx, schedule, e.kube.Clock.Now, e.health.Progress, e.nextCycle)
		return nil
	})
	return group.Wait()
}

// nextCycle waits for usage and runs a cycle by the policy in effect.
func (e *evicting) nextCycle(ctx context.Context) {
	if !e.awaitUsage(ctx, untold()) {
		return
	}
	e.cycling.Lock()
	defer e.cycling.Unlock()
	if err := e.cycle(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "Cycle failed")
	}
}

// cycle runs one cycle by the policy in effect.
func (e *evicting) cycle(ctx context.Context) error {
	g := e.current()
	e.health.Progress()
	e.observer.Ledger().Expire(e.kube.Clock.Now()) // without samples nothing else does this
	e.evictions.ResetCycle()
	e.cluster.SetTaints(settings.Taints(g.load))
	if e.demand.customs != nil { // a kind may be served by now
		if err := e.watchCustom(g.load.Eviction.RecreatingControllers); err != nil {
			klog.FromContext(ctx).Error(err, "Kinds of recreatingControllers that were not served when this process began were not looked for, the next cycle tries again")
		}
	}
	if err := e.takeLedger(ctx); err != nil {
		e.metrics.runner.NotBegun()
		return err
	}
	g.evictor.BeginCycle(ctx)
	return g.runner.Cycle(ctx)
}

// patience is how a process waits for usage.
type patience struct {
	// progress is told what has been seen.
	progress io.Writer
	// hopeless returns why not to wait any longer.
	hopeless func(*observer.Observation) error
}

// untold waits in silence, for as long as it takes: someone may install the source
// meanwhile.
func untold() patience {
	return patience{progress: io.Discard, hopeless: func(*observer.Observation) error { return nil }}
}

// awaitUsage waits until sources with history have reported enough, or for the
// policy's observation period, counted from the first reading: windows from a
// source without history have to fill first, also those of most pods, because
// an unmeasured pod is not moved. If a source delivers too little it waits
// twice as long and then leaves the matter to the gate. It returns false if the
// context ended or waiting is hopeless.
func (e *evicting) awaitUsage(ctx context.Context, waits patience) bool {
	g := e.current()
	reads := g.readsUsage() || g.onlyRealUsage
	if !reads {
		e.waited = false
	}
	if e.waited || !reads {
		return true
	}
	period := g.load.Usage.ObservationPeriod.Duration
	started := e.kube.Clock.Local()
	told := terminal.NewProgress(waits.progress, started)
	defer told.Done()
	err := wait.PollUntilContextCancel(ctx, 250*time.Millisecond, true, func(context.Context) (bool, error) {
		e.health.Progress()
		// The newest observation must cover the whole period. A replica that
		// takes over the Lease has observed all along.
		latest := e.observer.Latest()
		ripe := latest != nil && latest.Ripe(period, g.load.Usage.SampleInterval.Duration, g.load.Usage.MinCoveragePercent)
		now := e.kube.Clock.Local()
		e.waited = ripe || now.Sub(started) > 2*period
		if !e.waited {
			told.Say(now, waiting(latest, now.Sub(started), period))
		}
		return e.waited, waits.hopeless(latest)
	})
	return err == nil
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
func (e *evicting) takeLedger(ctx context.Context) error {
	if err := e.authority.Take(ctx, e.current().readsUsage()); err != nil {
		return err
	}
	if !e.options.DryRun && !e.authority.Alone() {
		e.scaler.SettleSurges(ctx, e.observer.Ledger())
	}
	return nil
}
