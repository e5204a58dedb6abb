package steered

import (
	"context"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// Best is the extender while kube-scheduler asks it, and else the API server if
// that is proven to steer. Where neither is, it takes the extender's probe.
type Best struct {
	Extender evictor.Steering
	// Admission is by the API server.
	Admission evictor.Steering

	mu sync.Mutex
	// active is the one of this cycle, nil before the first.
	active evictor.Steering
	asked  int64 // by the newest cycle
	// keyed reports whether the API server has steered any cycle.
	keyed bool
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
	if err != nil {
		klog.FromContext(ctx).V(2).Info("The API server does not steer", "reason", err.Error())
		return s.Extender.Proven(ctx)
	}
	s.active, s.keyed = s.Admission, true
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

// Ready implements evictor.Steering.
func (s *Best) Ready(ctx context.Context, move *ledger.Intent, grace time.Duration) (reasons.Reason, bool) {
	return s.current().Ready(ctx, move, grace)
}

// Undo implements evictor.Steering.
func (s *Best) Undo(ctx context.Context, move *ledger.Intent) { s.current().Undo(ctx, move) }

// Settle implements evictor.Steering: of what steers now, and of what steered
// before, which may have left keys.
func (s *Best) Settle(ctx context.Context) {
	s.mu.Lock()
	keyed := s.keyed
	s.mu.Unlock()
	s.Extender.Settle(ctx)
	if keyed {
		s.Admission.Settle(ctx)
	}
}

// Proves implements evictor.Steering.
func (s *Best) Proves(ctx context.Context, move *ledger.Move) evictor.Proof {
	return s.current().Proves(ctx, move)
}

// Asked implements evictor.Steering.
func (s *Best) Asked(ctx context.Context) int64 { return s.Extender.Asked(ctx) }
