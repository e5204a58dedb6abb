package evictor

import (
	"context"
	"time"

	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/strategies"
)

// Make makes the moves of a plan for a profile, driven by the clock, and logs the
// outcomes.
func (e *Evictor) Make(ctx context.Context, p *strategies.Plan, profile *strategies.Profile) {
	logger, done := klog.FromContext(ctx), 0
	for _, outcome := range e.Begin(ctx, p, profile).run(ctx) {
		if outcome.Reason == "" {
			done++
			continue
		}
		logger.Info("Move was not made", "pod", klog.KRef(outcome.Move.Namespace, outcome.Move.Pod), "node", outcome.Move.From,
			"destination", outcome.Move.To, "reason", outcome.Reason, "error", outcome.Err)
	}
	if e.config.Evictions.DryRun() {
		logger.Info("Plan would be carried out", "planned", len(p.Moves), "wouldEvict", done)
		return
	}
	logger.Info("Plan carried out", "planned", len(p.Moves), "evicted", done)
}

// run steps until the cycle is over or the process is told to stop.
func (c *Cycle) run(ctx context.Context) []Outcome {
	for ctx.Err() == nil {
		next := c.Step(ctx)
		if next.Over {
			break
		}
		Sleep(ctx, next.Wait)
	}
	return c.End(ctx)
}

// Sleep waits for d or until the context ends.
func Sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
