package evictor

import (
	"context"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/internal/remote"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/thresholds"
)

// inference judges landings when no extender can be asked. It lasts as long as
// the process.
type inference struct {
	mu sync.Mutex
	// chance is the probability that replacements landed as planned without
	// kube-scheduler being steered.
	chance float64
}

// chanceAtMost is the highest probability of landing as planned by chance at
// which kube-scheduler counts as steered.
const chanceAtMost = 0.05

// judge judges a landing. One that no extender would have allowed shows that
// none was asked; a good one proves nothing.
func (i *inference) judge(move *ledger.Move, states map[string]thresholds.NodeState) Proof {
	if move.Node == move.From || states[move.Node].State == thresholds.Hot {
		return NotSteered
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if move.To == "" || move.Node != move.To {
		i.chance = 1
		return Unproven
	}
	return i.unlikely(states)
}

// unlikely updates chance for a landing as planned: by chance, each cool node
// is equally likely.
func (i *inference) unlikely(states map[string]thresholds.NodeState) Proof {
	cool := 0
	for _, state := range states {
		if state.State == thresholds.Cool {
			cool++
		}
	}
	if i.chance <= 0 || i.chance > 1 {
		i.chance = 1
	}
	if i.chance /= float64(max(cool, 1)); i.chance <= chanceAtMost {
		return Steered
	}
	return Unproven
}

// Answers knows the requests that this process answered.
type Answers interface {
	// AskedAbout reports whether kube-scheduler recently asked about a pod.
	AskedAbout(podUID string) bool
	// Asked counts the answered requests.
	Asked() int64
}

// ExtenderSteering proves steering by an extender: this process knows, or a
// separate extender does, or it is inferred from where a replacement landed.
type ExtenderSteering struct {
	Observer Observer
	// Here knows this process's requests; nil if it answers none. Several:
	// other replicas answer kube-scheduler too.
	Here    Answers
	Several bool
	// Remote is a separate extender; nil without.
	Remote *remote.Extender

	inference inference
}

var _ Steering = (*ExtenderSteering)(nil)

// Proven implements Steering: who asks about a replacement shows when it comes.
func (s *ExtenderSteering) Proven(context.Context) (bool, error) { return false, nil }

// Ready implements Steering: the ledger is all that an extender needs.
func (s *ExtenderSteering) Ready(context.Context, *ledger.Intent, time.Duration) (reasons.Reason, bool) {
	return "", false
}

// Undo implements Steering.
func (s *ExtenderSteering) Undo(context.Context, *ledger.Intent) {}

// Settle implements Steering.
func (s *ExtenderSteering) Settle(context.Context) {}

// Proves implements Steering.
func (s *ExtenderSteering) Proves(ctx context.Context, move *ledger.Move) Proof {
	if s.Here != nil && (move.Asked || s.Here.AskedAbout(move.Replacement)) {
		return Steered
	}
	if s.Remote != nil {
		status, err := s.Remote.Status(ctx, move.Replacement)
		switch {
		case err != nil:
			klog.FromContext(ctx).Error(err, "Reading the extender's status failed, judging by the landing alone")
		case status.PodAsked:
			return Steered
		case s.Here == nil || !s.Several:
			return NotSteered
		}
	}
	if s.Here != nil && !s.Several {
		return NotSteered // this is the only process that kube-scheduler could have asked
	}
	latest := s.Observer.Latest()
	if latest == nil {
		return NotSteered
	}
	return s.inference.judge(move, latest.States)
}

// Asked implements Steering.
func (s *ExtenderSteering) Asked(ctx context.Context) (asked int64) {
	if s.Here != nil {
		asked = s.Here.Asked()
	}
	if s.Remote != nil {
		status, err := s.Remote.Status(ctx, "")
		if err != nil {
			klog.FromContext(ctx).Error(err, "Reading the extender's request count failed")
		}
		asked += status.Asked
	}
	return asked
}

// BestSteering is the extender while kube-scheduler asks it, and else the API
// server if that is proven to steer. Where neither is, it takes the extender's
// probe.
type BestSteering struct {
	Extender Steering
	// Admission is by the API server.
	Admission Steering

	mu sync.Mutex
	// active is the one of this cycle, nil before the first.
	active Steering
	asked  int64 // by the newest cycle
}

var _ Steering = (*BestSteering)(nil)

// Proven implements Steering. It chooses for the cycle that begins.
func (s *BestSteering) Proven(ctx context.Context) (bool, error) {
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
	s.active = s.Admission
	return proven, nil
}

func (s *BestSteering) current() Steering {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active == nil {
		return s.Extender
	}
	return s.active
}

// Ready implements Steering.
func (s *BestSteering) Ready(ctx context.Context, move *ledger.Intent, grace time.Duration) (reasons.Reason, bool) {
	return s.current().Ready(ctx, move, grace)
}

// Undo implements Steering.
func (s *BestSteering) Undo(ctx context.Context, move *ledger.Intent) { s.current().Undo(ctx, move) }

// Settle implements Steering.
func (s *BestSteering) Settle(ctx context.Context) { s.current().Settle(ctx) }

// Proves implements Steering.
func (s *BestSteering) Proves(ctx context.Context, move *ledger.Move) Proof {
	return s.current().Proves(ctx, move)
}

// Asked implements Steering.
func (s *BestSteering) Asked(ctx context.Context) int64 { return s.Extender.Asked(ctx) }
