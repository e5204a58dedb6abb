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

// setup is the input from which a process is made.
type setup struct {
	options flags.Options
	kube    *kube.Connection
	file    *policy.File
	content []byte // content of the policy file; nil for a policy without a file

	// decode decodes the part of the policy that the kind of process uses.
	decode decoder
	// recorder records Events; nil in a process that does not evict.
	recorder events.EventRecorder
	// once reports whether the process ends after one cycle.
	once bool
	// onlyOurs leaves out all plugins of the policy that are not Evenkeel's own
	// strategies.
	onlyOurs bool
	// withholdCredentials prevents the tokens and passwords that the policy names from being sent to servers.
	withholdCredentials bool
	// notes receives the notes on how a legacy policy was converted; nil for the log.
	notes io.Writer
}

// open checks the flags, reads the policy and prepares the connection to the API
// server, without a request.
func open(options flags.Options, decode decoder) (s setup, err error) {
	defer policyfile.Recover(options.PolicyFile, &err)
	if err := options.Validate(); err != nil {
		return setup{}, err
	}
	s = setup{options: options, decode: decode, file: options.Given}
	if s.file == nil {
		if s.file, s.content, err = policyfile.Read(options.PolicyFile, options.Converters...); err != nil {
			return setup{}, err
		}
	}
	s.kube, err = options.Connect()
	return s, err
}

// namespace is the namespace of the ledger, the pause switch and the Lease.
func (s *setup) namespace() string { return cmp.Or(s.options.Namespace, flags.DefaultNamespace) }

func (s *setup) leaseConfig(progress func()) leadership.LeaseConfig {
	o := &s.options
	return leadership.LeaseConfig{
		Client: s.kube.Client, Namespace: o.Namespace, Name: o.LeaseName, Elect: o.Elects(), Once: s.once,
		Duration: o.LeaseDuration, RenewDeadline: o.RenewDeadline, RetryPeriod: o.RetryPeriod, Progress: progress,
	}
}

// process is the part that all kinds of processes have in common. It observes under the policy in effect. Each
// kind of process embeds it.
type process struct {
	setup

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
	// stops holds functions that end what was started without a context. They are called
	// in reverse order.
	stops []func()
}

// policyUser acts according to policies. It is an evicting or publishing process, or a process that only observes.
type policyUser interface {
	// complete makes the parts of the process that depend on the policy, and requests their informers. It may be
	// repeated until it succeeds.
	complete(ctx context.Context, g *generation) error
	// startInformers starts the informers requested since the last call, and waits for their first lists.
	startInformers(ctx context.Context) error
}

var _ policyUser = (*process)(nil)

// newProcess makes the part that all kinds of processes have in common, without a request to the API server. It
// reports mistakes in the policy.
func newProcess(ctx context.Context, s setup) (_ *process, err error) {
	defer policyfile.Recover(s.options.PolicyFile, &err)
	policyfile.SetupPlugins()
	policyfile.PrintNotes(ctx, s.file, s.notes)
	clock := s.kube.Clock
	p := &process{setup: s, registry: serve.NewRegistry(), begun: clock.Local(), health: serve.NewHealth(clock.Local)}
	clock.Export(p.registry)
	g, err := p.read(s.file, s.content, 1)
	if err != nil {
		return nil, err
	}
	p.active.Store(g)
	p.announcer = announce.NewAnnouncer(s.recorder, s.options.Namespace)
	p.policies = announce.NewPolicies(s.options.PolicyFile, policyfile.Hash(s.content), p.announcer, clock.Now, p.registry)
	p.outcomes, p.nodes = metrics.NewOutcomes(p.registry), announce.NewNodes(p.announcer)
	config := g.observing
	config.Listener = listener{p.outcomes, p.announcer, p}
	config.Local, config.Now, config.Metrics = clock.Local, clock.Now, observer.NewMetrics(p.registry)
	if p.observer, err = observer.New(config); err != nil {
		return nil, fmt.Errorf("making the observer: %w", err)
	}
	if p.lease, err = leadership.NewLease(s.leaseConfig(p.health.Progress)); err != nil {
		return nil, err
	}
	p.pause = pause.NewSwitch(s.kube.Client, s.namespace(), evictor.ConfigMapName, p.registry)
	terms := leadership.Config{
		Client: s.kube.Client, Namespace: s.namespace(), Lease: p.lease, Switch: p.pause, Moves: p.observer, Clock: clock, Registry: p.registry,
		DryRun: s.options.DryRun, Report: p.announcer.LedgerLost,
	}
	if extender := s.options.Remote(); extender != nil {
		terms.Follower = extender
	}
	if p.authority, err = leadership.New(terms); err != nil {
		return nil, err
	}
	p.gauges = &serve.Gauges{Observer: p.observer, Authority: p.authority, Now: clock.Now, Nodes: s.options.MetricsNodeLimit}
	return p, extender.Register(p.registry, p.gauges)
}

// listener passes on each observation.
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

// current returns the policy in effect.
func (p *process) current() *generation { return p.active.Load() }

// follow registers a follower for each policy that takes effect.
func (p *process) follow(follower func(*generation)) { p.followers = append(p.followers, follower) }

// tell calls the followers with a policy.
func (p *process) tell(g *generation) {
	for _, follower := range p.followers {
		follower(g)
	}
}

// eachPolicy runs a task for the policy in effect, and again for each policy that replaces it, until the context ends.
func (p *process) eachPolicy(ctx context.Context, task func(context.Context, *generation) error) error {
	for ctx.Err() == nil {
		g := p.current()
		running, stop := context.WithCancel(ctx)
		go func() {
			select {
			case <-g.retired:
				stop()
			case <-running.Done():
			}
		}()
		err := task(running, g)
		if err == nil {
			<-running.Done() // a finished task starts again only under another policy
		}
		stop()
		if err != nil {
			return err
		}
	}
	return nil
}

// begin waits indefinitely until the API server is reached and the informers have synced. In the meantime, the
// process answers kube-scheduler neutrally.
func (p *process) begin(ctx context.Context, u policyUser) error {
	err := kube.Persist(ctx, p.health.Progress, func(ctx context.Context) error { return p.reach(ctx, u) })
	if err != nil {
		return err
	}
	return kube.Persist(ctx, p.health.Progress, u.startInformers)
}

// reach completes the policy, which is the part of the setup that needs the API server. It may be repeated until it
// succeeds.
func (p *process) reach(ctx context.Context, u policyUser) (err error) {
	defer policyfile.Recover(p.options.PolicyFile, &err)
	if err := p.kube.Reach(ctx); err != nil {
		return err
	}
	g := p.current()
	if err := u.complete(ctx, g); err != nil {
		return err
	}
	p.tell(g)
	return nil
}

// complete implements policyUser. It reports priority classes that the policy names but the cluster lacks.
func (p *process) complete(ctx context.Context, g *generation) error {
	if len(g.classes) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, kube.ReachTimeout)
	defer cancel()
	return policyfile.CheckPriorityClasses(ctx, p.kube.Client, g.file, g.classes)
}

// startInformers implements policyUser.
func (p *process) startInformers(context.Context) error { return nil }

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

// stop ends what was started without a context.
func (p *process) stop() {
	for _, stop := range slices.Backward(p.stops) {
		stop()
	}
}

// observe observes usage under each policy in effect.
func (p *process) observe(ctx context.Context) error {
	return p.eachPolicy(ctx, func(ctx context.Context, _ *generation) error { return p.observer.Run(ctx) })
}

// reflect feeds the observer from the process's own watches.
func (p *process) reflect(ctx context.Context) error {
	p.observer.Store().Reflect(ctx, p.kube.ListWatch("nodes"), p.kube.ListWatch("pods"))
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
