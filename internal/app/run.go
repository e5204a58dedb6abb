package app

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/internal/authority"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/internal/serve"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// Run is `evenkeel run`: one cycle, or cycles by interval or schedule.
func Run(ctx context.Context, options Options) error {
	setCollector(collectFilling)
	a, err := newApp(ctx, options, parts{evicting: true})
	if err != nil {
		return exit.UnlessStopped(ctx, err)
	}
	return a.start(ctx, a.evict, a.settleCollector)
}

// Serve is `evenkeel serve`: every replica answers kube-scheduler, the leader
// evicts.
func Serve(ctx context.Context, options Options) error {
	if !options.loops() {
		return exit.Usagef("serve needs --descheduling-interval or --schedule")
	}
	setCollector(collectFilling)
	a, err := newApp(ctx, options, parts{evicting: true, serving: true})
	if err != nil {
		return exit.UnlessStopped(ctx, err)
	}
	server, err := a.server(extender.Config{Judge: a.judge, Status: extender.Report(a.reports().Status)})
	if err != nil {
		return err
	}
	return a.start(ctx, server.Run, a.evict, a.settleCollector)
}

// Extender is `evenkeel extender`: it answers kube-scheduler and never evicts.
func Extender(ctx context.Context, options Options) error {
	setCollector(collectFilling)
	options.LeaderElect = false
	a, err := newApp(ctx, options, parts{serving: true})
	if err != nil {
		return exit.UnlessStopped(ctx, err)
	}
	server, compare, err := a.extenderServer()
	if err != nil {
		return err
	}
	a.health.Ready() // an extender that knows nothing answers neutrally, which is better than not at all
	return a.start(ctx, server.Run, a.reflect, a.authority.Follow, a.heartbeat, compare, a.watchPolicy, a.settleCollector)
}

// server makes the server for a judge, with the reports that go with it.
func (a *App) server(config extender.Config) (*extender.Server, error) {
	config.Address = a.options.ListenAddress
	config.TLS = extender.TLS{CertFile: a.options.TLSCertFile, KeyFile: a.options.TLSKeyFile, ClientCAFile: a.options.ClientCAs}
	config.Nodes, config.Explain = extender.Report(a.reports().Nodes), extender.Report(a.desk.Explain)
	config.Registerer = a.registry
	a.answer(&config)
	server, err := extender.NewServer(config)
	if err != nil {
		return nil, exit.Usage(err)
	}
	a.answers = server
	return server, nil
}

// start runs the process's tasks until one of them ends or fails or the context
// does, and waits for all.
func (a *App) start(ctx context.Context, tasks ...func(context.Context) error) error {
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	group, running := errgroup.WithContext(running)
	group.Go(func() error {
		return serve.Listen(running, a.options.MetricsAddress, "metrics", serve.Probes(a.health, a.registry))
	})
	for _, task := range tasks {
		group.Go(func() error {
			defer cancel() // one task done is the process done
			return task(running)
		})
	}
	if a.informers == nil {
		group.Go(func() error { return a.eachPolicy(running, observe) })
	}
	err := group.Wait()
	a.stop()
	return exit.UnlessStopped(ctx, err)
}

func (a *App) stop() {
	if a.events != nil {
		a.events.Shutdown()
	}
	if a.informers != nil {
		a.informers.Shutdown()
	}
}

// observe observes usage where a policy needs it.
func observe(ctx context.Context, a *App) error {
	if a.parts.evicting && a.judge == nil && !a.readsUsage() && !a.publishesUsage() {
		return nil
	}
	return a.observer.Run(ctx)
}

// heartbeat reports progress while observations come.
func (a *App) heartbeat(ctx context.Context) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	var seen *observer.Observation // not its time, which is by a clock that may be set back
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if latest := a.observer.Latest(); latest != seen {
			seen = latest
			a.health.Progress()
		}
	}
}

// evict starts what evicting needs and runs cycles, as leader where asked for.
func (a *App) evict(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if a.events != nil {
		finish, err := a.events.Start(ctx)
		if err != nil {
			return err
		}
		defer finish()
	}
	if err := a.kube.Start(ctx, a.informers, a.synced...); err != nil {
		return exit.UnlessStopped(ctx, err)
	}
	a.health.Ready()
	group.Go(func() error { return a.eachPolicy(ctx, observe) })
	group.Go(func() error {
		return a.eachPolicy(ctx, func(ctx context.Context, a *App) error { return a.providers.run(ctx) })
	})
	if a.options.loops() {
		group.Go(func() error { return a.watchPolicy(ctx) })
	}
	if a.judge != nil {
		group.Go(func() error { return a.authority.Follow(ctx) })
	}
	group.Go(func() error {
		defer cancel()
		if a.options.LeaderElect && !a.options.DryRun && !a.withoutLease(ctx) {
			return a.lead(ctx, a.cycles)
		}
		return a.cycles(ctx)
	})
	return group.Wait()
}

// lead does the work of a leader while this process holds the Lease.
func (a *App) lead(ctx context.Context, work func(context.Context) error) error {
	err := a.lease.Lead(ctx, work)
	if wrong, ok := errors.AsType[*authority.ConfigError](err); ok {
		return exit.Usage(wrong.Unwrap())
	}
	return err
}

// reports are what this process can tell.
func (a *App) reports() *serve.Reports {
	return &serve.Reports{Observer: a.observer, Authority: a.authority, Policies: a.policies, Judge: a.judge, Started: a.started}
}

// withoutLease says that this process runs its one cycle without the Lease,
// because it may not even read it. Descheduler's first Jobs had no right to it
// and no need: their plugins know of no other process. Whoever moves pods by
// real usage, or goes on evicting, needs it.
func (a *App) withoutLease(ctx context.Context) bool {
	if a.readsUsage() || a.options.loops() {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := a.kube.Client.CoordinationV1().Leases(a.options.Namespace).Get(ctx, a.options.LeaseName, metav1.GetOptions{})
	if !apierrors.IsForbidden(err) {
		return false
	}
	klog.FromContext(ctx).Info("Running without the Lease, so nothing keeps another process from evicting at the same time",
		"reason", err.Error())
	return true
}
