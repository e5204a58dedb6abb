package steered

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// ErrNotInstalled says that a cluster is not set up for a way to steer. Any other
// error of Proven says that it is, and that this does not work now.
var ErrNotInstalled = errors.New("not installed")

// Best is the extender while kube-scheduler asks it, and else the API server if
// that is proven to steer. Where neither is, it takes the extender's probe, but
// not where kube-scheduler has never asked and the API server is set up to steer:
// the probe would be an eviction that nothing steers.
type Best struct {
	Extender evictor.Steering
	// Admission is by the API server.
	Admission evictor.Steering

	mu sync.Mutex
	// active is the one of this cycle, nil before the first.
	active evictor.Steering
	asked  int64 // by the newest cycle
}

var _ evictor.Steering = (*Best)(nil)

// Proven implements evictor.Steering. It chooses for the cycle that begins.
func (s *Best) Proven(ctx context.Context) (bool, error) {
	asked := s.Extender.Asked(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	asks := asked > s.asked
	s.active, s.asked = s.Extender, asked
	if asks {
		return s.Extender.Proven(ctx)
	}
	proven, err := s.Admission.Proven(ctx)
	switch {
	case err != nil && asked == 0 && !errors.Is(err, ErrNotInstalled):
		return false, fmt.Errorf("kube-scheduler asks no extender: %w", err)
	case err != nil:
		klog.FromContext(ctx).V(2).Info("The API server does not steer", "reason", err.Error())
		return s.Extender.Proven(ctx)
	}
	s.active = s.Admission
	return proven, nil
}

func (s *Best) current() evictor.Steering {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active == nil {
		return s.Extender
	}
	return s.active
}

// Restricts implements evictor.Steering.
func (s *Best) Restricts(leaving *evictor.Leaving) bool {
	return s.current().Restricts(leaving)
}

// Ready implements evictor.Steering.
func (s *Best) Ready(ctx context.Context, leaving *evictor.Leaving) (reasons.Reason, bool) {
	return s.current().Ready(ctx, leaving)
}

// Undo implements evictor.Steering.
func (s *Best) Undo(ctx context.Context, move *ledger.Intent) { s.current().Undo(ctx, move) }

// Settle implements evictor.Steering. What one of them has left behind, maybe in
// a process before this, has no other to take it back.
func (s *Best) Settle(ctx context.Context) {
	s.Extender.Settle(ctx)
	s.Admission.Settle(ctx)
}

// Proves implements evictor.Steering.
func (s *Best) Proves(ctx context.Context, move *ledger.Move) evictor.Proof {
	return s.current().Proves(ctx, move)
}

// Asked implements evictor.Steering.
func (s *Best) Asked(ctx context.Context) int64 { return s.Extender.Asked(ctx) }
