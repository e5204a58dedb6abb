package leadership

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/kube"
)

// term is one election and, if it is won, the leader's work until that has returned. Each
// term has its own elector, because an elector keeps state after it has lost.
type term struct {
	config   *LeaseConfig
	identity string
	trouble  *kube.Trouble
	// holder is the holder of the Lease.
	holder *atomic.Pointer[string]

	elector *leaderelection.LeaderElector
	lock    *lock
	logger  klog.Logger
	// stop ends the election and thus the term.
	stop context.CancelFunc
	// finished is closed when the work has returned with err; lost reports whether
	// the Lease was lost before.
	finished chan struct{}
	err      error
	lost     bool
	// unreachable is the reason why the election was given up.
	unreachable error
}

// run stands for election and returns once no work is in progress. won reports whether
// the election was won.
func (t *term) run(ctx context.Context, work func(context.Context) error) (won bool, err error) {
	// The Lease is renewed until the work has ended, because a process that is told to
	// stop first finishes its current step.
	standing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	t.stop, t.logger, t.finished = stop, klog.FromContext(ctx), make(chan struct{})
	t.lock = &lock{term: t, Interface: &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: t.config.Namespace, Name: t.config.Name},
		Client:     t.config.Client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: t.identity},
	}}
	config := t.election()
	config.Callbacks.OnStartedLeading = func(held context.Context) { t.lead(ctx, held, work) }
	if t.elector, err = leaderelection.NewLeaderElector(config); err != nil {
		return false, exit.Usagef("leader election: %w", err)
	}
	// If the election was won, the term must not end before the work does.
	defer context.AfterFunc(ctx, func() {
		if !t.lock.won() {
			stop()
		}
	})()
	// The elector logs each failed attempt; the lock limits how often it logs.
	t.elector.Run(klog.NewContext(standing, logr.Discard()))
	if !t.lock.won() {
		return false, nil
	}
	<-t.finished
	return true, nil
}

func (t *term) election() leaderelection.LeaderElectionConfig {
	return leaderelection.LeaderElectionConfig{
		Lock:          t.lock,
		LeaseDuration: t.config.Duration,
		RenewDeadline: t.config.RenewDeadline,
		RetryPeriod:   t.config.RetryPeriod,
		Name:          t.config.Name,
		// The elector would release the Lease while the work is still in progress, and
		// even if another process already holds it. Lease.release avoids both.
		ReleaseOnCancel: false,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStoppedLeading: func() {},
			OnNewLeader: func(leader string) {
				t.holder.Store(&leader)
				t.logger.Info("Leader", "identity", leader, "isThisProcess", leader == t.identity)
			},
		},
	}
}

// lead does the work until it returns, the Lease is lost or the process is
// stopped.
func (t *term) lead(ctx, held context.Context, work func(context.Context) error) {
	defer close(t.finished)
	defer t.stop()
	held, quit := context.WithCancel(klog.NewContext(held, t.logger))
	defer quit()
	defer context.AfterFunc(ctx, quit)()
	t.err = work(held)
	t.lost = held.Err() != nil && ctx.Err() == nil
}

// leads reports whether no other process may hold the Lease within the margin.
func (t *term) leads() bool {
	renewed := t.lock.renewed.Load()
	return renewed != nil && time.Since(*renewed) < t.config.Duration-t.config.margin() && t.elector.IsLeader()
}

// lock is the Lease as the elector sees it. It bounds each call. It records when the last
// successful write began, because others count the duration of the Lease from then on.
type lock struct {
	resourcelock.Interface
	term    *term
	renewed atomic.Pointer[time.Time]
}

var _ resourcelock.Interface = (*lock)(nil)

// won reports whether the Lease was written, which is exactly when the elector
// begins a term.
func (k *lock) won() bool { return k.renewed.Load() != nil }

// Get implements resourcelock.Interface.
func (k *lock) Get(ctx context.Context) (record *resourcelock.LeaderElectionRecord, raw []byte, err error) {
	k.term.config.Progress()
	err = k.call(ctx, func(ctx context.Context) (failed error) {
		record, raw, failed = k.Interface.Get(ctx)
		return failed
	})
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (k *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return k.write(ctx, record, k.Interface.Create)
}

// Update implements resourcelock.Interface.
func (k *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return k.write(ctx, record, k.Interface.Update)
}

func (k *lock) write(ctx context.Context, record resourcelock.LeaderElectionRecord,
	write func(context.Context, resourcelock.LeaderElectionRecord) error,
) error {
	began := time.Now()
	err := k.call(ctx, func(ctx context.Context) error { return write(ctx, record) })
	if err == nil {
		k.renewed.Store(&began)
	}
	return err
}

// call makes one call with a timeout and limits how often errors are logged. A process
// whose work ends by itself gives up the election after some time.
func (k *lock) call(ctx context.Context, do func(context.Context) error) error {
	t := k.term
	calling, cancel := context.WithTimeout(ctx, t.config.callTimeout())
	defer cancel()
	err := do(calling)
	if errors.Is(ctx.Err(), context.Canceled) {
		return err // stopped
	}
	trouble := err
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		trouble = nil // a regular response, which the elector handles
	}
	lasted := t.trouble.Note(klog.NewContext(ctx, t.logger), trouble)
	if t.config.Once && !k.won() && lasted > kube.StallTimeout {
		t.unreachable = fmt.Errorf("taking the Lease %s: %w", k.Describe(), err)
		t.stop()
	}
	return err
}
