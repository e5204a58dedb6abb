package app

import (
	"context"
	"net/http"

	"golang.org/x/sync/errgroup"

	"github.com/evenkeel/evenkeel/internal/admission"
	"github.com/evenkeel/evenkeel/internal/admission/webhook"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/serve"
	"github.com/evenkeel/evenkeel/scorer/extender"
	"github.com/evenkeel/evenkeel/scorer/extender/certs"
)

// hook answers the API server about new pods, whichever replica leads. Without an
// address it answers nobody.
type hook struct {
	address      string
	keys         *admission.Followed
	certificates *certs.Keeper
	reviews      http.Handler
}

func newHook(a *App) (*hook, error) {
	h := &hook{address: a.options.WebhookAddress}
	if h.address == "" {
		return h, nil
	}
	client, err := a.kube.Dynamic()
	if err != nil {
		return nil, err
	}
	files := certs.Files{CertFile: a.options.WebhookCertFile, KeyFile: a.options.WebhookKeyFile}
	if h.certificates, err = certs.NewKeeper(files, "webhook"); err != nil {
		return nil, exit.Usage(err)
	}
	h.keys = admission.NewFollowed(client)
	h.reviews = webhook.New(h.keys, a.kube.Clock.Now, a.registry)
	return h, extender.Register(a.registry, h.certificates.Metrics()...)
}

// run answers until the context ends, from when the keys are known.
func (h *hook) run(ctx context.Context) error {
	if h.address == "" {
		return untilStopped(ctx)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		h.keys.Run(ctx)
		return nil
	})
	group.Go(func() error { return h.certificates.Follow(ctx) })
	group.Go(func() error {
		if !h.keys.Wait(ctx) {
			return nil
		}
		return serve.Listen(ctx, h.address, "the webhook", h.reviews, h.certificates.Config())
	})
	return group.Wait()
}
