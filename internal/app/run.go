package app

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/serve"
)

// Run is `evenkeel run`: one cycle, or cycles by interval or schedule.
func Run(ctx context.Context, options Options) error {
	setCollector(collectFilling)
	wired := newApp
	if !options.loops() {
		wired = reachedApp
	}
	a, err := wired(ctx, options, parts{evicting: true})
	if err != nil {
		return exit.UnlessStopped(ctx, err)
	}
	return a.start(ctx, a.evict, settleCollector(a.observer.Store().Synced))
}

// Serve is `evenkeel serve`: every replica answers kube-scheduler, and the
// leader evicts.
func Serve(ctx context.Context, options Options) error {
	if !options.loops() {
		return exit.Usagef("serve needs --descheduling-interval or --schedule")
	}
	setCollector(collectFilling)
	a, err := newApp(ctx, options, parts{evicting: true, serving: true})
	if err != nil {
		return exit.UnlessStopped(ctx, err)
	}
	pages := a.pages()
	server, err := a.server(a.answerer, pages.Reports)
	if err != nil {
		return err
	}
	hook, err := newHook(a)
	if err != nil {
		return err
	}
	return a.start(ctx, server.Run, pages.Run, hook.run, a.evict, settleCollector(a.observer.Store().Synced))
}

// Extender is `evenkeel extender`: it answers kube-scheduler and never evicts.
func Extender(ctx context.Context, options Options) error {
	setCollector(collectFilling)
	options.LeaderElect = false
	a, err := newApp(ctx, options, parts{serving: true})
	if err != nil {
		return exit.UnlessStopped(ctx, err)
	}
	server, pages, compare, err := a.extenderServer()
	if err != nil {
		return err
	}
	reached := func(ctx context.Context) error {
		if err := a.begin(ctx); err != nil {
			return err
		}
		return untilStopped(ctx)
	}
	a.health.Ready() // an extender without usage answers neutrally, which is better than not at all
	return a.start(ctx, server.Run, pages.Run, a.reflect, a.authority.Follow, a.heartbeat, compare, a.watchPolicy,
		reached, settleCollector(a.observer.Store().Synced))
}

// NodeSync is `evenkeel nodesync`: it only observes and publishes on nodes.
func NodeSync(ctx context.Context, options Options) error {
	a, err := newApp(ctx, options, parts{marking: true})
	if err != nil {
		return exit.UnlessStopped(ctx, err)
	}
	if !a.current().publishesUsage() {
		return exit.Usagef("%s: the policy switches no part of nodesync on; what an earlier one wrote is taken back with --remove",
			options.PolicyFile)
	}
	tasks := []func(context.Context) error{a.serveMarks, a.mark, a.watchPolicy}
	if options.Marking.Progress != nil {
		tasks = append(tasks, a.tellMarks)
	}
	return a.start(ctx, tasks...)
}

// start runs the process's tasks until one of them returns or the context ends,
// and waits for all.
func (a *App) start(ctx context.Context, tasks ...func(context.Context) error) error {
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	group, running := errgroup.WithContext(running)
	exposed := serve.Exposition{
		Address: a.options.MetricsAddress, Access: a.options.MetricsAccess, REST: a.kube.REST, Health: a.health, Registry: a.registry,
	}
	group.Go(func() error { return exposed.Run(running) })
	for _, task := range tasks {
		group.Go(func() error {
			defer cancel() // the first task that returns ends the process
			return task(running)
		})
	}
	if a.informers == nil {
		group.Go(func() error { return a.eachPolicy(running, a.observe) })
	}
	err := group.Wait()
	a.stop()
	return exit.UnlessStopped(ctx, err)
}

// evict starts what evicting needs and runs cycles, as leader with
// --leader-elect.
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
	if err := a.begin(ctx); err != nil {
		return exit.UnlessStopped(ctx, err)
	}
	a.health.Ready()
	if a.options.elects() && a.options.loops() {
		a.lease.Stand() // before pods are let go, which is up to who leads
	}
	if a.options.LeaderElect {
		group.Go(func() error { return a.heartbeat(ctx) })
	}
	group.Go(func() error { return a.eachPolicy(ctx, a.observe) })
	group.Go(func() error { return a.steering.watchdog.Run(ctx) })
	group.Go(func() error {
		return a.eachPolicy(ctx, func(ctx context.Context, g *generation) error {
			g.runner.Collect(ctx)
			return nil
		})
	})
	if a.options.loops() {
		group.Go(func() error { return a.watchPolicy(ctx) })
		group.Go(func() error { return a.authority.WatchPause(ctx) })
		group.Go(func() error { return a.steering.letGo(ctx, a.options.DryRun) })
	}
	if a.options.follows(a.answerer != nil) {
		group.Go(func() error { return a.authority.Follow(ctx) })
	}
	group.Go(func() error {
		defer cancel()
		// Legacy Jobs of descheduler have no permission for the Lease and do
		// not need it: their plugins know of no other process. A process that
		// moves pods by real usage, or repeats cycles, needs it.
		needed := a.current().readsUsage() || a.options.loops()
		if a.options.elects() && (needed || !a.lease.Forbidden(ctx)) {
			return a.lease.Lead(ctx, a.cycles)
		}
		return a.cycles(ctx)
	})
	return group.Wait()
}
