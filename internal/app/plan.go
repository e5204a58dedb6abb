package app

import (
	"context"
	"errors"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/evenkeel/evenkeel/strategies/realusage"
)

// Plan is `evenkeel plan`: it observes, plans, prints and changes nothing.
func Plan(ctx context.Context, options Options, format string, out, progress io.Writer) error {
	if err := ValidFormat(format); err != nil {
		return err
	}
	options.DryRun, options.LeaderElect, options.MetricsAddress = true, false, "0"
	var made *realusage.Made
	a, err := newApp(ctx, options, parts{evicting: true, onlyRealUsage: true, notes: progress, execute: func(_ context.Context, m realusage.Made) {
		made = &m
	}})
	if err != nil {
		return err
	}
	err = a.start(ctx, func(ctx context.Context) error { return a.planOnce(ctx, progress) })
	if err != nil || made == nil {
		return errors.Join(err, ctx.Err())
	}
	report := planReport(*made)
	return write(out, format, report, report.table)
}

func (a *App) planOnce(ctx context.Context, progress io.Writer) error {
	group, ctx := errgroup.WithContext(ctx)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := a.kube.Start(ctx, a.informers, a.synced...); err != nil {
		return err
	}
	group.Go(func() error { return a.observer.Run(ctx) })
	group.Go(func() error {
		defer cancel()
		if !a.awaitUsage(ctx, progress) {
			return nil
		}
		return a.cycle(ctx)
	})
	return group.Wait()
}
