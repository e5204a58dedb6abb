package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/runner"
)

// cycles waits until usage has been observed for long enough and runs one cycle or many.
func (a *App) cycles(ctx context.Context) error {
	a.beginEvicting()
	if err := a.takeLedger(ctx); err != nil {
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
		return &UsageError{err}
	}
	group, ctx := errgroup.WithContext(ctx)
	if !a.options.DryRun {
		group.Go(func() error { return a.keepLedger(ctx) })
	}
	if a.nodeSync != nil {
		group.Go(func() error { return a.nodeSync.Run(ctx) })
	}
	group.Go(func() error {
		runner.Loop(ctx, schedule, a.now, a.health.progress, func(ctx context.Context) {
			if err := a.cycle(ctx); err != nil {
				klog.FromContext(ctx).Error(err, "Cycle failed")
			}
		})
		return nil
	})
	return group.Wait()
}

// syncNodesOnce publishes what a one-shot run has seen.
func (a *App) syncNodesOnce(ctx context.Context) error {
	if a.nodeSync != nil && ctx.Err() == nil {
		return a.nodeSync.Sync(ctx)
	}
	return nil
}

func (a *App) cycle(ctx context.Context) error {
	a.health.progress()
	a.observer.Ledger().Expire(a.now()) // without samples nothing else does
	a.gate.ResetCycle()
	if err := a.takeLedger(ctx); err != nil {
		return err
	}
	a.restraint.beginCycle(a.now())
	a.judgeMoves(ctx)
	if err := a.providers.ready(ctx); err != nil {
		return err
	}
	return a.runner.Cycle(ctx)
}

// awaitUsage waits until sources with history have told enough, or for the policy's observation period, counted from the
// first reading: windows from a source without history have to fill first, those of most pods too, because a pod that is not
// measured is not moved. A source that delivers too little is waited for twice as long and then left to the gate. It returns
// false when the context ended.
func (a *App) awaitUsage(ctx context.Context, progress io.Writer) bool {
	if !a.readsUsage() {
		return true
	}
	period := a.load.Usage.ObservationPeriod.Duration
	started := a.now()
	ticker := time.NewTicker(250 * time.Millisecond)
	defer ticker.Stop()
	told := false
	for {
		a.health.progress()
		// The newest observation has to be one that the whole period was sampled for; a replica that takes the Lease over has
		// observed all along.
		latest := a.observer.Latest()
		observed := latest != nil && latest.Gate == "" && (latest.Settled || latest.At.Sub(latest.First) >= period)
		if observed && a.podsMeasured(latest) || a.now().Sub(started) > 2*period {
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

// podsMeasured says whether as large a share of pods is measured as is asked for of nodes.
func (a *App) podsMeasured(o *observer.Observation) bool {
	return 100*float64(o.Measured) >= a.load.Usage.MinCoveragePercent*float64(o.Pods)
}
