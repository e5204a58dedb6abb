package app

import (
	"cmp"
	"context"
	"errors"
	"io"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/evictor/pause"
	"github.com/evenkeel/evenkeel/internal/explain"
	"github.com/evenkeel/evenkeel/internal/explain/preview"
	"github.com/evenkeel/evenkeel/internal/kube"
	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/ledger/configmap"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/strategies/realusage"
	"github.com/evenkeel/evenkeel/usage"
)

// What commands use that look at a cluster and change nothing.

// Look is a process that observes.
type Look struct {
	Kube     *kube.Connection
	Observer *observer.Observer
	Load     *policy.LoadPolicy
	Profiles *api.DeschedulerPolicy
	Usage    usage.Config

	app *App
}

// Open wires a process that observes, without starting it.
func Open(ctx context.Context, options Options) (*Look, error) {
	options.LeaderElect, options.MetricsAddress = false, "0"
	options.withholdCredentials = !options.SendCredentials
	needs := parts{marking: options.Marking != nil}
	options.DryRun = options.DryRun || needs.marking
	a, err := reachedApp(ctx, options, needs)
	if err != nil {
		return nil, err
	}
	g := a.current()
	return &Look{Kube: a.kube, Observer: a.observer, Load: g.load, Profiles: g.profiles, Usage: g.usageConfig(), app: a}, nil
}

// AskedSources returns the usage sources in order, wherever the policy names
// them.
func (l *Look) AskedSources() []policy.Source { return l.app.current().askedSources() }

// ReadSources returns the same sources, completed with settings of the
// DeschedulerPolicy.
func (l *Look) ReadSources() []policy.Source { return provided(l.AskedSources(), l.Profiles) }

// Sources makes the readers of these sources.
func (l *Look) Sources() ([]observer.Source, error) { return l.app.makeSources(l.app.current()) }

// Pause reads the kill switch.
func (l *Look) Pause(ctx context.Context) pause.State { return l.app.pause.Read(ctx, false) }

// Ledger reads the stored ledger. The error is a *configmap.Unreadable if it is
// none.
func (l *Look) Ledger(ctx context.Context) (stored bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, kube.CallTimeout)
	defer cancel()
	namespace := cmp.Or(l.app.options.Namespace, DefaultNamespace)
	object, err := l.Kube.Client.CoreV1().ConfigMaps(namespace).Get(ctx, evictor.ConfigMapName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err == nil {
		_, err = configmap.Inspect(object)
	}
	return true, err
}

// Run observes and runs tasks until one of them ends.
func (l *Look) Run(ctx context.Context, tasks ...func(context.Context) error) error {
	return l.app.start(ctx, tasks...)
}

// Reflect feeds the observer with nodes and pods, until the context ends.
func (l *Look) Reflect(ctx context.Context) error { return l.app.reflect(ctx) }

// List returns one snapshot of nodes and pods, listed as the inspected process
// does. It polls late, and returns nil if that is true before they have come.
func (l *Look) List(ctx context.Context, late func() bool) *cluster.Snapshot {
	listing, cancel := context.WithCancel(ctx)
	group := errgroup.Group{}
	group.Go(func() error { return l.list(listing) })
	defer func() {
		cancel()
		_ = group.Wait() // always nil
		l.app.stop()
	}()
	store := l.Observer.Store()
	for !l.listed() {
		if late() {
			return nil
		}
	}
	var snapshot *cluster.Snapshot
	store.Observe(func(s *cluster.Snapshot) { snapshot = s })
	return snapshot
}

// list feeds the store as the inspected process does.
func (l *Look) list(ctx context.Context) error {
	a := l.app
	if !a.parts.marking {
		return a.reflect(ctx)
	}
	a.informers.Start(ctx.Done())
	return a.feedPods(ctx, a.current())
}

// listed reports whether the store knows nodes and pods.
func (l *Look) listed() bool {
	for _, synced := range l.app.synced {
		synced() // which marks the store as synced
	}
	return l.Observer.Store().Synced()
}

// PlanOnce observes, plans as a cycle would and returns what is known of the
// plan, without executing it. It reports to progress what takes time.
func PlanOnce(ctx context.Context, options Options, progress io.Writer) (*preview.Facts, error) {
	var planned *realusage.Made
	anything := func(context.Context, *App) error { return nil }
	a, err := rehearse(ctx, options, progress, anything, func(_ context.Context, _ *App, made realusage.Made) { planned = &made })
	if err := errors.Join(err, ctx.Err()); err != nil {
		return nil, err
	}
	return a.previewed(ctx, planned), nil
}

// ExplainOnce does the same, and explains a subject by the plan. It fails at once
// for a subject that is not known.
func ExplainOnce(ctx context.Context, options Options, progress io.Writer, s explain.Subject) (planned *explain.Facts, err error) {
	var failed error
	check := func(ctx context.Context, a *App) error { return a.known(ctx, s) }
	a, err := rehearse(ctx, options, progress, check, func(ctx context.Context, a *App, made realusage.Made) {
		planned, failed = a.explainer.Study(ctx, made.By, s)
	})
	if err := errors.Join(err, ctx.Err(), failed); err != nil {
		return nil, err
	}
	if planned == nil {
		if planned, err = a.explainer.Latest(); err != nil {
			return nil, err
		}
		if planned.NoPlan = a.explainer.NothingByUsage(); planned.NoPlan == "" {
			planned.NoPlan = "no plan was made; it takes two ready nodes"
		}
	}
	return planned, nil
}

// rehearse runs one cycle up to its plan. It calls check once nodes and pods are
// known, before it waits for usage.
func rehearse(ctx context.Context, options Options, progress io.Writer, check func(context.Context, *App) error,
	planned func(context.Context, *App, realusage.Made),
) (a *App, err error) {
	options.DryRun, options.LeaderElect, options.MetricsAddress = true, false, "0"
	options.withholdCredentials = !options.SendCredentials
	a, err = reachedApp(ctx, options, parts{
		evicting: true, onlyRealUsage: true, notes: progress,
		execute: func(ctx context.Context, made realusage.Made) { planned(ctx, a, made) },
	})
	if err != nil {
		return nil, err
	}
	return a, a.start(ctx, func(ctx context.Context) error {
		return a.planOnce(ctx, progress, func(ctx context.Context) error { return check(ctx, a) })
	})
}

func (a *App) planOnce(ctx context.Context, progress io.Writer, check func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := a.begin(ctx); err != nil {
		return err
	}
	if err := check(ctx); err != nil {
		return err
	}
	group.Go(func() error { return a.observer.Run(ctx) })
	group.Go(func() error {
		defer cancel()
		if !a.awaitUsage(ctx, progress) {
			return a.hopeless(a.observer.Latest())
		}
		a.pause.Read(ctx, false)
		return a.cycle(ctx)
	})
	return group.Wait()
}
