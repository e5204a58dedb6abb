package app

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"k8s.io/client-go/informers"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/runner"
)

// wireEvicting makes what evicts under any policy.
func (a *App) wireEvicting() error {
	a.informers = informers.NewSharedInformerFactoryWithOptions(a.client, 0, informers.WithTransform(a.slimmer().Transform))
	synced, err := a.observer.Store().Attach(a.informers)
	if err != nil {
		return fmt.Errorf("feeding the observer: %w", err)
	}
	a.synced = append(a.synced, synced)
	a.wireEvents()
	a.scaler = &scaler{client: a.client, now: a.now}
	a.metrics = evictingMetrics{evictor: evictor.NewMetrics(a.registry), runner: runner.NewMetrics(a.registry)}
	p := a.process
	a.gate, err = evictor.NewGate(evictor.GateConfig{
		Client:  a.client,
		Ledger:  a.observer.Ledger(),
		Events:  a.recorder,
		Paused:  a.pauseSwitch(),
		Leads:   a.leads,
		Commit:  a.commit,
		Stored:  a.stored,
		Allow:   func(intent *ledger.Intent) (reasons.Reason, string) { return p.current().allow(intent) },
		DryRun:  a.options.DryRun,
		Timeout: callTimeout,
		// A call may not last into the time when others could hold the Lease.
		CallTimeout: a.leaseMargin(),
		MoveTTL:     func() time.Duration { return p.current().load.Eviction.MoveTTL.Duration },
		Now:         a.now,
		Metrics:     a.metrics.evictor,
	})
	if err != nil {
		return fmt.Errorf("making the gate: %w", err)
	}
	return nil
}

// wireRunner makes what evicts under this policy, requests the informers it needs and leaves starting them to run.
func (a *App) wireRunner(ctx context.Context) error {
	if err := a.checkTransitions(); err != nil {
		return err
	}
	if err := a.wireNodeSync(); err != nil {
		return err
	}
	if err := a.wireRestraint(); err != nil {
		return err
	}
	requestProtections(a.informers, a.profiles)
	if a.readsUsage() {
		if err := a.wireStrategy(ctx); err != nil {
			return err
		}
	}
	return a.wireFramework(ctx)
}

// readsUsage says whether a plugin of the policy is Evenkeel's own, which moves pods by real usage.
func (a *App) readsUsage() bool { return len(realUsageArgs(a.profiles)) > 0 }

// wireStrategy makes what RealUsageLowNodeUtilization plans with and hands its moves to. Upstream's plugins need none of it.
func (a *App) wireStrategy(ctx context.Context) (err error) {
	if a.owners == nil {
		if a.owners, err = newOwners(a.informers, a.observer.Ledger(), a.ownerSettle, a.now); err != nil {
			return err
		}
		a.owners.budgets = evictor.Budgets{Lister: a.informers.Policy().V1().PodDisruptionBudgets().Lister()}
	}
	if a.filters == nil {
		if err := a.wireFilters(ctx); err != nil {
			return err
		}
	}
	return a.wireExecutor()
}

// ownerSettle is how long an owner is left alone after it was scaled, by the policy at work.
func (p *process) ownerSettle() time.Duration { return p.current().load.Eviction.OwnerSettle.Duration }

func (a *App) wireFilters(ctx context.Context) error {
	dynamic, err := servesDynamicResources(a.client)
	if err != nil {
		return err
	}
	a.filters, err = placement.New(ctx, placement.Config{Client: a.client, Informers: a.informers, DynamicResources: dynamic})
	if err != nil {
		return fmt.Errorf("building kube-scheduler's filters: %w", err)
	}
	a.synced = append(a.synced, a.filters.HasSynced)
	return nil
}

func (a *App) wireExecutor() (err error) {
	config := evictor.ExecutorConfig{
		Gate:         a.gate,
		Budgets:      a.owners.budgets,
		Pod:          a.pod,
		Recheck:      a.recheck,
		Replicas:     a.owners.replicas,
		Ready:        a.replacementReady,
		Scaler:       a.scaler,
		Announced:    a.announced,
		Interval:     a.load.Eviction.Interval.Duration,
		Deadline:     a.load.Eviction.CycleDeadline.Duration,
		ProbeTimeout: probeTimeout,
		OwnerPercent: a.load.Eviction.MaxInFlightPercentOfOwner,
		Progress:     a.health.progress,
		Now:          a.now,
		Local:        a.clock.Local,
		Metrics:      a.metrics.evictor,
	}
	if a.load.Eviction.Steering == policy.SteeringRequired {
		config.Steered, config.Asked = a.steered(a.parts), a.asked(a.parts)
	}
	if a.executor, err = evictor.NewExecutor(config); err != nil {
		return fmt.Errorf("making the executor: %w", err)
	}
	return nil
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
		Client:     a.gate.Clientset(),
		Informers:  a.informers,
		PodsOnNode: a.podsOnNode,
		Events:     a.recorder,
		Evicted:    a.gate.Evicted,
		Collector:  a.providers.collector,
		DryRun:     a.options.DryRun,
		Metrics:    a.metrics.runner,
		Now:        a.clock.Local, // a cycle's duration is all that it is asked for
	}
	if a.providers.prometheus != nil {
		config.Prometheus = a.providers.prometheus.get
	}
	if a.runner, err = runner.New(ctx, config); err != nil {
		return &policy.Error{File: a.options.PolicyFile, Problems: problems(err.Error())}
	}
	return nil
}
