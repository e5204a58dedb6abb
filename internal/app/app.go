// Package app wires Evenkeel's rooms into processes: which informers start, who leads, what is served, and what a command
// prints. It decides nothing about nodes or pods.
package app

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/descheduler"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/internal/nodesync"
	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/internal/servertime"
	"github.com/evenkeel/evenkeel/internal/steering"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/runner"
	"github.com/evenkeel/evenkeel/strategies/realusage"
)

// parts says what a process needs.
type parts struct {
	evicting bool // runs cycles
	serving  bool // answers kube-scheduler
	// onlyRealUsage leaves every other plugin of the policy out: plan shows what Evenkeel's own would do.
	onlyRealUsage bool
	// execute replaces the Executor: plan prints instead.
	execute func(ctx context.Context, made realusage.Made)
}

// App is one process, wired and not started.
type App struct {
	options  Options
	load     *policy.LoadPolicy
	profiles *api.DeschedulerPolicy
	rest     *rest.Config
	client   kubernetes.Interface
	registry *prometheus.Registry
	observer *observer.Observer
	judge    *steering.Judge
	health   *health
	clock    *servertime.Clock
	now      func() time.Time // the clock's
	started  time.Time
	// sourcesGiven says that the policy names its usage sources.
	sourcesGiven bool

	usageGate gate
	handshake handshake
	// desk answers what is asked to be explained.
	desk      desk
	restraint restrain
	landings  *landings
	// luck is how likely it is that replacements landed as planned without kube-scheduler having been steered.
	luck float64
	// identity names this process, in the Lease and in the ledger.
	identity string
	// elector, nil before the election, says whether this process leads.
	elector atomic.Pointer[leaderelection.LeaderElector]

	// The rest is nil in a process that does not evict.
	informers informers.SharedInformerFactory
	synced    []func() bool
	filters   *placement.Filters
	owners    *owners
	gate      *evictor.Gate
	executor  *evictor.Executor
	scaler    *scaler
	runner    *runner.Runner
	events    events.EventBroadcaster
	recorder  events.EventRecorder
	providers *providers
	nodeSync  *nodesync.Syncer // nil in a dry run
}

// newApp reads the policy and wires what the parts need. Mistakes in flags or policy are reported before the API server is
// asked for anything.
func newApp(ctx context.Context, options Options, needs parts) (*App, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	file, err := readPolicy(options.PolicyFile)
	if err != nil {
		return nil, err
	}
	a := &App{options: options, load: &file.Load, registry: newRegistry(), sourcesGiven: file.SourcesGiven}
	if err := a.useClock(); err != nil {
		return nil, err
	}
	a.health = newHealth(a.clock.Local)
	if a.identity, err = newIdentity(); err != nil {
		return nil, err
	}
	if err := a.connect(); err != nil {
		return nil, err
	}
	if err := a.checkPriorityClasses(ctx, file); err != nil {
		return nil, err
	}
	if err := a.readProfiles(file, needs); err != nil {
		return nil, err
	}
	if err := a.wireObserver(); err != nil {
		return nil, err
	}
	if err := a.wireHandshake(); err != nil {
		return nil, err
	}
	if err := a.reach(ctx); err != nil {
		return nil, err
	}
	if needs.serving {
		a.judge = steering.NewJudge(a.observer, a.now)
	}
	if needs.evicting {
		if err := a.wireRunner(ctx, needs); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// readProfiles decodes the DeschedulerPolicy. The framework's registry is global and is set up here, once per process.
func (a *App) readProfiles(file *policy.File, needs parts) error {
	descheduler.SetupPlugins()
	realusage.Register(pluginregistry.PluginRegistry, a.pluginDeps(needs.execute))
	if file.Descheduler == nil && (!needs.evicting || needs.onlyRealUsage) {
		a.profiles = &api.DeschedulerPolicy{}
	} else {
		profiles, err := deschedulerPolicy(file, a.client, pluginregistry.PluginRegistry)
		if err != nil {
			return err
		}
		a.profiles = profiles
	}
	if needs.onlyRealUsage {
		return onlyRealUsage(a.profiles, a.client)
	}
	return nil
}

func (a *App) wireObserver() error {
	a.landings = newLandings(a.registry)
	set, err := linesFor(a.load, realUsageArgs(a.profiles))
	if err != nil {
		return &UsageError{fmt.Errorf("%s: %w", a.options.PolicyFile, err)}
	}
	sources, err := a.makeSources()
	if err != nil {
		return err
	}
	a.observer, err = observer.New(observer.Config{
		Sources:        sources,
		Usage:          usageConfig(a.load),
		Scorer:         scorerConfig(a.load),
		Lines:          set,
		Hot:            hotRule(a.load),
		HotWindows:     hotWindows(a.load),
		MinCoverage:    a.load.Usage.MinCoveragePercent,
		SampleInterval: a.load.Usage.SampleInterval.Duration,
		Ledger:         ledger.Config{SourceAvoidance: a.load.Eviction.SourceAvoidance.Duration, OnEnd: a.landings.end},
		Gated:          a.gated,
		Now:            a.now,
		Metrics:        observer.NewMetrics(a.registry),
	})
	if err != nil {
		return fmt.Errorf("making the observer: %w", err)
	}
	return nil
}

// wireRunner makes everything that evicts, requests the informers it needs and leaves starting them to run.
func (a *App) wireRunner(ctx context.Context, needs parts) error {
	a.informers = informers.NewSharedInformerFactoryWithOptions(a.client, 0, informers.WithTransform(slim))
	synced, err := a.observer.Store().Attach(a.informers)
	if err != nil {
		return fmt.Errorf("feeding the observer: %w", err)
	}
	a.synced = append(a.synced, synced)
	a.wireEvents()
	a.scaler = &scaler{client: a.client, now: a.now}
	metrics := evictor.NewMetrics(a.registry)
	a.gate, err = evictor.NewGate(evictor.GateConfig{
		Client:  a.client,
		Ledger:  a.observer.Ledger(),
		Events:  a.recorder,
		Paused:  evictor.PauseSwitch(a.client, a.options.Namespace),
		Leads:   a.leads,
		Commit:  a.commit,
		Stored:  a.stored,
		Allow:   a.allow,
		DryRun:  a.options.DryRun,
		Timeout: callTimeout,
		// A call may not last into the time when others could hold the Lease.
		CallTimeout: a.leaseMargin(),
		MoveTTL:     a.load.Eviction.MoveTTL.Duration,
		Now:         a.now,
		Metrics:     metrics,
	})
	if err != nil {
		return fmt.Errorf("making the gate: %w", err)
	}
	if err := a.wireNodeSync(); err != nil {
		return err
	}
	if err := a.wireRestraint(); err != nil {
		return err
	}
	requestProtections(a.informers, a.profiles)
	if a.readsUsage() {
		if err := a.wireStrategy(ctx, needs, metrics); err != nil {
			return err
		}
	}
	return a.wireFramework(ctx)
}

// readsUsage says whether a plugin of the policy is Evenkeel's own, which moves pods by real usage.
func (a *App) readsUsage() bool { return len(realUsageArgs(a.profiles)) > 0 }

// wireStrategy makes what RealUsageLowNodeUtilization plans with and hands its moves to. Upstream's plugins need none of it.
func (a *App) wireStrategy(ctx context.Context, needs parts, metrics *evictor.Metrics) (err error) {
	if a.owners, err = newOwners(a.informers, a.observer.Ledger(), a.load.Eviction.OwnerSettle.Duration, a.now); err != nil {
		return err
	}
	budgets := evictor.Budgets{Lister: a.informers.Policy().V1().PodDisruptionBudgets().Lister()}
	a.owners.budgets = budgets
	dynamic, err := servesDynamicResources(a.client)
	if err != nil {
		return err
	}
	a.filters, err = placement.New(ctx, placement.Config{Client: a.client, Informers: a.informers, DynamicResources: dynamic})
	if err != nil {
		return fmt.Errorf("building kube-scheduler's filters: %w", err)
	}
	a.synced = append(a.synced, a.filters.HasSynced)
	return a.wireExecutor(needs, budgets, metrics)
}

func (a *App) wireExecutor(needs parts, budgets evictor.Budgets, metrics *evictor.Metrics) (err error) {
	config := evictor.ExecutorConfig{
		Gate:         a.gate,
		Budgets:      budgets,
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
		Metrics:      metrics,
	}
	if a.load.Eviction.Steering == policy.SteeringRequired {
		config.Steered, config.Asked = a.steered(needs), a.asked(needs)
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
	config := runner.Config{
		Policy:    a.profiles,
		Registry:  pluginregistry.PluginRegistry,
		Client:    a.gate.Clientset(),
		Informers: a.informers,
		Events:    a.recorder,
		Evicted:   a.gate.Evicted,
		Collector: a.providers.collector,
		DryRun:    a.options.DryRun,
		Metrics:   runner.NewMetrics(a.registry),
		Now:       a.now,
	}
	if a.providers.prometheus != nil {
		config.Prometheus = a.providers.prometheus.get
	}
	if a.runner, err = runner.New(ctx, config); err != nil {
		return &UsageError{fmt.Errorf("%s: %w", a.options.PolicyFile, err)}
	}
	return nil
}

const (
	// callTimeout bounds each call to the API server around an eviction.
	callTimeout = 30 * time.Second
	// probeTimeout is how long beyond its grace period the first replacement of a cycle may take to be bound.
	probeTimeout = 45 * time.Second
)

// pod returns the pod as the watch has it.
func (a *App) pod(namespace, name string) *v1.Pod {
	pod, err := a.informers.Core().V1().Pods().Lister().Pods(namespace).Get(name)
	if err != nil {
		return nil
	}
	return pod
}

var errNotSynced = errors.New("the watches of the API server did not deliver in time")
