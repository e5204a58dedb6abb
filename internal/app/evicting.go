package app

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/evictor/custom"
	"github.com/evenkeel/evenkeel/evictor/metrics"
	"github.com/evenkeel/evenkeel/evictor/pause"
	"github.com/evenkeel/evenkeel/internal/announce"
	"github.com/evenkeel/evenkeel/internal/authority"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/kube"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/internal/serve"
	"github.com/evenkeel/evenkeel/internal/settings"
	"github.com/evenkeel/evenkeel/internal/slim"
	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/runner"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// wireAuthority makes the Lease and the Authority.
func (a *App) wireAuthority() (err error) {
	namespace := cmp.Or(a.options.Namespace, DefaultNamespace)
	a.lease, err = authority.NewLease(authority.LeaseConfig{
		Client: a.kube.Client, Namespace: a.options.Namespace, Name: a.options.LeaseName,
		Elect: a.options.elects(), Once: a.parts.once(&a.options),
		Duration: a.options.LeaseDuration, RenewDeadline: a.options.RenewDeadline, RetryPeriod: a.options.RetryPeriod,
		Progress: a.health.Progress,
	})
	if err != nil {
		return err
	}
	a.pause = pause.NewSwitch(a.kube.Client, namespace, evictor.ConfigMapName, a.registry)
	a.authority, err = authority.New(authority.Config{
		Client: a.kube.Client, Namespace: namespace, Lease: a.lease, Switch: a.pause, Moves: a.observer, Clock: a.kube.Clock, Registry: a.registry,
		Remote: a.options.remote(), DryRun: a.options.DryRun,
		Report: a.announcer.LedgerLost,
	})
	if err != nil {
		return err
	}
	if a.parts.evicting || a.parts.marking {
		a.lease.Export(a.registry)
	}
	a.gauges = &serve.Gauges{Observer: a.observer, Authority: a.authority, Now: a.kube.Clock.Now, Nodes: a.options.MetricsNodeLimit}
	return extender.Register(a.registry, a.gauges)
}

// wireEvicting makes the parts of evicting that do not depend on the policy.
func (a *App) wireEvicting() error {
	a.transitions = policyfile.ReadsTransitions(a.current().profiles)
	a.informers = informers.NewSharedInformerFactoryWithOptions(a.kube.Client, 0, informers.WithTransform(slimmer(a.transitions).Transform))
	synced, err := a.observer.Store().Attach(a.informers)
	if err != nil {
		return fmt.Errorf("feeding the observer: %w", err)
	}
	a.synced = append(a.synced, synced)
	a.cluster = evictor.NewWatched(a.informers, a.observer.Ledger(), a.kube.Clock)
	a.scaler = evictor.NewDeploymentScaler(a.kube.Client, a.authority, a.kube.Clock, a.lease.Margin())
	a.metrics = evictingMetrics{evictor: metrics.New(a.registry), runner: runner.NewMetrics(a.registry)}
	a.room = announce.NewRoom(a.announcer, a.registry)
	a.evictions, err = evictor.NewClient(evictor.ClientConfig{
		Kube:      a.kube.Client,
		Ledger:    a.observer.Ledger(),
		Authority: a.authority,
		Events:    a.recorder,
		DryRun:    a.options.DryRun,
		Timeout:   kube.CallTimeout,
		// A call must end before another process could hold the Lease.
		CallTimeout: a.lease.Margin(),
		Clock:       a.kube.Clock,
		Metrics:     a.metrics.evictor,
	})
	if err != nil {
		return fmt.Errorf("making the evicting client: %w", err)
	}
	return a.steering.wire(a)
}

// wireRunner makes the parts that evict under this policy and requests the
// informers that they need. It does not start these.
func (a *App) wireRunner(ctx context.Context, g *generation) error {
	if !a.transitions && policyfile.ReadsTransitions(g.profiles) {
		return policyfile.Invalid(a.options.PolicyFile, transitionsUnknown)
	}
	if err := a.wireNodeSync(g); err != nil {
		return err
	}
	if err := a.wireEvictor(g); err != nil {
		return err
	}
	policyfile.RequestProtections(a.informers, g.profiles)
	if g.readsUsage() {
		if err := a.wireFilters(ctx); err != nil {
			return err
		}
		if g.load.Eviction.EvictJobs {
			if err := a.cluster.WatchJobs(); err != nil {
				return err
			}
		}
		if err := a.wireCustom(g.load.Eviction.RecreatingControllers); err != nil {
			return err
		}
	}
	return a.wireFramework(ctx, g)
}

func (a *App) wireEvictor(g *generation) error {
	evicting, err := settings.Evicting(&g.load.Eviction)
	if err != nil {
		return exit.Usagef("%s: %w", a.options.PolicyFile, err)
	}
	evicting.GracePeriodSeconds, evicting.Policy = g.profiles.GracePeriodSeconds, policyfile.Hash(g.content)
	if a.options.loops() {
		schedule, err := a.options.schedule()
		if err != nil {
			return err
		}
		evicting.NextCycle = schedule.Next
	}
	config := evictor.Config{
		Observer: a.observer, Cluster: a.cluster, Evictions: a.evictions, Scaler: a.scaler, Clock: a.kube.Clock,
		Settings: evicting, Metrics: a.metrics.evictor, Outcomes: a.outcomes, Saved: &a.saved, Progress: a.health.Progress,
		Steering: a.steering.by(g.load.Eviction.Steering),
	}
	if g.evictor, err = evictor.New(config); err != nil {
		return fmt.Errorf("making the evictor: %w", err)
	}
	return nil
}

// wireFilters makes what moving pods by real usage needs in addition to pods.
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

// wireCustom has the controllers watched that a policy names, for their
// annotations and their scale.
func (a *App) wireCustom(kinds []string) error {
	if len(kinds) == 0 {
		return nil
	}
	if a.customs == nil {
		client, err := a.kube.Dynamic()
		if err != nil {
			return err
		}
		a.customs = custom.New(client, a.kube.Client.Discovery())
		a.synced = append(a.synced, a.customs.Settled)
		a.cluster.WatchCustom(a.customs)
	}
	for _, kind := range kinds {
		if err := a.customs.Request(schema.ParseGroupKind(kind)); err != nil {
			return err
		}
	}
	return nil
}

// startInformers starts what was requested since, and waits for the first lists.
func (a *App) startInformers(ctx context.Context) error {
	if a.customs != nil {
		a.customs.Start(ctx)
	}
	return a.kube.Start(ctx, a.informers, a.synced...)
}

func (a *App) wireFramework(ctx context.Context, g *generation) (err error) {
	if a.podsOnNode == nil {
		if a.podsOnNode, err = runner.PodsOnNode(a.informers); err != nil {
			return err
		}
	}
	profiles := *g.profiles
	if a.parts.onlyRealUsage {
		// No plugin that is left reads them, so nothing is asked or sent for them.
		profiles.MetricsProviders, profiles.MetricsCollector = nil, nil
	}
	g.runner, err = runner.New(ctx, runner.Config{
		Policy:     &profiles,
		Instance:   strconv.Itoa(g.number),
		Registry:   g.plugins,
		Client:     a.evictions.Clientset(g.evictor),
		REST:       a.kube.REST,
		Informers:  a.informers,
		PodsOnNode: a.podsOnNode,
		Events:     a.recorder,
		Evicted:    a.evictions.Evicted,
		DryRun:     a.options.DryRun,
		Metrics:    a.metrics.runner,
		Now:        a.kube.Clock.Local, // it only measures the duration of cycles
	})
	if err != nil {
		return policyfile.Invalid(a.options.PolicyFile, err.Error())
	}
	return nil
}

// slimmer makes pods small. They keep the transition times of their conditions
// only if the policy at the start uses these, because they would take a tenth
// of a pod's memory.
func slimmer(transitions bool) *slim.Slimmer {
	if transitions {
		return slim.New()
	}
	return slim.New().WithoutTransitions()
}

// transitionsUnknown is the error of a policy that needs all pods to be read
// again: PodLifeTime would select none of the known pods.
const transitionsUnknown = "PodLifeTime: conditions: minTimeSinceLastTransitionSeconds was not in the policy that this process began " +
	"with, and so it did not keep the times that this goes by; it takes effect with a restart"
