package app

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/evenkeel/evenkeel/internal/admission"
	"github.com/evenkeel/evenkeel/internal/admission/webhook"
	"github.com/evenkeel/evenkeel/internal/announce"
	"github.com/evenkeel/evenkeel/internal/collector"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/explain/live"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/internal/steering"
	"github.com/evenkeel/evenkeel/scorer/extender/certs"
)

// Run is `evenkeel run`: one cycle, or cycles by interval or schedule.
func Run(ctx context.Context, options flags.Options) error {
	collector.Fill()
	e, err := newRun(ctx, options)
	if err != nil {
		return exit.UnlessStopped(ctx, err)
	}
	if !options.Loops() { // its Job counts failures, so it waits for no API server
		if err := e.reach(ctx, e); err != nil {
			e.stop()
			return exit.UnlessStopped(ctx, err)
		}
	}
	return e.start(ctx, e.evict, collector.Settle(e.observer.Store().Synced))
}

func newRun(ctx context.Context, options flags.Options) (*evicting, error) {
	s, err := open(options, decodeProfiles)
	if err != nil {
		return nil, err
	}
	return newEvicting(ctx, s, announce.NewRecorder(s.kube.Client, options.DryRun), false)
}

// Serve is `evenkeel serve`: every replica answers kube-scheduler, and the
// leader evicts.
func Serve(ctx context.Context, options flags.Options) error {
	if !options.Loops() {
		return exit.Usagef("serve needs --descheduling-interval or --schedule")
	}
	collector.Fill()
	e, answers, err := newServe(ctx, options)
	if err != nil {
		return exit.UnlessStopped(ctx, err)
	}
	tasks := []func(context.Context) error{answers.server.Run, answers.pages.Run, e.evict, collector.Settle(e.observer.Store().Synced)}
	if options.WebhookAddress != "" {
		hook, err := newWebhook(e.process)
		if err != nil {
			return err
		}
		tasks = append(tasks, hook.Run)
	}
	return e.start(ctx, tasks...)
}

func newServe(ctx context.Context, options flags.Options) (*evicting, *answering, error) {
	s, err := open(options, decodeProfiles)
	if err != nil {
		return nil, nil, err
	}
	e, err := newEvicting(ctx, s, announce.NewRecorder(s.kube.Client, options.DryRun), true)
	if err != nil {
		return nil, nil, err
	}
	answers, err := newAnswering(e.process, e.steering.planner, e.explainer)
	return e, answers, err
}

func newWebhook(p *process) (*webhook.Server, error) {
	client, err := p.kube.Dynamic()
	if err != nil {
		return nil, err
	}
	files := certs.Files{CertFile: p.options.WebhookCertFile, KeyFile: p.options.WebhookKeyFile}
	return webhook.NewServer(p.options.WebhookAddress, files, admission.NewFollowed(client), p.kube.Clock.Now, p.registry)
}

// Extender is `evenkeel extender`: it answers kube-scheduler and never evicts.
func Extender(ctx context.Context, options flags.Options) error {
	collector.Fill()
	options.LeaderElect = false
	p, answers, err := newExtender(ctx, options)
	if err != nil {
		return exit.UnlessStopped(ctx, err)
	}
	reached := func(ctx context.Context) error {
		if err := p.begin(ctx, p); err != nil {
			return err
		}
		return untilStopped(ctx)
	}
	p.health.Ready() // an extender without usage answers neutrally, which is better than not at all
	return p.start(ctx, answers.server.Run, answers.pages.Run, p.reflect, p.observe, p.authority.Follow, p.heartbeat, answers.compare,
		p.watchPolicy(p), reached, collector.Settle(p.observer.Store().Synced))
}

func newExtender(ctx context.Context, options flags.Options) (*process, *answering, error) {
	s, err := open(options, decodeGiven)
	if err != nil {
		return nil, nil, err
	}
	p, err := newProcess(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	explainer := live.New(p.observer, nil, p.pause, p.current().terms())
	p.follow(func(g *generation) { explainer.Follow(g.terms()) })
	answers, err := newAnswering(p, steering.NewAnswerer(p.observer, p.kube.Clock.Now), explainer)
	return p, answers, err
}

// NodeSync is `evenkeel nodesync`: it only observes and publishes on nodes.
func NodeSync(ctx context.Context, options flags.Options) error {
	s, err := open(options, func(g *generation) error { return decodeMarking(g, options.NodeSync) })
	if err != nil {
		return exit.UnlessStopped(ctx, err)
	}
	m, err := newMarking(ctx, s)
	if err != nil {
		return exit.UnlessStopped(ctx, err)
	}
	if !m.current().publishesUsage() {
		return exit.Usagef("%s: the policy switches no part of nodesync on; what an earlier one wrote is taken back with --remove",
			options.PolicyFile)
	}
	tasks := []func(context.Context) error{m.serve, m.mark, m.watchPolicy(m)}
	if options.NodeSync.Progress != nil {
		tasks = append(tasks, m.tellProgress)
	}
	return m.start(ctx, tasks...)
}

// evict starts what evicting needs and runs cycles, as leader with
// --leader-elect.
func (e *evicting) evict(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	finish, err := e.events.Start(ctx)
	if err != nil {
		return err
	}
	defer finish()
	if err := e.ready(ctx); err != nil {
		return exit.UnlessStopped(ctx, err)
	}
	e.health.Ready()
	if e.options.Elects() && e.options.Loops() {
		e.lease.Stand() // before pods are let go, which is up to who leads
	}
	if e.options.LeaderElect {
		group.Go(func() error { return e.heartbeat(ctx) })
	}
	group.Go(func() error { return e.observe(ctx) })
	group.Go(func() error { return e.steering.watchdog.Run(ctx) })
	group.Go(func() error {
		return e.eachPolicy(ctx, func(ctx context.Context, g *generation) error {
			g.runner.Collect(ctx)
			return nil
		})
	})
	if e.options.Loops() {
		group.Go(func() error { return e.watchPolicy(e)(ctx) })
		group.Go(func() error { return e.authority.WatchPause(ctx) })
		group.Go(func() error { return e.steering.letGo(ctx, e.options.DryRun) })
	}
	if e.options.Follows(e.answers) {
		group.Go(func() error { return e.authority.Follow(ctx) })
	}
	group.Go(func() error {
		defer cancel()
		// Legacy Jobs of descheduler have no permission for the Lease and do
		// not need it: their plugins know of no other process. A process that
		// moves pods by real usage, or repeats cycles, needs it.
		needed := e.current().readsUsage() || e.options.Loops()
		if e.options.Elects() && (needed || !e.lease.Forbidden(ctx)) {
			return e.lease.Lead(ctx, e.cycles)
		}
		return e.cycles(ctx)
	})
	return group.Wait()
}

// ready starts the informers: those of a process that ends at once, because it
// has reached the API server.
func (e *evicting) ready(ctx context.Context) error {
	if e.once {
		return e.startInformers(ctx)
	}
	return e.begin(ctx, e)
}
