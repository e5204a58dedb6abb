package app

import (
	"context"
	"maps"

	v1 "k8s.io/api/core/v1"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"

	"github.com/evenkeel/evenkeel/internal/announce"
	"github.com/evenkeel/evenkeel/internal/explain/live"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/internal/serve"
	"github.com/evenkeel/evenkeel/internal/steering"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies/realusage"
)

// newApp reads the policy and wires what the parts need, without a request to
// the API server. It reports mistakes in flags or policy.
func newApp(ctx context.Context, options Options, needs parts) (_ *App, err error) {
	defer policyfile.Recover(options.PolicyFile, &err)
	if err := options.Validate(); err != nil {
		return nil, err
	}
	file, content, err := policyOf(&options)
	if err != nil {
		return nil, err
	}
	a := &App{options: options, parts: needs, registry: serve.NewRegistry()}
	if a.kube, err = options.Connect(); err != nil {
		return nil, err
	}
	a.kube.Clock.Export(a.registry)
	a.begun = a.kube.Clock.Local()
	a.health = serve.NewHealth(a.kube.Clock.Local)
	policyfile.SetupPlugins()
	return a, a.wire(ctx, file, content)
}

// reachedApp does the same for a process that ends: it fails if the API server
// cannot be reached.
func reachedApp(ctx context.Context, options Options, needs parts) (*App, error) {
	a, err := newApp(ctx, options, needs)
	if err != nil {
		return nil, err
	}
	if err := a.reach(ctx); err != nil {
		a.stop()
		return nil, err
	}
	return a, nil
}

// wire makes what the parts need, as far as it needs no API server.
func (a *App) wire(ctx context.Context, file *policy.File, content []byte) error {
	policyfile.PrintNotes(ctx, file, a.parts.notes)
	g, err := a.read(file, content, 1)
	if err != nil {
		return err
	}
	a.active.Store(g)
	a.wireEvents()
	if err := a.wireObserver(); err != nil {
		return err
	}
	if err := a.wireAuthority(); err != nil {
		return err
	}
	if a.parts.serving {
		a.answerer = steering.NewAnswerer(a.observer, a.kube.Clock.Now)
	}
	if a.parts.marking {
		return a.wireMarking()
	}
	var nodes listers.NodeLister
	if a.parts.evicting {
		if err := a.wireEvicting(); err != nil {
			return err
		}
		nodes = a.informers.Core().V1().Nodes().Lister()
	}
	a.explainer = live.New(a.observer, nodes, a.pause, g.terms())
	return nil
}

// reach does the rest of wire. It may be repeated until it succeeds.
func (a *App) reach(ctx context.Context) (err error) {
	defer policyfile.Recover(a.options.PolicyFile, &err)
	if err := a.kube.Reach(ctx); err != nil {
		return err
	}
	g := a.current()
	if err := g.lookUp(ctx, a.kube.Client, &a.parts); err != nil || !a.parts.evicting {
		return err
	}
	a.explainer.Follow(g.terms())
	if err := a.wireRunner(ctx, g); err != nil {
		return err
	}
	a.gauges.Follow(g.evictor)
	return nil
}

// wireEvents makes the recorder of Events and the announcers; a dry run sends
// no Events.
func (a *App) wireEvents() {
	switch {
	case !a.parts.evicting:
	case a.options.DryRun:
		a.recorder = &events.FakeRecorder{}
	default:
		a.events = announce.NewLog(a.kube.Client)
		a.recorder = a.events
	}
	a.announcer = announce.NewAnnouncer(a.recorder, a.options.Namespace)
	a.policies = announce.NewPolicies(a.options.PolicyFile, policyfile.Hash(a.current().content), a.announcer, a.kube.Clock.Now, a.registry)
}

// policyOf returns the policy that the options name, and its content; a Given
// policy has none.
func policyOf(options *Options) (*policy.File, []byte, error) {
	if options.Given != nil {
		return options.Given, nil, nil
	}
	file, content, err := policyfile.Read(options.PolicyFile, options.Converters...)
	if err != nil {
		return nil, nil, err
	}
	options.shorten(&file.Load)
	return file, content, options.Marking.amend(file)
}

// read makes a generation of a policy, whose plugins use its own dependencies.
// lookUp completes it.
func (a *App) read(file *policy.File, content []byte, number int) (*generation, error) {
	g := newGeneration(file, content, number, a.parts.marking)
	g.plugins = maps.Clone(pluginregistry.PluginRegistry)
	delete(g.plugins, realusage.Name)
	realusage.Register(g.plugins, func() realusage.Deps {
		return realusage.Deps{
			Half: g.evictor, Executor: &planExecutor{app: a, policy: g}, Options: realusage.OptionsOf(&g.load.Eviction),
		}
	})
	return g, g.decode(&a.parts)
}

// planExecutor executes a plan, or passes it to parts.execute if that is set.
type planExecutor struct {
	app    *App
	policy *generation
}

var _ realusage.Executor = (*planExecutor)(nil)

// Execute implements realusage.Executor.
func (p *planExecutor) Execute(ctx context.Context, made realusage.Made, evict func(context.Context, *v1.Pod, reasons.Reason) error) {
	if execute := p.app.parts.execute; execute != nil {
		execute(ctx, made)
		return
	}
	p.app.explainer.Judged(ctx, &made)
	if made.Closed == "" {
		p.app.room.Planned(&made.Plan)
		p.app.nodes.Planned(&made.Plan)
	}
	p.policy.evictor.Execute(ctx, &made.Plan, evict)
}
