package webhook

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/scorer/admission"
	"github.com/evenkeel/evenkeel/scorer/extender"
	"github.com/evenkeel/evenkeel/scorer/extender/certs"
)

// Server answers the API server about new pods on every replica, whether or not
// the replica leads.
type Server struct {
	address      string
	keys         *admission.Followed
	certificates *certs.Keeper
	reviews      http.Handler
}

// NewServer returns a Server for an address, with HTTPS from the given files.
func NewServer(address string, files certs.Files, keys *admission.Followed, now func() time.Time, registry *prometheus.Registry) (*Server, error) {
	certificates, err := certs.NewKeeper(files, "webhook")
	if err != nil {
		return nil, exit.Usage(err)
	}
	if err := extender.Register(registry, certificates.Metrics()...); err != nil {
		return nil, err
	}
	return &Server{address: address, keys: keys, certificates: certificates, reviews: New(keys, now, registry)}, nil
}

// Run waits until the keys are known, and then serves until the context ends.
func (s *Server) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		s.keys.Run(ctx)
		return nil
	})
	group.Go(func() error { return s.certificates.Follow(ctx) })
	group.Go(func() error {
		if !s.keys.Wait(ctx) {
			return nil
		}
		return extender.Listen(ctx, s.address, "the webhook", s.reviews, s.certificates.Config())
	})
	return group.Wait()
}
