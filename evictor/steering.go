package evictor

import (
	"context"
	"sync"

	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/thresholds"
)

// inference judges landings where nobody can be asked. It lasts as long as the
// process.
type inference struct {
	mu sync.Mutex
	// luck is how likely it is that replacements landed as planned without
	// kube-scheduler having been steered.
	luck float64
}

// luckAtMost is how likely landings as planned may be by chance to prove that
// kube-scheduler is steered.
const luckAtMost = 0.05

// judge judges by the landing: one that no extender would have allowed shows
// that none was asked, a good one proves nothing.
func (i *inference) judge(move *ledger.Move, states map[string]thresholds.NodeState) Proof {
	if move.Node == move.From || states[move.Node].State == thresholds.Hot {
		return NotSteered
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if move.To == "" || move.Node != move.To {
		i.luck = 1
		return Unproven
	}
	return i.unlikely(states)
}

// unlikely takes a landing as planned for what it is: one of the cool nodes, by
// chance, or steered.
func (i *inference) unlikely(states map[string]thresholds.NodeState) Proof {
	cool := 0
	for _, state := range states {
		if state.State == thresholds.Cool {
			cool++
		}
	}
	if i.luck <= 0 || i.luck > 1 {
		i.luck = 1
	}
	if i.luck /= float64(max(cool, 1)); i.luck <= luckAtMost {
		return Steered
	}
	return Unproven
}

// Answers knows what kube-scheduler asked this process.
type Answers interface {
	// AskedAbout reports whether kube-scheduler asked about a pod lately.
	AskedAbout(podUID string) bool
	// Asked counts the requests answered.
	Asked() int64
}

// ExtenderSteering proves steering by an extender: it is known in this process,
// or a separate extender knows, or it is inferred from where a replacement
// landed.
type ExtenderSteering struct {
	Observer Observer
	// Here is what this process was asked; nil where it answers nobody.
	// Several: other replicas answer kube-scheduler too.
	Here    Answers
	Several bool
	// Remote is a separate extender; nil without.
	Remote *RemoteExtender

	inference inference
}

var _ Steering = (*ExtenderSteering)(nil)

// Proves implements Steering.
func (s *ExtenderSteering) Proves(ctx context.Context, move *ledger.Move) Proof {
	if s.Here != nil && (move.Asked || s.Here.AskedAbout(move.Replacement)) {
		return Steered
	}
	if s.Remote != nil {
		status, err := s.Remote.Status(ctx, move.Replacement)
		switch {
		case err != nil:
			klog.FromContext(ctx).Error(err, "Asking the extender whether it was asked failed, inferring from the landing")
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
			klog.FromContext(ctx).Error(err, "Asking the extender how often it was asked failed")
		}
		asked += status.Asked
	}
	return asked
}
