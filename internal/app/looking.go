package app

import (
	"context"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor/pause"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/internal/kube"
	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/usage"
)

// Look is a process that observes, for commands that change nothing.
type Look struct {
	Kube     *kube.Connection
	Observer *observer.Observer
	Pause    *pause.Switch
	File     *policy.File
	Load     *policy.LoadPolicy
	Profiles *api.DeschedulerPolicy
	Usage    usage.Config

	process *process
	// feed feeds the observer with nodes and pods as the inspected process does,
	// and fed reports whether it has them.
	feed func(context.Context) error
	fed  func() bool
}

// Open makes a process that observes, without starting it. It fails if the API
// server cannot be reached.
func Open(ctx context.Context, options flags.Options) (*Look, error) {
	options.LeaderElect, options.MetricsAddress = false, "0"
	if options.NodeSync != nil {
		return openMarking(ctx, options)
	}
	s, err := open(options, decodeGiven)
	if err != nil {
		return nil, err
	}
	s.withholdCredentials = !options.SendCredentials
	p, err := newProcess(ctx, s)
	if err != nil {
		return nil, err
	}
	look := lookInto(p)
	look.feed, look.fed = p.reflect, p.observer.Store().Synced
	return look, look.reach(ctx, p)
}

// openMarking makes a process that observes as `evenkeel nodesync` does.
func openMarking(ctx context.Context, options flags.Options) (*Look, error) {
	options.DryRun = true
	s, err := open(options, func(g *generation) error { return decodeMarking(g, options.NodeSync) })
	if err != nil {
		return nil, err
	}
	s.withholdCredentials = !options.SendCredentials
	m, err := newMarking(ctx, s)
	if err != nil {
		return nil, err
	}
	look := lookInto(m.process)
	look.feed = func(ctx context.Context) error {
		m.informers.Start(ctx.Done())
		return m.feedPods(ctx, m.current())
	}
	look.fed = func() bool {
		m.synced() // which marks the store as synced
		return m.observer.Store().Synced()
	}
	return look, look.reach(ctx, m)
}

func lookInto(p *process) *Look {
	g := p.current()
	return &Look{
		Kube: p.kube, Observer: p.observer, Pause: p.pause, File: g.file, Load: g.load, Profiles: g.profiles, Usage: g.usageConfig(), process: p,
	}
}

func (l *Look) reach(ctx context.Context, k kind) error {
	err := l.process.reach(ctx, k)
	if err != nil {
		l.process.stop()
	}
	return err
}

// Sources makes the readers of the policy's usage sources.
func (l *Look) Sources() ([]observer.Source, error) {
	return l.process.makeSources(l.process.current())
}

// Run observes and runs tasks until one of them ends.
func (l *Look) Run(ctx context.Context, tasks ...func(context.Context) error) error {
	return l.process.start(ctx, append(tasks, l.process.observe)...)
}

// Reflect feeds the observer with nodes and pods, until the context ends.
func (l *Look) Reflect(ctx context.Context) error { return l.feed(ctx) }

// List returns one snapshot of nodes and pods, listed as the inspected process
// does. It polls late, and returns nil if that is true before they have come.
func (l *Look) List(ctx context.Context, late func() bool) *cluster.Snapshot {
	listing, cancel := context.WithCancel(ctx)
	group := errgroup.Group{}
	group.Go(func() error { return l.feed(listing) })
	defer func() {
		cancel()
		_ = group.Wait() // always nil
		l.process.stop()
	}()
	for !l.fed() {
		if late() {
			return nil
		}
	}
	var snapshot *cluster.Snapshot
	l.Observer.Store().Observe(func(s *cluster.Snapshot) { snapshot = s })
	return snapshot
}
