package app

import (
	"fmt"

	"k8s.io/client-go/informers"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/nodesync"
	"github.com/evenkeel/evenkeel/internal/settings"
	"github.com/evenkeel/evenkeel/internal/slim"
)

// wireNodeSync makes the Syncer that publishes usage on nodes. Where the policy
// asks for nothing, the Syncer removes what an earlier policy asked for.
func (a *App) wireNodeSync(g *generation) (err error) {
	if a.options.DryRun {
		return nil
	}
	wanted := settings.NodeSync(&g.load.NodeSync)
	if a.parts.marking {
		wanted.Record = nodesync.ApartRecordKey
	}
	reader := &nodesync.Reader{
		Observer: a.observer, Lister: a.informers.Core().V1().Nodes().Lister(), Load: g.load, Clock: a.kube.Clock, Begun: a.begun,
	}
	g.nodeSync, err = nodesync.New(nodesync.Config{
		Policy: wanted, Client: a.kube.Client, Leader: a.lease, Nodes: reader.Nodes, Now: a.kube.Clock.Now,
		Interval: g.load.Usage.SampleInterval.Duration, Registerer: a.registry,
	})
	if err != nil {
		return exit.Usagef("%s: %w", a.options.PolicyFile, err)
	}
	return nil
}

// wireMarking makes the Syncer, and requests the informer of nodes.
func (a *App) wireMarking() error {
	a.informers = informers.NewSharedInformerFactoryWithOptions(a.kube.Client, 0, informers.WithTransform(slim.New().Transform))
	synced, err := a.observer.Store().AttachNodes(a.informers)
	if err != nil {
		return fmt.Errorf("feeding the observer: %w", err)
	}
	a.synced = append(a.synced, synced)
	return a.wireNodeSync(a.current())
}
