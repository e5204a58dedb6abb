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

// Steering implements ledger.Steering through the API server. Unlike an
// extender, it can prove before an eviction that the replacement will be
// steered.
type Steering struct {
	keys  *Keys
	probe *Probe
	now   func() time.Time
	// stays is true if this process keeps running after its cycle and so can
	// release held pods.
	stays bool
	// holds is true if this cycle steers with gates, false if it steers with
	// names.
	holds atomic.Bool
	// absent is when the API server was last found not to steer. waits is true if the
	// move that is about to be made has no nodes because it must wait. Only cycles use
	// these fields, and only one cycle runs at a time.
	absent time.Time
	waits  bool
	pace   pace
}

var _ ledger.Steering = (*Steering)(nil)

// NewSteering returns the Steering of the process that evicts. A process that ends after its cycle, or is not allowed
// to release pods, steers with names.
func NewSteering(keys *Keys, probe *Probe, stays bool, now func() time.Time) *Steering {
	return &Steering{keys: keys, probe: probe, stays: stays, now: now}
}

// settles is how long the API server must have steered continuously. If there are several
// API servers, each learns at its own time that the keys' kind is back, and the next
// proof may reach a different one. This took one server 2.5 s.
const settles = 10 * time.Second

// errSettling means that the API server steers, but has not done so for long enough.
var errSettling = errors.New("the API server steers again, for less than " + settles.String())

// Proven implements ledger.Steering. It returns an error unless the API server steers and has done so for long enough,
// and false if the newest replacement to land went back to the node from which its pod was moved.
func (s *Steering) Proven(ctx context.Context) (bool, error) {
	permitted, err := s.steers(ctx)
	now := s.now()
	switch {
	case err != nil:
		s.absent = now
		return false, err
	case now.Before(s.absent.Add(settles)) && !now.Before(s.absent): // otherwise the clock has stepped back
		return false, errSettling
	}
	s.holds.Store(permitted && s.stays)
	return !s.keys.returned(), nil
}

// steers returns why the API server does not steer, and whether this process is allowed to release held pods.
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

// Restricts implements ledger.Steering. Finding nodes requires running kube-scheduler's
// filters for each move in flight, so it is not done while the key belongs to another
// move.
func (s *Steering) Restricts(leaving *ledger.Leaving) bool {
	s.waits = !s.holds.Load() && s.keys.another(idOfMove(leaving.Intent), leaving.PodUID)
	return !s.holds.Load() && !s.waits
}

// Ready implements ledger.Steering.
func (s *Steering) Ready(ctx context.Context, leaving *ledger.Leaving) (reason reasons.Reason, wait bool) {
	of := idOfMove(leaving.Intent)
	if _, err := s.keys.settle(ctx, of); err != nil || s.waits || s.keys.another(of, leaving.PodUID) {
		return "", true // an earlier move's key is open; nodes are searched for only after it is cleared
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
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err): // only this namespace is affected, because the probe's key was accepted
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

// target returns the key of a move. It returns false if the replacement can be steered only by node names, and
// the pod or the lack of suitable nodes rules that out.
func (s *Steering) target(leaving *ledger.Leaving) (to target, suits bool) {
	to = target{Nodes: []string{leaving.To}, Until: s.now().Add(keyLasts).Truncate(time.Second), By: byGate}
	if leaving.Owner.Kind != "ReplicaSet" { // creates pods from only one template
		to.Template = leaving.TemplateHash
	}
	if s.holds.Load() {
		return to, true
	}
	if !names.Restrictable(leaving.Pod) {
		return target{}, false
	}
	to.Nodes, to.By = leaving.Nodes, byNames
	return to, len(to.Nodes) > 0
}

// Undo implements ledger.Steering.
func (s *Steering) Undo(ctx context.Context, move *ledger.Intent) {
	s.keys.clear(ctx, idOfMove(move), move.PodUID)
}

// Settle implements ledger.Steering. It clears the keys that are no longer needed, and
// everything else in a Steering that belongs to no move in flight.
func (s *Steering) Settle(ctx context.Context) {
	if s.keys.leader.Leads() != nil {
		return // another process clears the keys
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

// Keep pauses for keepPause between two checks of which keys to renew, and for sweepPause
// between two checks of which keys exist.
const (
	keepPause  = 2 * time.Second
	sweepPause = 30 * time.Second
)

// Keep renews the keys of moves in flight until the context ends, starting with those of the previous leader, and
// clears all others.
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

// Begin keeps the keys of moves in flight until end is called. After that, none of them steers.
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

// Stop makes all keys stop steering. It is called when a process is about to end or to
// become a follower, because otherwise no process might be left to release a held pod.
// The next leader takes over the keys of moves in flight.
func (s *Steering) Stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	s.keys.suspend(ctx)
}

// Drain waits, before the process ends, until no key that this process has set is open, because the replacements need
// the process to release them. It does not wait for pods that an earlier process evicted, which may take hours.
func (s *Steering) Drain(ctx context.Context) {
	if s.keys.unused() {
		return
	}
	_ = wait.PollUntilContextCancel(ctx, settlePause, true, func(ctx context.Context) (bool, error) { return !s.keys.settleAll(ctx), nil })
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	s.Settle(ctx)
}

// settlePause is the time between two checks of whether keys are still open.
const settlePause = 20 * time.Millisecond

// Proves implements ledger.Steering. A replacement that is back on its node was not steered.
func (s *Steering) Proves(_ context.Context, move *ledger.Move) ledger.Proof {
	switch move.Node {
	case move.From:
		return ledger.NotSteered
	case move.To:
		return ledger.Steered
	}
	return ledger.Unproven
}

// Asked implements ledger.Steering. It returns 0, because there are no requests
// to count.
func (s *Steering) Asked(context.Context) int64 { return 0 }
