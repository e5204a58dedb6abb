package app

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/nodesync"
	"github.com/evenkeel/evenkeel/internal/serve"
	"github.com/evenkeel/evenkeel/internal/terminal"
)

// mark observes and publishes, as leader with --leader-elect.
func (a *App) mark(ctx context.Context) error {
	if err := a.begin(ctx); err != nil {
		return exit.UnlessStopped(ctx, err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return a.eachPolicy(ctx, a.feedPods) })
	group.Go(func() error { return a.eachPolicy(ctx, a.observe) })
	group.Go(func() error { return a.heartbeat(ctx) })
	a.health.Ready()
	group.Go(func() error {
		if a.options.LeaderElect {
			return a.lease.Lead(ctx, a.publish)
		}
		return a.publish(ctx)
	})
	return group.Wait()
}

// publish writes usage on nodes according to the policy in effect.
func (a *App) publish(ctx context.Context) error {
	return a.eachPolicy(ctx, func(ctx context.Context, g *generation) error {
		if g.nodeSync == nil {
			return nil
		}
		return g.nodeSync.Run(ctx)
	})
}

// feedPods feeds the observer with pods, if the policy uses anything that
// depends on them.
func (a *App) feedPods(ctx context.Context, g *generation) error {
	if g.signalsOnly {
		a.observer.Store().WithoutPods()
		return nil
	}
	a.observer.Store().ReflectPods(ctx, a.kube.ListWatch("pods"))
	return nil
}

// serveMarks serves /nodes and /status until the context ends.
func (a *App) serveMarks(ctx context.Context) error {
	marking := a.options.Marking
	return serve.Listen(ctx, marking.WebAddress, "/nodes and /status", marking.Pages(func() (string, []string, error) {
		label := &a.current().load.NodeSync.Label
		nodes, err := nodesync.Labelled(a.informers.Core().V1().Nodes().Lister(), labels.Set{label.Key: label.Value})
		return label.Value, nodes, err
	}))
}

// tellMarks says how far it is, where a person has started it.
func (a *App) tellMarks(ctx context.Context) error {
	told := terminal.NewProgress(a.options.Marking.Progress, a.kube.Clock.Local())
	defer told.Done()
	for ; ctx.Err() == nil; evictor.Sleep(ctx, time.Second) {
		text := "Waiting for nodes and a first reading of their usage"
		if latest, syncer := a.observer.Latest(), a.current().nodeSync; latest != nil && syncer != nil {
			text = fmt.Sprintf("Keeping nodes up to date: %d of %d ready nodes measured, %s", latest.Fresh, latest.Ready, syncer.Progress())
		}
		told.Say(a.kube.Clock.Local(), text)
	}
	return nil
}
