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

// NodeSync is `evenkeel nodesync`: it only observes and publishes on nodes.
func NodeSync(ctx context.Context, options flags.Options) error {
	s, err := open(options, decodePublishing)
	if err != nil {
		return exit.UnlessStopped(ctx, err)
	}
	m, err := newPublishing(ctx, s)
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

// publishing is a process that only publishes usage on nodes.
type publishing struct {
	*process
	informers informers.SharedInformerFactory // for nodes
	synced    func() bool
}

var _ policyUser = (*publishing)(nil)

// decodePublishing decodes the policy of a process that only publishes on nodes. Such a
// process needs cpu, memory and pods only if the policy judges cpu or memory or publishes
// annotations.
func decodePublishing(g *generation) error {
	g.signalsOnly = !g.load.JudgesResources() && !g.load.NodeSync.Annotations.Enabled
	return decodeGiven(g)
}

// newPublishing makes a process that publishes.
func newPublishing(ctx context.Context, s setup) (*publishing, error) {
	p, err := newProcess(ctx, s)
	if err != nil {
		return nil, err
	}
	p.lease.Export(p.registry)
	m := &publishing{process: p}
	m.informers = informers.NewSharedInformerFactoryWithOptions(p.kube.Client, 0, informers.WithTransform(slim.New().Transform))
	p.stops = append(p.stops, m.informers.Shutdown)
	if m.synced, err = p.observer.Store().AttachNodes(m.informers); err != nil {
		return nil, fmt.Errorf("feeding the observer: %w", err)
	}
	return m, m.publishBy(p.current())
}

// complete implements policyUser.
func (m *publishing) complete(ctx context.Context, g *generation) error {
	if err := m.process.complete(ctx, g); err != nil || g.nodeSync != nil {
		return err
	}
	return m.publishBy(g)
}

func (m *publishing) publishBy(g *generation) (err error) {
	g.nodeSync, err = newNodeSync(m.process, g, m.informers, nodesync.ApartRecordKey)
	return err
}

// newNodeSync makes the Syncer that publishes usage on nodes; nil in a dry run. The
// Syncer removes what an earlier policy published and this one does not. record is the
// key under which it records what it wrote; empty for the default key.
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

// startInformers implements policyUser.
func (m *publishing) startInformers(ctx context.Context) error {
	return m.kube.Start(ctx, m.informers, m.synced)
}

// mark observes and publishes; with --leader-elect, it publishes only as leader.
func (m *publishing) mark(ctx context.Context) error {
	if err := m.begin(ctx, m); err != nil {
		return exit.UnlessStopped(ctx, err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return m.eachPolicy(ctx, m.feedPods) })
	group.Go(func() error { return m.observe(ctx) })
	group.Go(func() error { return m.heartbeat(ctx) })
	m.health.Ready()
	group.Go(func() error {
		if m.options.LeaderElect {
			return m.lease.Lead(ctx, m.publish)
		}
		return m.publish(ctx)
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
	if g.signalsOnly {
		m.observer.Store().WithoutPods()
		return nil
	}
	m.observer.Store().ReflectPods(ctx, m.kube.ListWatch("pods"))
	return nil
}

// serve serves /nodes and /status until the context ends.
func (m *publishing) serve(ctx context.Context) error {
	given := m.options.NodeSync
	return extender.Listen(ctx, given.WebAddress, "/nodes and /status", given.Pages(func() (string, []string, error) {
		label := &m.current().load.NodeSync.Label
		nodes, err := nodesync.Labelled(m.informers.Core().V1().Nodes().Lister(), labels.Set{label.Key: label.Value})
		return label.Value, nodes, err
	}))
}

// tellProgress reports progress on the terminal if a person started the process.
func (m *publishing) tellProgress(ctx context.Context) error {
	told := terminal.NewProgress(m.options.NodeSync.Progress, m.kube.Clock.Local())
	defer told.Done()
	nodesync.Say(ctx, m.observer.Latest, func() *nodesync.Syncer { return m.current().nodeSync },
		func(text string) { told.Say(m.kube.Clock.Local(), text) })
	return nil
}
