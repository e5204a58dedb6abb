package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// lead does the work of a leader while this process holds the Lease. Losing it ends the process, as it does for other
// controllers: what is in flight is then somebody else's.
func (a *App) lead(ctx context.Context, work func(context.Context) error) error {
	// The Lease is renewed until the work has ended: a process that is told to stop first brings what it does to an end.
	leading, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	term := &term{finished: make(chan error, 1)}
	config := a.electionConfig(ctx)
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
		return &UsageError{fmt.Errorf("leader election: %w", err)}
	}
	a.elector.Store(elector)
	defer context.AfterFunc(ctx, func() {
		if !term.started.Load() {
			cancel()
		}
	})()
	waiting, stopWaiting := context.WithCancel(leading)
	defer stopWaiting()
	go func() { _ = a.heartbeat(waiting) }() // waiting for the Lease is progress too; ends with this function
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

// term is one time of leading: whether it began, and whether its work ended by itself.
type term struct {
	started, done atomic.Bool
	finished      chan error
}

func (a *App) electionConfig(ctx context.Context) leaderelection.LeaderElectionConfig {
	return leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: a.options.Namespace, Name: a.options.LeaseName},
			Client:     a.client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: a.identity},
		},
		LeaseDuration:   a.options.LeaseDuration,
		RenewDeadline:   a.options.RenewDeadline,
		RetryPeriod:     a.options.RetryPeriod,
		ReleaseOnCancel: true,
		Name:            a.options.LeaseName,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStoppedLeading: func() {},
			OnNewLeader: func(leader string) {
				klog.FromContext(ctx).Info("Leader", "identity", leader, "isThisProcess", leader == a.identity)
			},
		},
	}
}

// newIdentity names this process, unlike any other before and after it.
func newIdentity() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("naming this process: %w", err)
	}
	return host + "_" + string(uuid.NewUUID()), nil
}

// leaseMargin is how long before others may take the Lease a leader that cannot renew it gives up; an eviction call may last
// as long.
func (a *App) leaseMargin() time.Duration {
	const most = 5 * time.Second
	if !a.options.LeaderElect {
		return most
	}
	return min(most, a.options.LeaseDuration-a.options.RenewDeadline)
}

var errLeaseLost = errors.New("the Lease is lost, or may be taken by another process at any moment")

// leads says why this process must not evict any more. Contexts end late in a process that was stopped for a while; the time
// since the Lease was renewed does not lie.
func (a *App) leads() error {
	elector := a.elector.Load()
	if elector == nil {
		return nil // without election this process is the only one
	}
	if !elector.IsLeader() || elector.Check(-a.leaseMargin()) != nil {
		return errLeaseLost
	}
	return nil
}
