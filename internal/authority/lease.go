// Package authority decides whether this process may evict: whether it holds
// the Lease, whether evicting is paused, and whether the next eviction is
// recorded. It keeps the ledgers of all processes in sync: the one that evicts
// writes, the others follow.
package authority

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/kube"
)

// LeaseConfig configures the Lease that a process evicts under.
type LeaseConfig struct {
	Client          kubernetes.Interface
	Namespace, Name string
	// Elect reports whether there is an election; without one this process is
	// the only one.
	Elect                                bool
	Duration, RenewDeadline, RetryPeriod time.Duration
	// Waiting runs while the process waits for the Lease, until its context
	// ends: waiting counts as progress.
	Waiting func(context.Context) error
}

// Lease is the right to evict, held by one process at a time.
type Lease struct {
	config   LeaseConfig
	identity string
	// elector is nil before the election.
	elector atomic.Pointer[leaderelection.LeaderElector]
}

// NewLease returns a Lease with an identity that is unique across processes and
// restarts.
func NewLease(config LeaseConfig) (*Lease, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("naming this process: %w", err)
	}
	return &Lease{config: config, identity: host + "_" + string(uuid.NewUUID())}, nil
}

// Identity returns the name of this process in the Lease and in the ledger.
func (l *Lease) Identity() string { return l.identity }

// Lead runs the work of a leader while this process holds the Lease. Losing the
// Lease ends the process, as in other controllers: moves in flight then belong
// to the next leader.
func (l *Lease) Lead(ctx context.Context, work func(context.Context) error) error {
	// The Lease is renewed until the work has ended: a stopping process first
	// finishes what it is doing.
	leading, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	term := &term{finished: make(chan error, 1)}
	config := l.election(ctx)
	config.Callbacks.OnStartedLeading = func(held context.Context) {
		term.started.Store(true)
		held, stop := context.WithCancel(held)
		defer stop()
		defer context.AfterFunc(ctx, stop)()
		err := work(held)
		term.done.Store(held.Err() == nil)
		term.finished <- err
		cancel()
	}
	elector, err := leaderelection.NewLeaderElector(config)
	if err != nil {
		return exit.Usagef("leader election: %w", err)
	}
	l.elector.Store(elector)
	defer context.AfterFunc(ctx, func() {
		if !term.started.Load() {
			cancel()
		}
	})()
	waiting, stopWaiting := context.WithCancel(leading)
	defer stopWaiting()
	go func() { _ = l.config.Waiting(waiting) }() // ends with this function
	elector.Run(leading)
	if !term.started.Load() {
		return nil
	}
	err = <-term.finished
	if err == nil && !term.done.Load() && ctx.Err() == nil {
		return errors.New("the Lease was lost")
	}
	return err
}

// term is one period of leadership: whether it began, and whether its work
// ended on its own.
type term struct {
	started, done atomic.Bool
	finished      chan error
}

func (l *Lease) election(ctx context.Context) leaderelection.LeaderElectionConfig {
	return leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: l.config.Namespace, Name: l.config.Name},
			Client:     l.config.Client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: l.identity},
		},
		LeaseDuration:   l.config.Duration,
		RenewDeadline:   l.config.RenewDeadline,
		RetryPeriod:     l.config.RetryPeriod,
		ReleaseOnCancel: true,
		Name:            l.config.Name,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStoppedLeading: func() {},
			OnNewLeader: func(leader string) {
				klog.FromContext(ctx).Info("Leader", "identity", leader, "isThisProcess", leader == l.identity)
			},
		},
	}
}

// Forbidden reports whether this process lacks the permission to read the
// Lease.
func (l *Lease) Forbidden(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, kube.CallTimeout)
	defer cancel()
	_, err := l.config.Client.CoordinationV1().Leases(l.config.Namespace).Get(ctx, l.config.Name, metav1.GetOptions{})
	if !apierrors.IsForbidden(err) {
		return false
	}
	klog.FromContext(ctx).Info("Running without the Lease, so nothing keeps another process from evicting at the same time",
		"reason", err.Error())
	return true
}

// Margin returns how long before others may take the Lease a leader that cannot
// renew it gives up. An eviction call may last that long.
func (l *Lease) Margin() time.Duration {
	const most = 5 * time.Second
	if !l.config.Elect {
		return most
	}
	return min(most, l.config.Duration-l.config.RenewDeadline)
}

var errLeaseLost = errors.New("the Lease is lost, or may be taken by another process at any moment")

// Leads returns an error if this process must not evict any more. In a process
// that was suspended contexts end late; the time since the last renewal is
// reliable.
func (l *Lease) Leads() error {
	elector := l.elector.Load()
	if elector == nil {
		return nil // without election this process is the only one
	}
	if !elector.IsLeader() || elector.Check(-l.Margin()) != nil {
		return errLeaseLost
	}
	return nil
}

// Elected reports whether this process was elected and still leads.
func (l *Lease) Elected() bool { return l.elector.Load() != nil && l.Leads() == nil }
