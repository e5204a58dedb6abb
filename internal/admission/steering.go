package admission

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// Steering is steering by the API server. Its proof comes before the eviction.
type Steering struct {
	keys  *Keys
	probe *Probe
	now   func() time.Time
}

var _ evictor.Steering = (*Steering)(nil)

// NewSteering returns the Steering of the process that evicts.
func NewSteering(keys *Keys, probe *Probe, now func() time.Time) *Steering {
	return &Steering{keys: keys, probe: probe, now: now}
}

// Proven implements evictor.Steering: this process may let pods go, and the API
// server steers a pod with a key.
func (s *Steering) Proven(ctx context.Context) (bool, error) {
	if err := s.probe.permits(ctx); err != nil {
		return false, err
	}
	if err := s.probe.visible(ctx); err != nil {
		return false, err
	}
	return true, nil
}

// Ready implements evictor.Steering. A StatefulSet creates the next pod when
// the last has ended, all others as soon as it begins to.
func (s *Steering) Ready(ctx context.Context, move *ledger.Intent, grace time.Duration) (reason reasons.Reason, wait bool) {
	lasts := keyLasts
	if move.Owner.Kind == "StatefulSet" {
		lasts += grace
	}
	until := s.now().Add(lasts).Truncate(time.Second)
	of := owner{move.Namespace, move.Owner.UID}
	if _, err := s.keys.settle(ctx, of); err != nil {
		return "", true // an earlier move's key
	}
	err := s.keys.set(ctx, of, move.PodUID, target{Nodes: []string{move.To}, Until: until, By: byGate})
	switch {
	case errors.Is(err, errTaken), errors.Is(err, errFull):
		return "", true
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err): // of this namespace: the probe's took one
		klog.FromContext(ctx).V(2).Info("A key was refused, so its pod is not evicted", "namespace", move.Namespace, "reason", err.Error())
		return reasons.SteeringRefused, false
	case err == nil:
		err = s.probe.visible(ctx)
	}
	if err != nil {
		s.keys.clear(ctx, of, move.PodUID)
		klog.FromContext(ctx).Error(err, "The API server does not steer, so nothing is evicted")
		return reasons.SteeringAbsent, false
	}
	return "", false
}

// Undo implements evictor.Steering.
func (s *Steering) Undo(ctx context.Context, move *ledger.Intent) {
	s.keys.clear(ctx, owner{move.Namespace, move.Owner.UID}, move.PodUID)
}

// Settle implements evictor.Steering: it clears the keys that have done their
// work, and deletes the Steerings that are left without any.
func (s *Steering) Settle(ctx context.Context) {
	s.keys.settleAll(ctx)
	if err := s.keys.sweep(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "Steerings without keys were not deleted")
	}
}

// Drain waits until no key is open, for a process that is about to end: the pods
// that are held by one need it. For a process that has set none it does nothing.
func (s *Steering) Drain(ctx context.Context) {
	if s.keys.unused() {
		return
	}
	_ = wait.PollUntilContextCancel(ctx, settlePause, true, func(ctx context.Context) (bool, error) { return !s.keys.settleAll(ctx), nil })
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	s.Settle(ctx)
}

// settlePause is the time between two looks at whether keys are still open.
const settlePause = 20 * time.Millisecond

// Proves implements evictor.Steering. A replacement that is back on its node
// was not steered.
func (s *Steering) Proves(_ context.Context, move *ledger.Move) evictor.Proof {
	switch move.Node {
	case move.From:
		return evictor.NotSteered
	case move.To:
		return evictor.Steered
	}
	return evictor.Unproven
}

// Asked implements evictor.Steering: nobody asks.
func (s *Steering) Asked(context.Context) int64 { return 0 }
