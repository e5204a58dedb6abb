package app

import (
	"context"
	"fmt"
	"strconv"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"

	"github.com/evenkeel/evenkeel/cluster/slim"
	"github.com/evenkeel/evenkeel/cycle"
	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/evictor/metrics"
	"github.com/evenkeel/evenkeel/evictor/saved"
	"github.com/evenkeel/evenkeel/internal/collector"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/internal/kube"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/internal/settings"
	"github.com/evenkeel/evenkeel/status/announce"
	"github.com/evenkeel/evenkeel/status/doctor"
	"github.com/evenkeel/evenkeel/status/doctor/probe"
	"github.com/evenkeel/evenkeel/status/live"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/plugin"
)

// Run runs `evenkeel run`: one cycle, or cycles at an interval or on a schedule.
func Run(ctx context.Context, options flags.Options) error {
	collector.Fill()
	e, err := newRun(ctx, options)
	if err != nil {
		return exit.UnlessStopped(ctx, err)
	}
	return e.process.start(ctx, e.evict, collector.Settle(e.process.observer.Store().Synced))
}

func newRun(ctx context.Context, options flags.Options) (*evicting, error) {
	s, err := open(options)
	if err != nil {
		return nil, err
	}
	return newEvicting(ctx, s, announce.NewRecorder(s.kube.Client, options.DryRun), false)
}

// evicting is a process that runs cycles.
type evicting struct {
	process *process
	// answers reports whether it also answers kube-scheduler.
	answers bool
	events  announce.Recorder

	informers informers.SharedInformerFactory
	// transitions reports whether the informers keep the transition times of pod conditions.
	// They do so only if the initial policy uses them.
	transitions bool
	// podsOnNode is the framework plugins' index of pods, which can be added only once.
	podsOnNode podutil.GetPodsAssignedToNodeFunc
	// synced reports whether the observer has the first lists.
	synced  func() bool
	cluster *evictor.Watched
	demand  *evictor.Demand
	// evictions is the client that evicts, and dryRun that of plugins in dry run.
	evictions, dryRun *evictor.Client
	// asks is how an Evictor evicts; it wraps evictions or dryRun in a plan.
	asks func(*evictor.Client) evictor.Evictions
	// unplanned receives the evictions that plugins ask for by themselves; nil except in a
	// plan.
	unplanned func(*evictor.Unplanned)
	steering  *steerings
	room      *announce.Room
	explainer *live.Explainer
	// evictorMetrics and cycleMetrics are registered once, for all policies.
	evictorMetrics *metrics.Metrics
	cycleMetrics   *cycle.Metrics
	// executor makes the executor of a policy's plans.
	executor func(*generation) cycle.Executor

	saved saved.Watch // shared by successive policies
	// waited reports whether the process has waited for usage; only cycles use
	// it.
	waited bool
}

var _ kind = (*evicting)(nil)

// newEvicting makes an evicting process, without a request to the API server. If answers
// is set, the process also answers kube-scheduler. newEvicting reports errors in the
// policy.
func newEvicting(ctx context.Context, s setup, log announce.Recorder, answers bool) (_ *evicting, err error) {
	defer policyfile.Recover(s.options.PolicyFile, &err)
	s.recorder, s.mode.once, s.mode.runsProfiles = log, !s.options.Loops(), !s.mode.onlyPlanned
	p, err := newProcess(ctx, s)
	if err != nil {
		return nil, err
	}
	p.lease.Export(p.registry)
	if p.options.Interval > 0 {
		p.cycleEvents = cycle.NewEvents(p.kube.Clock.Local)
	}
	e := &evicting{process: p, answers: answers, events: log}
	p.kind = e

	// Informers. The observer gets pods and nodes from them, too.
	slimmer := slim.New()
	if e.transitions = policyfile.ReadsTransitions(p.current().profiles); !e.transitions {
		slimmer = slimmer.WithoutTransitions() // they would take a tenth of a pod's memory
	}
	e.informers = informers.NewSharedInformerFactoryWithOptions(p.kube.Client, 0, informers.WithTransform(slimmer.Transform))
	if err := p.kube.WatchPods(e.informers, slimmer); err != nil {
		return nil, err
	}
	p.stops = append(p.stops, e.informers.Shutdown, log.Shutdown)
	if e.synced, err = p.observer.Store().Attach(e.informers); err != nil {
		return nil, fmt.Errorf("feeding the observer: %w", err)
	}
	if e.podsOnNode, err = cycle.PodsOnNode(e.informers); err != nil {
		return nil, err
	}
	dynamic, err := p.kube.Dynamic()
	if err != nil {
		return nil, err
	}
	e.cluster = evictor.NewWatched(e.informers, p.observer.Ledger(), p.kube.Clock)
	e.demand = evictor.NewDemand(e.cluster, p.kube.Client, dynamic, p.kube)

	// Metrics, and the ways to evict and steer.
	e.evictorMetrics, e.cycleMetrics = metrics.New(p.registry), cycle.NewMetrics(p.registry)
	client := evictor.ClientConfig{
		Kube:      p.kube.Client,
		Ledger:    p.observer.Ledger(),
		Authority: p.authority,
		Events:    log,
		DryRun:    p.options.DryRun,
		Timeout:   kube.CallTimeout,
		// A call must end before another process can hold the Lease.
		CallTimeout: p.lease.Margin(),
		Clock:       p.kube.Clock,
	}
	if e.evictions, err = evictor.NewClient(client); err != nil {
		return nil, fmt.Errorf("making the evicting client: %w", err)
	}
	client.DryRun = true
	if e.dryRun, err = evictor.NewClient(client); err != nil {
		return nil, fmt.Errorf("making the evicting client of plugins in dry run: %w", err)
	}
	e.asks = func(client *evictor.Client) evictor.Evictions { return client }
	if e.steering, err = newSteerings(p, dynamic, e.informers, answers); err != nil {
		return nil, err
	}

	// Recipients of plans and policies.
	e.room = announce.NewRoom(p.announcer, p.registry)
	e.explainer = live.New(p.observer, e.informers.Core().V1().Nodes().Lister(), p.pause, p.current().terms())
	e.executor = func(g *generation) cycle.Executor {
		return &executor{Evictor: g.evictor, explainer: e.explainer, room: e.room, nodes: p.nodes, events: p.cycleEvents}
	}
	p.follow(func(g *generation) {
		e.explainer.Follow(g.terms())
		p.gauges.Follow(g.evictor, g.readsUsage())
		p.cycleEvents.Follow(g.load.Eviction.NodeSettle.Duration, g.readsUsage())
	})
	return e, nil
}

// evict starts the parts that evicting needs, and runs cycles. With --leader-elect, it
// does so only while it leads.
func (e *evicting) evict(ctx context.Context) error {
	p := e.process
	group, ctx := errgroup.WithContext(ctx)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	finish, err := e.events.Start(ctx)
	if err != nil {
		return err
	}
	defer finish()
	if err := p.begin(ctx); err != nil {
		return exit.UnlessStopped(ctx, err)
	}
	p.health.Ready()
	if p.options.Elects() && p.options.Loops() {
		p.lease.Stand() // pods are released by whoever leads, not by this task
	}
	if p.options.LeaderElect {
		group.Go(func() error { return p.heartbeat(ctx) })
	}
	group.Go(func() error { return e.observeIfNeeded(ctx) })
	group.Go(func() error { return e.steering.watchdog.Run(ctx) })
	group.Go(func() error {
		return p.eachPolicy(ctx, func(ctx context.Context, g *generation) error {
			g.runner.Collect(ctx)
			return nil
		})
	})
	if p.options.Loops() {
		group.Go(func() error { return p.watchPolicy(ctx) })
		group.Go(func() error { return e.watchPause(ctx) })
		group.Go(func() error { return e.steering.letGo(ctx, p.options.DryRun) })
	}
	if p.options.Follows(e.answers) {
		group.Go(func() error { return p.authority.Follow(ctx) })
	}
	group.Go(func() error {
		defer cancel()
		// A process that moves pods by real usage, or repeats cycles, needs the Lease. Legacy Jobs of descheduler
		// have no permission for it and do not need it, because their plugins share no state with other processes.
		needed := p.current().readsUsage() || p.options.Loops()
		if p.options.Elects() && (needed || !p.lease.Forbidden(ctx)) {
			return p.lease.Lead(ctx, e.cycles)
		}
		return e.cycles(ctx)
	})
	return group.Wait()
}

// equip implements kind. It makes the parts that evict under the policy.
func (e *evicting) equip(ctx context.Context, g *generation) error {
	p := e.process
	if !e.transitions && policyfile.ReadsTransitions(g.profiles) {
		return policyfile.Invalid(p.options.PolicyFile, transitionsUnknown)
	}
	var err error
	if g.nodeSync, err = newNodeSync(p, g, e.informers, ""); err != nil {
		return err
	}
	if g.evictor, err = e.newEvictor(g); err != nil {
		return err
	}
	policyfile.RequestProtections(e.informers, g.profiles)
	if g.plansUpstream, err = e.mayPlan(ctx, g); err != nil {
		return err
	}
	if g.readsUsage() || g.plansUpstream {
		if err := e.demand.Request(ctx, g.load.Eviction.EvictJobs, g.load.Eviction.RecreatingControllers); err != nil {
			return err
		}
	}
	g.runner, err = e.newRunner(ctx, g)
	return err
}

// startInformers implements kind.
func (e *evicting) startInformers(ctx context.Context) error {
	e.demand.Start(ctx)
	return e.process.kube.Start(ctx, e.informers, e.synced, e.demand.HasSynced)
}

// newEvictor makes the Evictor that executes a policy's plans.
func (e *evicting) newEvictor(g *generation) (*evictor.Evictor, error) {
	p := e.process
	evicting, err := settings.Evicting(&g.load.Eviction)
	if err != nil {
		return nil, exit.Usagef("%s: %w", p.options.PolicyFile, err)
	}
	evicting.GracePeriodSeconds, evicting.Policy = g.profiles.GracePeriodSeconds, policyfile.Hash(g.content)
	evicting.Limits = evictor.Limits{
		Total: g.profiles.MaxNoOfPodsToEvictTotal, PerNode: g.profiles.MaxNoOfPodsToEvictPerNode, PerNamespace: g.profiles.MaxNoOfPodsToEvictPerNamespace,
	}
	evicting.NotifyFailures = ptr.Deref(g.profiles.EvictionFailureEventNotification, false)
	if p.options.Loops() {
		schedule, err := p.options.Cycles()
		if err != nil {
			return nil, err
		}
		evicting.NextCycle = schedule.Next
	}
	made, err := evictor.New(evictor.Config{
		Observer: p.observer, Cluster: e.cluster, Evictions: e.asks(e.evictions), DryRun: e.asks(e.dryRun), Clock: p.kube.Clock, Unplanned: e.unplanned,
		Settings: evicting, Metrics: e.evictorMetrics, Outcomes: p.outcomes, Saved: &e.saved, Progress: p.health.Progress,
		Steering: e.steering.by(g.load.Eviction.Steering),
	})
	if err != nil {
		return nil, fmt.Errorf("making the evictor: %w", err)
	}
	return made, nil
}

// newRunner makes the Runner of a policy's profiles, and requests the informers that they
// need.
func (e *evicting) newRunner(ctx context.Context, g *generation) (*cycle.Runner, error) {
	p := e.process
	made, err := cycle.New(ctx, cycle.Config{
		Policy:        g.profiles,
		Evictor:       g.evictor,
		Executor:      e.executor(g),
		Landings:      g.plansUpstream,
		Options:       plugin.OptionsOf(&g.load.Eviction),
		Instance:      strconv.Itoa(g.number),
		Registry:      pluginregistry.PluginRegistry,
		Client:        func(place evictor.Place) kubernetes.Interface { return e.evictions.Clientset(g.evictor, false, place) },
		DryRunClient:  func(place evictor.Place) kubernetes.Interface { return e.evictions.Clientset(g.evictor, true, place) },
		REST:          p.kube.REST,
		Informers:     e.informers,
		PodsOnNode:    e.podsOnNode,
		Events:        e.events,
		Evicted:       e.evictions.Evicted,
		Total:         func() uint { return e.evictions.Made("", "").Total },
		DryRun:        p.options.DryRun,
		DryRunPlugins: g.load.Eviction.DryRunPlugins,
		BeginDryRun:   func() { e.dryRun.BeginDryRun(e.evictions) },
		Metrics:       e.cycleMetrics,
		Now:           p.kube.Clock.Local, // it only measures the duration of cycles
	})
	if err != nil {
		return nil, policyfile.Invalid(p.options.PolicyFile, err.Error())
	}
	return made, nil
}

// mayPlan reports whether to find destinations for the evictions of upstream plugins. That
// reads more than these plugins do, and a ServiceAccount created for descheduler lacks the
// permissions.
func (e *evicting) mayPlan(ctx context.Context, g *generation) (bool, error) {
	wanted := policyfile.EnablesUpstream(g.profiles)
	if !wanted || g.readsUsage() {
		return wanted, nil
	}
	claims, err := e.process.kube.DynamicResources()
	if err != nil {
		return false, err
	}
	needs := (&doctor.Process{Load: g.load, DynamicResources: claims}).Planning()
	for _, answer := range probe.Rights(ctx, e.process.kube.Client, needs).Answers {
		if !answer.Allowed {
			klog.FromContext(ctx).Info("Upstream plugins evict without planned destinations because a permission is missing; doctor lists all missing permissions",
				"verb", answer.Verb, "resource", answer.Resource, "group", answer.Group, "error", answer.Err)
			return false, nil
		}
	}
	return true, nil
}

// executor reports the plans of a policy and makes their moves with its Evictor.
type executor struct {
	*evictor.Evictor
	explainer *live.Explainer
	room      *announce.Room
	nodes     *announce.Nodes
	events    *cycle.Events
}

var _ cycle.Executor = (*executor)(nil)

// Planned implements cycle.Executor.
func (x *executor) Planned(ctx context.Context, by *plugin.Plugin, made *strategies.Made) {
	x.explainer.Judged(ctx, by, made)
	if made.Closed == "" && by.Describe().Relieves {
		x.room.Planned(&made.Plan)
		x.nodes.Planned(&made.Plan)
		x.events.Planned(&made.Plan)
	}
}

// watchPause follows the kill switch. Its removal starts a cycle.
func (e *evicting) watchPause(ctx context.Context) error {
	return e.process.authority.WatchPause(ctx, e.process.cycleEvents.Paused)
}

// observeIfNeeded observes usage under each policy that needs it. Under other policies it
// only watches nodes for changes that start cycles.
func (e *evicting) observeIfNeeded(ctx context.Context) error {
	p := e.process
	return p.eachPolicy(ctx, func(ctx context.Context, g *generation) error {
		if !e.answers && !g.readsUsage() && !g.publishesUsage() {
			if p.cycleEvents == nil {
				return nil
			}
			wait.UntilWithContext(ctx, func(context.Context) { p.observer.Store().Observe(p.cycleEvents.Looked) }, g.load.Usage.SampleInterval.Duration)
			return nil
		}
		return p.observer.Run(ctx)
	})
}

// transitionsUnknown is the error for a policy that cannot take effect without reading all pods again, because
// PodLifeTime would select none of the known pods.
const transitionsUnknown = "PodLifeTime: conditions: minTimeSinceLastTransitionSeconds was not in the policy that this process started " +
	"with, so the process did not keep the transition times that it needs; restart the process to apply it"
