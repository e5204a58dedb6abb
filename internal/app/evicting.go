package app

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/internal/authority"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/internal/slim"
	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/runner"
	"github.com/evenkeel/evenkeel/strategies/realusage"
)

// wireAuthority makes what reports whether this process may evict.
func (a *App) wireAuthority() (err error) {
	namespace := cmp.Or(a.options.Namespace, DefaultNamespace)
	a.lease, err = authority.NewLease(authority.LeaseConfig{
		Client: a.kube.Client, Namespace: a.options.Namespace, Name: a.options.LeaseName, Elect: a.options.LeaderElect,
		Duration: a.options.LeaseDuration, RenewDeadline: a.options.RenewDeadline, RetryPeriod: a.options.RetryPeriod,
		Waiting: a.heartbeat,
	})
	if err != nil {
		return err
	}
	a.authority, err = authority.New(authority.Config{
		Client: a.kube.Client, Namespace: namespace, Lease: a.lease, Moves: a.observer, Clock: a.kube.Clock, Registry: a.registry,
		Remote: a.remote(), DryRun: a.options.DryRun,
		Report: a.announcer.LedgerLost,
	})
	return err
}

// remote is the separate extender, nil without one.
func (a *App) remote() *evictor.RemoteExtender {
	if a.options.ExtenderURL == "" {
		return nil
	}
	return &evictor.RemoteExtender{URL: a.options.ExtenderURL}
}

// wireEvicting makes what evicts under any policy.
func (a *App) wireEvicting() error {
	a.informers = informers.NewSharedInformerFactoryWithOptions(a.kube.Client, 0, informers.WithTransform(a.slimmer().Transform))
	synced, err := a.observer.Store().Attach(a.informers)
	if err != nil {
		return fmt.Errorf("feeding the observer: %w", err)
	}
	a.synced = append(a.synced, synced)
	a.cluster = evictor.NewWatched(a.informers, a.observer.Ledger(), a.kube.Clock)
	a.scaler = evictor.NewDeploymentScaler(a.kube.Client, a.kube.Clock, a.lease.Margin())
	a.metrics = evictingMetrics{evictor: evictor.NewMetrics(a.registry), runner: runner.NewMetrics(a.registry)}
	a.evictions, err = evictor.NewClient(evictor.ClientConfig{
		Kube:      a.kube.Client,
		Ledger:    a.observer.Ledger(),
		Authority: a.authority,
		Events:    a.recorder,
		DryRun:    a.options.DryRun,
		Timeout:   callTimeout,
		// A call may not last into the time when others could hold the Lease.
		CallTimeout: a.lease.Margin(),
		Clock:       a.kube.Clock,
		Metrics:     a.metrics.evictor,
	})
	if err != nil {
		return fmt.Errorf("making the evicting client: %w", err)
	}
	a.steering = a.newSteering()
	return nil
}

func (a *App) newSteering() evictor.Steering {
	s := &evictor.ExtenderSteering{Observer: a.observer, Several: a.options.LeaderElect, Remote: a.remote()}
	if a.judge != nil {
		s.Here = a.judge
	}
	return s
}

// wireRunner makes what evicts under this policy, requests the informers it
// needs and leaves starting them to run.
func (a *App) wireRunner(ctx context.Context) error {
	if err := a.checkTransitions(); err != nil {
		return err
	}
	if err := a.wireNodeSync(); err != nil {
		return err
	}
	if err := a.wireEvictor(); err != nil {
		return err
	}
	policyfile.RequestProtections(a.informers, a.profiles)
	if a.readsUsage() {
		if err := a.wireFilters(ctx); err != nil {
			return err
		}
	}
	return a.wireFramework(ctx)
}

// readsUsage reports whether a plugin of the policy is Evenkeel's own, which
// moves pods by real usage.
func (a *App) readsUsage() bool { return len(policy.RealUsageArgs(a.profiles)) > 0 }

func (a *App) wireEvictor() error {
	settings, err := evictor.SettingsOf(&a.load.Eviction)
	if err != nil {
		return exit.Usagef("%s: %w", a.options.PolicyFile, err)
	}
	settings.GracePeriodSeconds = a.profiles.GracePeriodSeconds
	config := evictor.Config{
		Observer: a.observer, Cluster: a.cluster, Evictions: a.evictions, Scaler: a.scaler, Clock: a.kube.Clock,
		Settings: settings, Metrics: a.metrics.evictor, Outcomes: a.outcomes, Progress: a.health.Progress,
	}
	if a.load.Eviction.Steering == policy.SteeringRequired {
		config.Steering = a.steering
	}
	if a.evictor, err = evictor.New(config); err != nil {
		return fmt.Errorf("making the evictor: %w", err)
	}
	return nil
}

// wireFilters makes what moving pods by real usage needs beside the pods.
// Upstream's plugins need none of it.
func (a *App) wireFilters(ctx context.Context) error {
	if a.filters == nil {
		dynamic, err := a.kube.DynamicResources()
		if err != nil {
			return err
		}
		a.filters, err = placement.New(ctx, placement.Config{Client: a.kube.Client, Informers: a.informers, DynamicResources: dynamic})
		if err != nil {
			return fmt.Errorf("building kube-scheduler's filters: %w", err)
		}
		a.synced = append(a.synced, a.filters.HasSynced)
	}
	return a.cluster.WatchOwners(a.filters)
}

func (a *App) wireFramework(ctx context.Context) (err error) {
	if a.providers, err = a.newProviders(a.informers); err != nil {
		return err
	}
	if a.podsOnNode == nil {
		if a.podsOnNode, err = runner.PodsOnNode(a.informers); err != nil {
			return err
		}
	}
	config := runner.Config{
		Policy:     a.profiles,
		Instance:   strconv.Itoa(a.number),
		Registry:   a.plugins,
		Client:     a.evictions.Clientset(a.evictor),
		Informers:  a.informers,
		PodsOnNode: a.podsOnNode,
		Events:     a.recorder,
		Evicted:    a.evictions.Evicted,
		Collector:  a.providers.collector,
		DryRun:     a.options.DryRun,
		Metrics:    a.metrics.runner,
		Now:        a.kube.Clock.Local, // a cycle's duration is all that it is asked for
	}
	if a.providers.prometheus != nil {
		config.Prometheus = a.providers.prometheus.get
	}
	if a.runner, err = runner.New(ctx, config); err != nil {
		return policyfile.Invalid(a.options.PolicyFile, err.Error())
	}
	return nil
}

// pluginDeps joins RealUsageLowNodeUtilization to the evicting half. execute,
// when given, is told the plan in its place.
func (a *App) pluginDeps(execute func(context.Context, realusage.Made)) func() realusage.Deps {
	return func() realusage.Deps {
		e := &a.load.Eviction
		return realusage.Deps{
			Half: a.evictor, Executor: &planExecutor{app: a, told: execute},
			Options: realusage.Options{
				MaxMoves: e.MaxMovesPerCycle, MinGainPercent: e.MinGainPercent, EvictJobs: e.EvictJobs, SchedulerNames: e.SchedulerNames,
			},
		}
	}
}

// planExecutor has a plan made, or tells it where it is only wanted to be
// known.
type planExecutor struct {
	app  *App
	told func(context.Context, realusage.Made)
}

var _ realusage.Executor = (*planExecutor)(nil)

// Execute implements realusage.Executor.
func (p *planExecutor) Execute(ctx context.Context, made realusage.Made, evict func(context.Context, *v1.Pod) error) {
	if p.told != nil {
		p.told(ctx, made)
		return
	}
	p.app.desk.Judged(ctx, &made)
	p.app.evictor.Execute(ctx, &made.Plan, evict)
}

// slimmer makes pods small. Since when their conditions are as they are is kept
// only where the policy that the process begins with goes by it: it would be a
// tenth of what a pod takes.
func (a *App) slimmer() *slim.Slimmer {
	a.transitions = policyfile.ReadsTransitions(a.profiles)
	if a.transitions {
		return slim.New()
	}
	return slim.New().WithoutTransitions()
}

// checkTransitions refuses a policy for which pods would have to be read again:
// PodLifeTime would take none of those known.
func (a *App) checkTransitions() error {
	if a.transitions || !policyfile.ReadsTransitions(a.profiles) {
		return nil
	}
	return policyfile.Invalid(a.options.PolicyFile,
		"PodLifeTime: conditions: minTimeSinceLastTransitionSeconds was not in the policy that this process began with, and so it did "+
			"not keep the times that this goes by; it takes effect with a restart")
}
