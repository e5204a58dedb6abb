package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/runner"
	"github.com/evenkeel/evenkeel/scorer/extender"
	"github.com/evenkeel/evenkeel/strategies/realusage"
)

// Run is `evenkeel run`: one cycle, or cycles by interval or schedule.
func Run(ctx context.Context, options Options) error {
	a, err := newApp(ctx, options, parts{evicting: true})
	if err != nil {
		return unlessStopped(ctx, err)
	}
	return a.start(ctx, a.evict)
}

// Serve is `evenkeel serve`: every replica answers kube-scheduler, the leader evicts.
func Serve(ctx context.Context, options Options) error {
	if !options.loops() {
		return &UsageError{errors.New("serve needs --descheduling-interval or --schedule")}
	}
	a, err := newApp(ctx, options, parts{evicting: true, serving: true})
	if err != nil {
		return unlessStopped(ctx, err)
	}
	server, err := a.server()
	if err != nil {
		return err
	}
	return a.start(ctx, server.Run, a.evict)
}

// Extender is `evenkeel extender`: it answers kube-scheduler and never evicts.
func Extender(ctx context.Context, options Options) error {
	options.LeaderElect = false
	a, err := newApp(ctx, options, parts{serving: true})
	if err != nil {
		return unlessStopped(ctx, err)
	}
	server, err := a.server()
	if err != nil {
		return err
	}
	a.health.ready.Store(true) // an extender that knows nothing answers neutrally, which is better than not at all
	return a.start(ctx, server.Run, a.reflect, a.heartbeat)
}

// unlessStopped drops an error that only says that the process was told to stop while it was starting.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func (a *App) server() (*extender.Server, error) {
	server, err := extender.NewServer(extender.Config{
		Judge:      a.judge,
		Address:    a.options.ListenAddress,
		TLS:        extender.TLS{CertFile: a.options.TLSCertFile, KeyFile: a.options.TLSKeyFile, ClientCAFile: a.options.ClientCAs},
		Nodes:      a.nodes,
		Status:     a.status,
		Registerer: a.registry,
	})
	if err != nil {
		return nil, &UsageError{err}
	}
	return server, nil
}

// start runs the process's tasks until one of them ends or fails or the context does, and waits for all.
func (a *App) start(ctx context.Context, tasks ...func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return a.serveMetrics(ctx) })
	for _, task := range tasks {
		group.Go(func() error {
			defer cancel() // one task done is the process done
			return task(ctx)
		})
	}
	if a.informers == nil {
		group.Go(func() error { return a.observer.Run(ctx) })
	}
	err := group.Wait()
	a.stop()
	return err
}

func (a *App) stop() {
	if a.events != nil {
		a.events.Shutdown()
	}
	if a.informers != nil {
		a.informers.Shutdown()
	}
}

// reflect feeds an extender's store: records only, by watches of its own.
func (a *App) reflect(ctx context.Context) error {
	client := a.client.CoreV1().RESTClient()
	a.observer.Store().Reflect(ctx,
		cache.NewListWatchFromClient(client, "nodes", metav1.NamespaceAll, fields.Everything()),
		cache.NewListWatchFromClient(client, "pods", metav1.NamespaceAll, fields.Everything()))
	return nil
}

// heartbeat reports progress while observations come.
func (a *App) heartbeat(ctx context.Context) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	var seen time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if latest := a.observer.Latest(); latest != nil && latest.At.After(seen) {
			seen = latest.At
			a.health.progress()
		}
	}
}

// evict starts what evicting needs and runs cycles, as leader where asked for.
func (a *App) evict(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if a.events != nil {
		if err := a.events.StartRecordingToSinkWithContext(ctx); err != nil {
			return fmt.Errorf("starting to record events: %w", err)
		}
	}
	if err := a.startInformers(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // stopped while starting
		}
		return err
	}
	a.health.ready.Store(true)
	if a.judge != nil || a.readsUsage() || a.publishesUsage() {
		group.Go(func() error { return a.observer.Run(ctx) })
	}
	group.Go(func() error { return a.providers.run(ctx) })
	group.Go(func() error {
		defer cancel()
		if a.options.LeaderElect && !a.options.DryRun {
			return a.lead(ctx)
		}
		return a.cycles(ctx)
	})
	return group.Wait()
}

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

// cycles waits until usage has been observed for long enough and runs one cycle or many.
func (a *App) cycles(ctx context.Context) error {
	a.usageGate.evicting.Store(true)
	if !a.awaitUsage(ctx, io.Discard) {
		return nil
	}
	if !a.options.loops() {
		return errors.Join(a.cycle(ctx), a.syncNodesOnce(ctx))
	}
	schedule, err := a.options.schedule()
	if err != nil {
		return &UsageError{err}
	}
	group, ctx := errgroup.WithContext(ctx)
	if a.nodeSync != nil {
		group.Go(func() error { return a.nodeSync.Run(ctx) })
	}
	group.Go(func() error {
		runner.Loop(ctx, schedule, a.now, a.health.progress, func(ctx context.Context) {
			if err := a.cycle(ctx); err != nil {
				klog.FromContext(ctx).Error(err, "Cycle failed")
			}
		})
		return nil
	})
	return group.Wait()
}

// syncNodesOnce publishes what a one-shot run has seen.
func (a *App) syncNodesOnce(ctx context.Context) error {
	if a.nodeSync == nil || ctx.Err() != nil {
		return nil
	}
	return a.nodeSync.Sync(ctx)
}

func (a *App) cycle(ctx context.Context) error {
	a.health.progress()
	a.observer.Ledger().Expire(a.now()) // without samples nothing else does
	a.gate.ResetCycle()
	if err := a.providers.ready(ctx); err != nil {
		return err
	}
	return a.runner.Cycle(ctx)
}

// awaitUsage waits until sources with history have told enough, or for the policy's observation period, counted from the
// first reading: windows from a source without history have to fill first, those of most pods too, because a pod that is not
// measured is not moved. A source that delivers too little is waited for twice as long and then left to the gate. It returns
// false when the context ended.
func (a *App) awaitUsage(ctx context.Context, progress io.Writer) bool {
	if !a.readsUsage() {
		return true
	}
	period := a.load.Usage.ObservationPeriod.Duration
	started := a.now()
	ticker := time.NewTicker(250 * time.Millisecond)
	defer ticker.Stop()
	told := false
	for {
		a.health.progress()
		// The newest observation has to be one that the whole period was sampled for; a replica that takes the Lease over has
		// observed all along.
		latest := a.observer.Latest()
		observed := latest != nil && latest.Gate == "" && (latest.Settled || latest.At.Sub(latest.First) >= period)
		if observed && a.podsMeasured(latest) || a.now().Sub(started) > 2*period {
			return true
		}
		if latest != nil && !told {
			_, _ = fmt.Fprintf(progress, "Observing real usage for up to %v, until its windows have filled.\n", 2*period)
			told = true
		}
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
	}
}

// podsMeasured says whether as large a share of pods is measured as is asked for of nodes.
func (a *App) podsMeasured(o *observer.Observation) bool {
	return 100*float64(o.Measured) >= a.load.Usage.MinCoveragePercent*float64(o.Pods)
}

// Plan is `evenkeel plan`: it observes, plans, prints and changes nothing.
func Plan(ctx context.Context, options Options, format string, out, progress io.Writer) error {
	if err := ValidFormat(format); err != nil {
		return err
	}
	options.DryRun, options.LeaderElect, options.MetricsAddress = true, false, "0"
	var made *realusage.Made
	a, err := newApp(ctx, options, parts{evicting: true, onlyRealUsage: true, execute: func(_ context.Context, m realusage.Made) {
		made = &m
	}})
	if err != nil {
		return err
	}
	err = a.start(ctx, func(ctx context.Context) error { return a.planOnce(ctx, progress) })
	if err != nil || made == nil {
		return errors.Join(err, ctx.Err())
	}
	report := planReport(*made)
	return write(out, format, report, report.table)
}

func (a *App) planOnce(ctx context.Context, progress io.Writer) error {
	group, ctx := errgroup.WithContext(ctx)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := a.startInformers(ctx); err != nil {
		return err
	}
	group.Go(func() error { return a.observer.Run(ctx) })
	group.Go(func() error {
		defer cancel()
		if !a.awaitUsage(ctx, progress) {
			return nil
		}
		return a.cycle(ctx)
	})
	return group.Wait()
}

// Top is `evenkeel top`: it takes one reading, or observes for a while, and prints each node.
func Top(ctx context.Context, options Options, format string, observe time.Duration, out io.Writer) error {
	if err := ValidFormat(format); err != nil {
		return err
	}
	options.LeaderElect, options.MetricsAddress = false, "0"
	a, err := newApp(ctx, options, parts{})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err = a.start(ctx, a.reflect, func(ctx context.Context) error { return a.watchNodes(ctx, observe) })
	if err != nil {
		return err
	}
	latest := a.observer.Latest()
	if latest == nil || latest.Batches == 0 {
		if latest != nil && latest.SourceError() != nil {
			return latest.SourceError()
		}
		return errors.New("no usage could be read")
	}
	nodes := a.nodeStatuses()
	report := map[string]any{"nodes": nodes, "gate": string(latest.Gate), "gateDetail": latest.Closed(), "sources": sourceReports(latest)}
	return write(out, format, report, func(out io.Writer) error {
		if err := topTable(latest.View.Windows, nodes)(out); err != nil {
			return err
		}
		return sourcesTable(out, latest)
	})
}

// watchNodes waits until nodes are known and usage has been read for the given time.
func (a *App) watchNodes(ctx context.Context, observe time.Duration) error {
	deadline := a.now().Add(observe + syncTimeout/4)
	var first time.Time
	for a.now().Before(deadline) {
		latest := a.observer.Latest()
		switch {
		case latest != nil && latest.SourceError() != nil && observe == 0:
			return nil
		case latest != nil && latest.Batches > 0 && len(latest.View.Nodes) > 0 && first.IsZero():
			first = latest.At
		}
		if !first.IsZero() && latest.At.Sub(first) >= observe {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}
