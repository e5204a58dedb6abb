package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// lead runs cycles while this process holds the Lease. Losing it ends the process, as it does for other controllers: what
// is in flight is then somebody else's.
func (a *App) lead(ctx context.Context) error {
	leading, cancel := context.WithCancel(ctx)
	defer cancel()
	term := &term{finished: make(chan error, 1)}
	config, err := a.electionConfig(ctx)
	if err != nil {
		return err
	}
	config.Callbacks.OnStartedLeading = func(ctx context.Context) {
		term.started.Store(true)
		err := a.cycles(ctx)
		term.done.Store(ctx.Err() == nil)
		term.finished <- err
		cancel()
	}
	elector, err := leaderelection.NewLeaderElector(config)
	if err != nil {
		return &UsageError{fmt.Errorf("leader election: %w", err)}
	}
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

// term is one time of leading: whether it began, and whether its cycles ended by themselves.
type term struct {
	started, done atomic.Bool
	finished      chan error
}

func (a *App) electionConfig(ctx context.Context) (leaderelection.LeaderElectionConfig, error) {
	identity, err := os.Hostname()
	if err != nil {
		return leaderelection.LeaderElectionConfig{}, fmt.Errorf("naming this process: %w", err)
	}
	identity += "_" + string(uuid.NewUUID())
	return leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: a.options.Namespace, Name: a.options.LeaseName},
			Client:     a.client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		},
		LeaseDuration:   a.options.LeaseDuration,
		RenewDeadline:   a.options.RenewDeadline,
		RetryPeriod:     a.options.RetryPeriod,
		ReleaseOnCancel: true,
		Name:            a.options.LeaseName,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStoppedLeading: func() {},
			OnNewLeader: func(leader string) {
				klog.FromContext(ctx).Info("Leader", "identity", leader, "isThisProcess", leader == identity)
			},
		},
	}, nil
}
