package admission

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/cluster/names"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// Steering is steering by the API server. Its proof comes before the eviction.
type Steering struct {
	keys  *Keys
	probe *Probe
	now   func() time.Time
	// stays: this process goes on after its cycle, to let held pods go.
	stays bool
	// holds: this cycle steers by gates, else by names.
	holds atomic.Bool
	// absent is when the API server last did not steer, and waits reports whether
	// the move that is about to be made has no nodes because it has to wait. Only
	// cycles, of which one runs at a time, ask for these.
	absent time.Time
	waits  bool
	pace   pace
}

var _ ledger.Steering = (*Steering)(nil)

// NewSteering returns the Steering of the process that evicts. One that ends
// after its cycle, or may not let pods go, steers by names.
func NewSteering(keys *Keys, probe *Probe, stays bool, now func() time.Time) *Steering {
	return &Steering{keys: keys, probe: probe, stays: stays, now: now}
}

// settles is how long the API server must have steered since it last did not.
// There may be several: each learns at its own time that the keys' kind is back,
// which took one 2.5 s, and a proof may ask another.
const settles = 10 * time.Second

// errSettling says that it steers, and for too short a time.
var errSettling = errors.New("the API server steers again, for less than " + settles.String())

// Proven implements ledger.Steering: the API server steers a pod with a key,
// and nobody has undone it when it did so last.
func (s *Steering) Proven(ctx context.Context) (bool, error) {
	permitted, err := s.steers(ctx)
	now := s.now()
	switch {
	case err != nil:
		s.absent = now
		return false, err
	case now.Before(s.absent.Add(settles)) && !now.Before(s.absent): // else the clock has stepped back
		return false, errSettling
	}
	s.holds.Store(permitted && s.stays)
	return !s.keys.returned(), nil
}

// steers returns why the API server does not steer, and whether this process may
// let held pods go.
func (s *Steering) steers(ctx context.Context) (permitted bool, err error) {
	installed, err := s.probe.installed(ctx)
	if err != nil {
		return false, err
	}
	if !installed {
		return false, errNotInstalled
	}
	if permitted, err = s.probe.permits(ctx); err != nil {
		return false, err
	}
	return permitted, s.probe.visible(ctx, looksOfACycle)
}

// Restricts implements ledger.Steering. To find nodes takes kube-scheduler's
// filters for each move in flight, so they are not looked for while the key is
// another move's.
func (s *Steering) Restricts(leaving *ledger.Leaving) bool {
	s.waits = !s.holds.Load() && s.keys.another(idOfMove(leaving.Intent), leaving.PodUID)
	return !s.holds.Load() && !s.waits
}

// Ready implements ledger.Steering.
func (s *Steering) Ready(ctx context.Context, leaving *ledger.Leaving) (reason reasons.Reason, wait bool) {
	of := idOfMove(leaving.Intent)
	if _, err := s.keys.settle(ctx, of); err != nil || s.waits || s.keys.another(of, leaving.PodUID) {
		return "", true // an earlier move's key; nothing is asked while that is open
	}
	to, suits := s.target(leaving)
	if !suits {
		return reasons.NamesUnsuited, false
	}
	if s.pace.busy(ctx, s.probe.look) {
		return "", true
	}
	err := s.keys.set(ctx, of, leaving.PodUID, to)
	switch {
	case errors.Is(err, errTaken), errors.Is(err, errFull):
		return "", true
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err): // of this namespace: the probe's took one
		klog.FromContext(ctx).V(2).Info("A key was refused, so its pod is not evicted", "namespace", leaving.Namespace, "reason", err.Error())
		return reasons.SteeringRefused, false
	case err == nil:
		err = s.probe.visible(ctx, 1)
	}
	if err != nil {
		s.absent = s.now()
		s.keys.clear(ctx, of, leaving.PodUID)
		klog.FromContext(ctx).Error(err, "The API server does not steer, so nothing is evicted")
		return reasons.SteeringAbsent, false
	}
	return "", false
}

// target returns the key of a move; false if its replacement can be steered by
// names only, and they do not suit it.
func (s *Steering) target(leaving *ledger.Leaving) (to target, suits bool) {
	to = target{Nodes: []string{leaving.To}, Until: s.now().Add(keyLasts).Truncate(time.Second), By: byGate}
	if leaving.Owner.Kind != "ReplicaSet" { // which makes pods from one template only
		to.Template = leaving.TemplateHash
	}
	if s.holds.Load() {
		return to, true
	}
	if !names.Suit(leaving.Pod) {
		return target{}, false
	}
	to.Nodes, to.By = leaving.Nodes, byNames
	return to, len(to.Nodes) > 0
}

// Undo implements ledger.Steering.
func (s *Steering) Undo(ctx context.Context, move *ledger.Intent) {
	s.keys.clear(ctx, idOfMove(move), move.PodUID)
}

// Settle implements ledger.Steering: it clears the keys that have done their
// work, and whatever else is in a Steering that no move in flight backs.
func (s *Steering) Settle(ctx context.Context) {
	if s.keys.leader.Leads() != nil {
		return // they are another's to clear
	}
	s.keys.settleAll(ctx)
	installed, err := s.probe.installed(ctx)
	if err == nil && installed {
		err = s.keys.sweep(ctx)
	}
	if err != nil {
		klog.FromContext(ctx).Error(err, "Keys without moves were not cleared")
	}
}

// The pauses of Keep: between two looks at which keys to renew, and at which keys
// there are.
const (
	keepPause  = 2 * time.Second
	sweepPause = 30 * time.Second
)

// Keep renews the keys of moves in flight until the context ends, first those of
// the process that led before, and clears all others.
func (s *Steering) Keep(ctx context.Context) {
	for swept := (time.Time{}); ctx.Err() == nil; {
		switch {
		case s.keys.leader.Leads() != nil:
			s.keys.forget()
			swept = time.Time{}
		case time.Since(swept) >= sweepPause || s.keys.differ():
			s.Settle(ctx)
			swept = time.Now()
		default:
			s.keys.settleAll(ctx)
		}
		select {
		case <-ctx.Done():
		case <-time.After(keepPause):
		}
	}
}

// Begin keeps the keys of moves in flight until end is called. Then none steers.
func (s *Steering) Begin(ctx context.Context) (end func()) {
	keeping, cancel := context.WithCancel(ctx)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		s.Keep(keeping)
	}()
	return func() {
		cancel()
		<-kept
		s.Stop(ctx)
	}
}

// Stop has no key steer any more, for a process that is about to end or to follow
// another: nobody might be there to let a held pod go. Whoever leads next takes
// the keys of moves in flight over.
func (s *Steering) Stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	s.keys.suspend(ctx)
}

// Drain waits until no key is open that this process has set, before it ends: the
// pods that come by one need it. A pod that an earlier process has evicted may take
// hours more.
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

// Proves implements ledger.Steering. A replacement that is back on its node
// was not steered.
func (s *Steering) Proves(_ context.Context, move *ledger.Move) ledger.Proof {
	switch move.Node {
	case move.From:
		return ledger.NotSteered
	case move.To:
		return ledger.Steered
	}
	return ledger.Unproven
}

// Asked implements ledger.Steering: nobody asks.
func (s *Steering) Asked(context.Context) int64 { return 0 }
