package app

import (
	"context"
	"errors"
	"io"
	"time"
)

// Top is `evenkeel top`: it takes one reading, or observes for a while, and prints each node.
func Top(ctx context.Context, options Options, format string, observe time.Duration, out io.Writer) error {
	if err := ValidFormat(format); err != nil {
		return err
	}
	options.LeaderElect, options.MetricsAddress = false, "0"
	a, err := newApp(ctx, options, parts{})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err = a.start(ctx, a.reflect, func(ctx context.Context) error { return a.watchNodes(ctx, observe) })
	if err != nil {
		return err
	}
	latest := a.observer.Latest()
	if latest == nil || latest.Batches == 0 {
		if latest != nil && latest.SourceError() != nil {
			return latest.SourceError()
		}
		return errors.New("no usage could be read")
	}
	nodes := a.nodeStatuses()
	report := map[string]any{"nodes": nodes, "gate": string(latest.Gate), "gateDetail": latest.Closed(), "sources": sourceReports(latest)}
	return write(out, format, report, func(out io.Writer) error {
		if err := topTable(latest.View.Windows, nodes)(out); err != nil {
			return err
		}
		return sourcesTable(out, latest)
	})
}

// watchNodes waits until nodes are known and usage has been read for the given time.
func (a *App) watchNodes(ctx context.Context, observe time.Duration) error {
	deadline := a.now().Add(observe + syncTimeout/4)
	var first time.Time
	for a.now().Before(deadline) {
		latest := a.observer.Latest()
		switch {
		case latest != nil && latest.SourceError() != nil && observe == 0:
			return nil
		case latest != nil && latest.Batches > 0 && len(latest.View.Nodes) > 0 && first.IsZero():
			first = latest.At
		}
		if !first.IsZero() && latest.At.Sub(first) >= observe {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}
