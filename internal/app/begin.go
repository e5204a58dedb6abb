package app

import (
	"context"

	"github.com/evenkeel/evenkeel/internal/kube"
)

// begin starts the informers, if there are any. A process that lasts reaches
// the API server first, and waits for both however long that takes: it answers
// kube-scheduler meanwhile, by nothing known. Any other has been reached.
func (a *App) begin(ctx context.Context) error {
	start := func(ctx context.Context) error {
		if a.informers == nil {
			return nil
		}
		return a.startInformers(ctx)
	}
	if a.parts.once(&a.options) {
		return start(ctx)
	}
	if err := kube.Persist(ctx, a.health.Progress, a.reach); err != nil {
		return err
	}
	return kube.Persist(ctx, a.health.Progress, start)
}
