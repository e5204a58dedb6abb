// Package steering determines whether kube-scheduler asks an extender, and
// chooses between that and steering through the API server.
package steering

import (
	"context"
	"sync"

	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/scorer/remote"
)

// inference judges landings if no extender can be queried. It lasts as long as
// the process.
type inference struct {
	mu sync.Mutex
	// chance is the probability that replacements would have landed as planned
	// without kube-scheduler being steered.
	chance float64
}

// chanceAtMost is the highest such probability at which kube-scheduler counts
// as steered.
const chanceAtMost = 0.05

// judge judges a landing. A landing that no extender would have allowed shows that
// kube-scheduler asked none. A single good landing proves nothing.
func (i *inference) judge(move *ledger.Move, states map[string]thresholds.NodeState) ledger.Proof {
	if move.Node == move.From || states[move.Node].State == thresholds.Hot {
		return ledger.NotSteered
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if move.To == "" || move.Node != move.To {
		i.chance = 1
		return ledger.Unproven
	}
	return i.unlikely(states)
}

// unlikely updates chance after a landing as planned. It assumes that, without steering,
// each cool node is equally likely.
func (i *inference) unlikely(states map[string]thresholds.NodeState) ledger.Proof {
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
		return ledger.Steered
	}
	return ledger.Unproven
}

// Answers tracks the requests that this process answered.
type Answers interface {
	// AskedAbout reports whether kube-scheduler recently asked about a pod.
	AskedAbout(podUID string) bool
	// Asked counts the answered requests.
	Asked() int64
}

// Observer provides the newest observation, nil before the first.
type Observer interface{ Latest() *observer.Observation }

// Extender proves steering by an extender: from this process's own requests,
// from a separate extender's status, or by inference from where a replacement
// landed.
type Extender struct {
	Observer Observer
	// Here tracks the requests that this process answered; nil if it answers none.
	// Several is true if other replicas also answer kube-scheduler.
	Here    Answers
	Several bool
	// Remote is a separate extender; nil if there is none.
	Remote *remote.Extender

	inference inference
}

var _ ledger.Steering = (*Extender)(nil)

// Proven implements ledger.Steering. It always returns false, because only the
// arrival of a replacement shows whether the extender is asked.
func (s *Extender) Proven(context.Context) (bool, error) { return false, nil }

// Restricts implements ledger.Steering.
func (s *Extender) Restricts(*ledger.Leaving) bool { return false }

// Ready implements ledger.Steering. It has nothing to prepare, because an
// extender needs only the ledger.
func (s *Extender) Ready(context.Context, *ledger.Leaving) (reasons.Reason, bool) {
	return "", false
}

// Undo implements ledger.Steering.
func (s *Extender) Undo(context.Context, *ledger.Intent) {}

// Settle implements ledger.Steering.
func (s *Extender) Settle(context.Context) {}

// Proves implements ledger.Steering.
func (s *Extender) Proves(ctx context.Context, move *ledger.Move) ledger.Proof {
	if s.Here != nil && (move.Asked || s.Here.AskedAbout(move.Replacement)) {
		return ledger.Steered
	}
	if s.Remote != nil {
		status, err := s.Remote.Status(ctx, move.Replacement)
		switch {
		case err != nil:
			klog.FromContext(ctx).Error(err, "Reading the extender's status failed, judging by the landing alone")
		case status.PodAsked:
			return ledger.Steered
		case s.Here == nil || !s.Several:
			return ledger.NotSteered
		}
	}
	if s.Here != nil && !s.Several {
		return ledger.NotSteered // this is the only process that kube-scheduler could have asked
	}
	latest := s.Observer.Latest()
	if latest == nil {
		return ledger.NotSteered
	}
	return s.inference.judge(move, latest.States)
}

// Asked implements ledger.Steering.
func (s *Extender) Asked(ctx context.Context) (asked int64) {
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
