package app

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"

	"github.com/evenkeel/evenkeel/cluster/slim"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/internal/settings"
	"github.com/evenkeel/evenkeel/internal/terminal"
	"github.com/evenkeel/evenkeel/scorer/extender"
	"github.com/evenkeel/evenkeel/scorer/nodesync"
)

// NodeSync runs `evenkeel nodesync`: it only observes and publishes on nodes.
func NodeSync(ctx context.Context, options flags.Options) error {
	s, err := open(options)
	if err != nil {
		return exit.UnlessStopped(ctx, err)
	}
	m, err := newPublishing(ctx, s)
	if err != nil {
		return exit.UnlessStopped(ctx, err)
	}
	p := m.process
	if !p.current().publishesUsage() {
		return exit.Usagef("%s: the policy enables no part of nodesync; --remove removes what an earlier policy had it write",
			options.PolicyFile)
	}
	tasks := []func(context.Context) error{m.serve, m.mark, p.watchPolicy}
	if options.NodeSync.Progress != nil {
		tasks = append(tasks, m.tellProgress)
	}
	return p.start(ctx, tasks...)
}

// publishing is a process that only publishes usage on nodes.
type publishing struct {
	process   *process
	informers informers.SharedInformerFactory // for nodes
	synced    func() bool
}

var _ kind = (*publishing)(nil)

// newPublishing makes a process that only publishes.
func newPublishing(ctx context.Context, s setup) (*publishing, error) {
	s.mode.onlyPublishes = true
	p, err := newProcess(ctx, s)
	if err != nil {
		return nil, err
	}
	p.lease.Export(p.registry)
	m := &publishing{process: p}
	p.kind = m
	m.informers = informers.NewSharedInformerFactoryWithOptions(p.kube.Client, 0, informers.WithTransform(slim.New().Transform))
	p.stops = append(p.stops, m.informers.Shutdown)
	if m.synced, err = p.observer.Store().AttachNodes(m.informers); err != nil {
		return nil, fmt.Errorf("feeding the observer: %w", err)
	}
	return m, m.publishBy(p.current())
}

// equip implements kind.
func (m *publishing) equip(_ context.Context, g *generation) error {
	if g.nodeSync != nil {
		return nil
	}
	return m.publishBy(g)
}

func (m *publishing) publishBy(g *generation) (err error) {
	g.nodeSync, err = newNodeSync(m.process, g, m.informers, nodesync.ApartRecordKey)
	return err
}

// newNodeSync makes the Syncer that publishes usage on nodes; nil in a dry run. The
// Syncer removes what an earlier policy published and this one no longer does. record is
// the key under which the Syncer records what it wrote; empty means the default key.
func newNodeSync(p *process, g *generation, watched informers.SharedInformerFactory, record string) (*nodesync.Syncer, error) {
	if p.options.DryRun {
		return nil, nil //nolint:nilnil // a dry run publishes nothing
	}
	wanted := settings.NodeSync(&g.load.NodeSync)
	if record != "" {
		wanted.Record = record
	}
	reader := &nodesync.Reader{
		Observer: p.observer, Lister: watched.Core().V1().Nodes().Lister(), Load: g.load, Clock: p.kube.Clock, Begun: p.begun,
	}
	syncer, err := nodesync.New(nodesync.Config{
		Policy: wanted, Client: p.kube.Client, Leader: p.lease, Nodes: reader.Nodes, Now: p.kube.Clock.Now,
		Interval: g.load.Usage.SampleInterval.Duration, Registerer: p.registry,
	})
	if err != nil {
		return nil, exit.Usagef("%s: %w", p.options.PolicyFile, err)
	}
	return syncer, nil
}

// startInformers implements kind.
func (m *publishing) startInformers(ctx context.Context) error {
	return m.process.kube.Start(ctx, m.informers, m.synced)
}

// mark observes and publishes. With --leader-elect, it publishes only while it leads.
func (m *publishing) mark(ctx context.Context) error {
	p := m.process
	if err := p.begin(ctx); err != nil {
		return exit.UnlessStopped(ctx, err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return p.eachPolicy(ctx, m.feedPods) })
	group.Go(func() error { return p.observeUsage(ctx) })
	group.Go(func() error { return p.heartbeat(ctx) })
	p.health.Ready()
	group.Go(func() error {
		if p.options.LeaderElect {
			return p.lease.Lead(ctx, p.publish)
		}
		return p.publish(ctx)
	})
	return group.Wait()
}

// publish writes usage to nodes according to the policy in effect.
func (p *process) publish(ctx context.Context) error {
	return p.eachPolicy(ctx, func(ctx context.Context, g *generation) error {
		if g.nodeSync == nil {
			return nil
		}
		return g.nodeSync.Run(ctx)
	})
}

// feedPods feeds the observer with pods if the policy depends on them.
func (m *publishing) feedPods(ctx context.Context, g *generation) error {
	p := m.process
	if g.signalsOnly {
		p.observer.Store().WithoutPods()
		return nil
	}
	pods, err := p.kube.ListWatchPods(slim.New())
	if err != nil {
		return err
	}
	p.observer.Store().ReflectPods(ctx, pods)
	return nil
}

// serve serves /nodes and /status until the context ends.
func (m *publishing) serve(ctx context.Context) error {
	p := m.process
	given := p.options.NodeSync
	return extender.Listen(ctx, given.WebAddress, "/nodes and /status", given.Pages(func() (string, []string, error) {
		label := &p.current().load.NodeSync.Label
		nodes, err := nodesync.Labelled(m.informers.Core().V1().Nodes().Lister(), labels.Set{label.Key: label.Value})
		return label.Value, nodes, err
	}))
}

// tellProgress reports progress on the terminal if a user started the process.
func (m *publishing) tellProgress(ctx context.Context) error {
	p := m.process
	told := terminal.NewProgress(p.options.NodeSync.Progress, p.kube.Clock.Local())
	defer told.Done()
	nodesync.Say(ctx, p.observer.Latest, func() *nodesync.Syncer { return p.current().nodeSync },
		func(text string) { told.Say(p.kube.Clock.Local(), text) })
	return nil
}
