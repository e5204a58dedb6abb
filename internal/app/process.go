// Package app makes Evenkeel's processes. It decides which informers start, who leads, what is served, and what changes
// with another policy. It makes no decisions about nodes or pods and prints nothing. Commands inspect a process through
// Look.
package app

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/events"

	"github.com/evenkeel/evenkeel/cluster/slim"
	"github.com/evenkeel/evenkeel/cycle"
	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/evictor/leadership"
	"github.com/evenkeel/evenkeel/evictor/metrics"
	"github.com/evenkeel/evenkeel/evictor/pause"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/internal/kube"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/scorer/extender"
	"github.com/evenkeel/evenkeel/status/announce"
	"github.com/evenkeel/evenkeel/status/serve"
)

// setup is the input for making a process.
type setup struct {
	options flags.Options
	kube    *kube.Connection
	file    *policy.File
	content []byte // content of the policy file; nil for a policy without a file

	mode mode
	// recorder records Events; nil in a process that does not evict.
	recorder events.EventRecorder
	// notes receives the notes on how a legacy policy was converted; nil for the log.
	notes io.Writer
}

// mode defines how a kind of process starts and which parts of a policy it uses.
type mode struct {
	// once reports whether the process ends after one cycle.
	once bool
	// runsProfiles reports whether the process runs the profiles of the policy, so that the
	// policy must have some.
	runsProfiles bool
	// onlyPlanned leaves out what a plan cannot show: the strategies of all but one profile,
	// and plugins that read metrics themselves.
	onlyPlanned bool
	// onlyPublishes reports whether the process only publishes on nodes.
	onlyPublishes bool
	// withholdCredentials prevents the tokens and passwords that the policy names from being sent to servers.
	withholdCredentials bool
}

// open checks the flags, reads the policy and prepares the connection to the API
// server, without a request.
func open(options flags.Options) (s setup, err error) {
	defer policyfile.Recover(options.PolicyFile, &err)
	if err := options.Validate(); err != nil {
		return setup{}, err
	}
	s = setup{options: options, file: options.Given}
	if s.file == nil {
		if s.file, s.content, err = policyfile.Read(options.PolicyFile, options.Converters...); err != nil {
			return setup{}, err
		}
	}
	s.kube, err = options.Connect()
	return s, err
}

// process holds what all kinds of processes have in common. It observes under the policy
// in effect. Each kind, such as evicting, embeds it as a field.
type process struct {
	options   flags.Options
	kube      *kube.Connection
	namespace string // namespace of the ledger, the pause switch and the Lease
	mode      mode
	// kind is the specific kind of process that contains this one; nil if it only observes.
	kind kind

	registry  *prometheus.Registry
	health    *serve.Health
	begun     time.Time // by the local clock
	announcer *announce.Announcer
	policies  *announce.Policies
	nodes     *announce.Nodes
	outcomes  *metrics.Outcomes
	observer  *observer.Observer
	lease     *leadership.Lease
	pause     *pause.Switch
	authority *leadership.Authority
	gauges    *serve.Gauges
	// cycleEvents starts cycles early; nil in a process that does not run cycles at an
	// interval.
	cycleEvents *cycle.Events

	// active is the policy in effect.
	active atomic.Pointer[generation]
	// cycling is held during a cycle and while a policy takes effect, so that
	// each cycle uses one policy.
	cycling sync.Mutex
	// followers holds functions that are called with each policy that takes effect.
	followers []func(*generation)
	// stops holds functions that stop what was started without a context. They are called in
	// reverse order.
	stops []func()
}

// kind is a process that does more than observe under a policy: it evicts or publishes.
type kind interface {
	// equip makes the parts of a generation that evict or publish, and requests their
	// informers. It needs the API server, and may be repeated until it succeeds.
	equip(ctx context.Context, g *generation) error
	// startInformers starts the informers requested since the last call, and waits for their first lists.
	startInformers(ctx context.Context) error
}

// newProcess makes the parts that all kinds of processes have in common, without a
// request to the API server. It reports errors in the policy.
func newProcess(ctx context.Context, s setup) (_ *process, err error) {
	defer policyfile.Recover(s.options.PolicyFile, &err)
	policyfile.SetupPlugins()
	policyfile.PrintNotes(ctx, s.file, s.notes)
	options, clock := &s.options, s.kube.Clock
	p := &process{
		options: s.options, kube: s.kube, namespace: cmp.Or(options.Namespace, flags.DefaultNamespace), mode: s.mode,
		registry: serve.NewRegistry(), health: serve.NewHealth(clock.Local), begun: clock.Local(),
	}
	clock.Export(p.registry)

	g, err := p.readPolicy(s.file, s.content, 1)
	if err != nil {
		return nil, err
	}
	p.active.Store(g)

	p.announcer = announce.NewAnnouncer(s.recorder, options.Namespace)
	p.policies = announce.NewPolicies(options.PolicyFile, policyfile.Hash(s.content), p.announcer, clock.Now, p.registry)
	p.nodes = announce.NewNodes(p.announcer)
	p.outcomes = metrics.NewOutcomes(p.registry)

	config := g.observing
	config.Listener = listener{p.outcomes, p.announcer, p}
	config.Local, config.Now, config.Metrics = clock.Local, clock.Now, observer.NewMetrics(p.registry)
	if p.observer, err = observer.New(config); err != nil {
		return nil, fmt.Errorf("making the observer: %w", err)
	}

	p.lease, err = leadership.NewLease(leadership.LeaseConfig{
		Client: p.kube.Client, Namespace: options.Namespace, Name: options.LeaseName, Elect: options.Elects(), Once: p.mode.once,
		Duration: options.LeaseDuration, RenewDeadline: options.RenewDeadline, RetryPeriod: options.RetryPeriod,
		Progress: p.health.Progress,
	})
	if err != nil {
		return nil, err
	}
	p.pause = pause.NewSwitch(p.kube.Client, p.namespace, evictor.ConfigMapName, p.registry)
	terms := leadership.Config{
		Client: p.kube.Client, Namespace: p.namespace, Lease: p.lease, Switch: p.pause, Moves: p.observer, Clock: clock,
		Registry: p.registry, DryRun: options.DryRun, Report: p.announcer.LedgerLost,
	}
	if extender := options.Remote(); extender != nil {
		terms.Follower = extender
	}
	if p.authority, err = leadership.New(terms); err != nil {
		return nil, err
	}

	p.gauges = &serve.Gauges{Observer: p.observer, Authority: p.authority, Now: clock.Now, Nodes: options.MetricsNodeLimit, Owners: options.MetricsOwnerLimit}
	return p, extender.Register(p.registry, p.gauges)
}

// listener passes each observation on.
type listener struct {
	*metrics.Outcomes
	*announce.Announcer
	process *process
}

// Observed implements observer.Listener.
func (l listener) Observed(o *observer.Observation) {
	l.process.nodes.Observed(o)
	l.process.cycleEvents.Observed(o)
}

// begin connects to the API server, makes the parts that evict or publish, and waits for
// the first lists. It waits for the API server indefinitely; in the meantime, the process
// answers kube-scheduler neutrally. A process that ends after one cycle does not wait,
// because its Job retries failures.
func (p *process) begin(ctx context.Context) error {
	if p.mode.once {
		if err := p.reach(ctx); err != nil {
			return err
		}
		return p.startInformers(ctx)
	}
	if err := kube.Persist(ctx, p.health.Progress, p.reach); err != nil {
		return err
	}
	return kube.Persist(ctx, p.health.Progress, p.startInformers)
}

// reach connects to the API server and makes the parts that evict or publish under the
// policy in effect. It may be repeated until it succeeds.
func (p *process) reach(ctx context.Context) (err error) {
	defer policyfile.Recover(p.options.PolicyFile, &err)
	if err := p.kube.Reach(ctx); err != nil {
		return err
	}
	g := p.current()
	if err := p.equip(ctx, g); err != nil {
		return err
	}
	p.tell(g)
	return nil
}

func (p *process) startInformers(ctx context.Context) error {
	if p.kind == nil {
		return nil
	}
	return p.kind.startInformers(ctx)
}

// start runs the process's tasks until one of them returns or the context ends. It then waits for all tasks and stops
// everything else that was started.
func (p *process) start(ctx context.Context, tasks ...func(context.Context) error) error {
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	group, running := errgroup.WithContext(running)
	exposed := serve.Exposition{
		Address: p.options.MetricsAddress, Access: p.options.MetricsAccess, REST: p.kube.REST, Health: p.health, Registry: p.registry,
	}
	group.Go(func() error { return exposed.Run(running) })
	for _, task := range tasks {
		group.Go(func() error {
			defer cancel() // the first task that returns ends the process
			return task(running)
		})
	}
	err := group.Wait()
	p.stop()
	return exit.UnlessStopped(ctx, err)
}

// stop stops what was started without a context.
func (p *process) stop() {
	for _, stop := range slices.Backward(p.stops) {
		stop()
	}
}

// observeUsage observes usage under each policy in effect.
func (p *process) observeUsage(ctx context.Context) error {
	return p.eachPolicy(ctx, func(ctx context.Context, _ *generation) error { return p.observer.Run(ctx) })
}

// reflect feeds the observer from the process's own watches.
func (p *process) reflect(ctx context.Context) error {
	pods, err := p.kube.ListWatchPods(slim.New())
	if err != nil {
		return err
	}
	p.observer.Store().Reflect(ctx, p.kube.ListWatch("nodes"), pods)
	return nil
}

// heartbeat reports progress while observations arrive.
func (p *process) heartbeat(ctx context.Context) error {
	return p.observer.Heartbeat(ctx, p.health.Progress)
}

// untilStopped waits for the context to end. Tasks with nothing left to do call it, because the first task that returns
// ends the process.
func untilStopped(ctx context.Context) error {
	<-ctx.Done()
	return nil
}
