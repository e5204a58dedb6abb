package steering

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// Best uses the extender while kube-scheduler asks it, otherwise the API server
// if that is proven to steer. If neither applies, it probes with the extender,
// unless kube-scheduler has never asked and the API server is set up to steer.
// In that case the probe would be an eviction whose replacement nothing steers.
type Best struct {
	Extender ledger.Steering
	// Admission steers through the API server.
	Admission ledger.Steering

	mu sync.Mutex
	// active is the way of steering in this cycle; nil before the first
	active ledger.Steering
	asked  int64 // as of the latest cycle
}

var _ ledger.Steering = (*Best)(nil)

// Proven implements ledger.Steering. It also chooses the way of steering for the cycle
// that begins.
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
	case err != nil && asked == 0 && !errors.Is(err, ledger.ErrNotInstalled):
		return false, fmt.Errorf("kube-scheduler asks no extender: %w", err)
	case err != nil:
		klog.FromContext(ctx).V(2).Info("The API server does not steer", "reason", err.Error())
		return s.Extender.Proven(ctx)
	}
	s.active = s.Admission
	return proven, nil
}

func (s *Best) current() ledger.Steering {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active == nil {
		return s.Extender
	}
	return s.active
}

// Restricts implements ledger.Steering.
func (s *Best) Restricts(leaving *ledger.Leaving) bool {
	return s.current().Restricts(leaving)
}

// Ready implements ledger.Steering.
func (s *Best) Ready(ctx context.Context, leaving *ledger.Leaving) (reasons.Reason, bool) {
	return s.current().Ready(ctx, leaving)
}

// Undo implements ledger.Steering.
func (s *Best) Undo(ctx context.Context, move *ledger.Intent) { s.current().Undo(ctx, move) }

// Settle implements ledger.Steering. It settles both ways of steering, because
// only the way that left something behind, maybe in an earlier process, can
// clean it up.
func (s *Best) Settle(ctx context.Context) {
	s.Extender.Settle(ctx)
	s.Admission.Settle(ctx)
}

// Proves implements ledger.Steering.
func (s *Best) Proves(ctx context.Context, move *ledger.Move) ledger.Proof {
	return s.current().Proves(ctx, move)
}

// Asked implements ledger.Steering.
func (s *Best) Asked(ctx context.Context) int64 { return s.Extender.Asked(ctx) }
