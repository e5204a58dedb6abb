package app

import (
	"context"
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"

	"github.com/evenkeel/evenkeel/internal/announce"
	"github.com/evenkeel/evenkeel/internal/explain/live"
	"github.com/evenkeel/evenkeel/internal/kube"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/internal/serve"
	"github.com/evenkeel/evenkeel/internal/steering"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/strategies/realusage"
)

// newApp reads the policy and wires what the parts need. It reports mistakes in
// flags or policy before it sends any request to the API server.
func newApp(ctx context.Context, options Options, needs parts) (*App, error) {
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
	a.started, a.begun = a.kube.Clock.Now(), a.kube.Clock.Local()
	a.health = serve.NewHealth(a.kube.Clock.Local)
	policyfile.SetupPlugins()
	return a, a.wire(ctx, file, content)
}

// wire makes what the parts need.
func (a *App) wire(ctx context.Context, file *policy.File, content []byte) error {
	policyfile.PrintNotes(ctx, file, a.parts.notes)
	g, err := a.read(ctx, file, content, 1)
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
	if err := a.kube.Reach(ctx); err != nil {
		return err
	}
	a.started = a.kube.Clock.Now() // before Reach it may have been by another clock
	if a.parts.serving {
		a.answerer = steering.NewAnswerer(a.observer, a.kube.Clock.Now)
	}
	if a.parts.marking {
		return a.wireMarking()
	}
	if !a.parts.evicting {
		a.explainer = live.New(a.observer, nil, a.pause, g.terms())
		return nil
	}
	if err := a.wireEvicting(); err != nil {
		return err
	}
	a.explainer = live.New(a.observer, a.informers.Core().V1().Nodes().Lister(), a.pause, g.terms())
	return a.wireRunner(ctx, g)
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
	a.policies = announce.NewPolicies(a.options.PolicyFile, a.announcer, a.kube.Clock.Now, a.registry)
}

// policyOf returns the policy that the options name, and its content; a Given
// policy has none.
func policyOf(options *Options) (*policy.File, []byte, error) {
	if options.Given != nil {
		return options.Given, nil, nil
	}
	file, content, err := policyfile.Read(options.PolicyFile)
	if err != nil {
		return nil, nil, err
	}
	return file, content, options.Marking.amend(file)
}

// read makes a generation of a policy and decodes the DeschedulerPolicy, whose
// plugins use the generation's own dependencies.
func (a *App) read(ctx context.Context, file *policy.File, content []byte, number int) (g *generation, err error) {
	checking, cancel := context.WithTimeout(ctx, kube.ReachTimeout)
	defer cancel()
	if err := policyfile.CheckPriorityClasses(checking, a.kube.Client, file); err != nil {
		return nil, err
	}
	g = newGeneration(file, content, number, a.parts.marking)
	g.plugins = maps.Clone(pluginregistry.PluginRegistry)
	delete(g.plugins, realusage.Name)
	realusage.Register(g.plugins, func() realusage.Deps {
		return realusage.Deps{
			Half: g.evictor, Executor: &planExecutor{app: a, policy: g}, Options: realusage.OptionsOf(&g.load.Eviction),
		}
	})
	g.profiles = &api.DeschedulerPolicy{}
	if file.Descheduler != nil || a.parts.evicting && !a.parts.onlyRealUsage {
		if g.profiles, err = policyfile.Profiles(file, a.kube.Client, g.plugins); err != nil {
			return nil, err
		}
	}
	if a.parts.onlyRealUsage {
		policyfile.KeepOnlyRealUsage(g.profiles)
	}
	return g, nil
}

// planExecutor executes a plan, or passes it to parts.execute if that is set.
type planExecutor struct {
	app    *App
	policy *generation
}

var _ realusage.Executor = (*planExecutor)(nil)

// Execute implements realusage.Executor.
func (p *planExecutor) Execute(ctx context.Context, made realusage.Made, evict func(context.Context, *v1.Pod) error) {
	if execute := p.app.parts.execute; execute != nil {
		execute(ctx, made)
		return
	}
	p.app.explainer.Judged(ctx, &made)
	if made.Closed == "" {
		p.app.room.Planned(&made.Plan)
	}
	p.policy.evictor.Execute(ctx, &made.Plan, evict)
}
