package commands

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/evenkeel/evenkeel/internal/app"
	"github.com/evenkeel/evenkeel/internal/kube"
	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/internal/serve"
)

// Top is `evenkeel top`: it takes one reading, or observes for a while, and
// prints each node.
func Top(ctx context.Context, options app.Options, format string, observe time.Duration, out io.Writer) error {
	if err := validFormat(format, Formats); err != nil {
		return err
	}
	look, err := app.Open(ctx, options)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err = look.Run(ctx, look.Reflect, func(ctx context.Context) error {
		watchNodes(ctx, look, observe)
		return nil
	})
	if err != nil {
		return err
	}
	paused := look.Pause(ctx).String()
	latest := look.Observer.Latest()
	if latest == nil || latest.Batches == 0 {
		if latest != nil && latest.SourceError() != nil {
			return latest.SourceError()
		}
		return errors.New("no usage could be read")
	}
	nodes := serve.NodeStatuses(latest)
	report := map[string]any{"nodes": nodes, "gate": string(latest.Blocked), "gateDetail": latest.Closed(), "paused": paused, "sources": serve.SourceReports(latest)}
	return write(out, format, report, func(out io.Writer) error {
		pausedLine(out, paused)
		if err := topTable(latest.View.Windows, nodes)(out); err != nil {
			return err
		}
		return sourcesTable(out, latest)
	})
}

// topTimeout bounds the first reading once nodes and pods are known, and a
// stall of their lists.
const topTimeout = 30 * time.Second

// watchNodes waits until nodes are known and usage has been read for the given
// time.
func watchNodes(ctx context.Context, look *app.Look, observe time.Duration) {
	w := nodeWatch{
		latest: look.Observer.Latest, arrived: look.Kube.FirstPods(look.Observer.Store().Synced), observe: observe, local: look.Kube.Clock.Local,
		still: kube.Patience[int64]{Now: look.Kube.Clock.Local},
	}
	for !w.done() && waitFor(ctx, 50*time.Millisecond) {
		continue
	}
}

// nodeWatch waits for readings. It uses the times at which it saw them: their
// own are of a clock that may be set.
type nodeWatch struct {
	latest  func() *observer.Observation
	arrived func() int64
	observe time.Duration
	local   func() time.Time

	still kube.Patience[int64]
	// newest is the last one seen, and at is when. first is when the first one
	// with nodes was seen.
	newest *observer.Observation
	at     time.Time
	first  time.Time
}

// done reports whether there is nothing more to wait for.
func (w *nodeWatch) done() bool {
	if latest := w.latest(); latest != w.newest {
		w.newest, w.at = latest, w.local()
	}
	switch latest := w.newest; {
	case latest == nil:
	case latest.SourceError() != nil && w.observe == 0:
		return true
	case w.first.IsZero() && latest.Batches > 0 && len(latest.View.Nodes) > 0:
		w.first = w.at
	}
	if !w.first.IsZero() && w.at.Sub(w.first) >= w.observe {
		return true
	}
	return w.still.Over(w.arrived(), w.observe+topTimeout)
}
