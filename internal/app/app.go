// Package app wires Evenkeel's rooms into processes: which informers start, who
// leads, what is served, and what changes with another policy. It decides
// nothing about nodes or pods and prints nothing; what commands see of a
// process is Look.
package app

import (
	"context"
	"fmt"
	"io"
	"maps"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/descheduler/pkg/api"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/internal/announce"
	"github.com/evenkeel/evenkeel/internal/authority"
	"github.com/evenkeel/evenkeel/internal/explain/desk"
	"github.com/evenkeel/evenkeel/internal/kube"
	"github.com/evenkeel/evenkeel/internal/nodesync"
	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/internal/serve"
	"github.com/evenkeel/evenkeel/internal/settings"
	"github.com/evenkeel/evenkeel/internal/steering"
	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/runner"
	"github.com/evenkeel/evenkeel/scorer/extender"
	"github.com/evenkeel/evenkeel/strategies/realusage"
)

// parts says what a process needs.
type parts struct {
	evicting bool // runs cycles
	serving  bool // answers kube-scheduler
	marking  bool // does nothing but publish on nodes
	// onlyRealUsage leaves every other plugin of the policy out: plan shows
	// what Evenkeel's own would do.
	onlyRealUsage bool
	// notes is where to print what became of an earlier system's policy,
	// instead of the log.
	notes io.Writer
	// execute replaces the Executor: plan prints instead.
	execute func(ctx context.Context, made realusage.Made)
}

// App is one policy in a process, wired and not started. It does not change:
// another policy is another App of the same process, which takes its place.
type App struct {
	*process
	load     *policy.LoadPolicy
	profiles *api.DeschedulerPolicy
	plugins  pluginregistry.Registry
	// content is that of the policy's file.
	content []byte
	// sourcesGiven says that the policy names its usage sources.
	sourcesGiven bool
	// number tells this App from the others of the process: 1 for the first.
	number int
	// observing is how it is to be observed once this App takes another one's
	// place.
	observing observer.Config
	// retired is closed when another App takes this one's place.
	retired chan struct{}

	// The rest is nil in a process that does not evict.
	evictor   *evictor.Evictor
	runner    *runner.Runner
	providers *providers
	nodeSync  *nodesync.Syncer // nil in a dry run
}

// process is what lasts as long as the process does, whatever the policy.
type process struct {
	options Options
	parts   parts
	// active is the App whose policy is at work.
	active atomic.Pointer[App]
	reload reload

	kube      *kube.Connection
	registry  *prometheus.Registry
	announcer *announce.Announcer
	policies  *announce.Policies
	observer  *observer.Observer
	judge     *steering.Judge
	answers   *extender.Server // by the judge; nil in a process that answers nobody
	health    *serve.Health
	// started is when the process was, begun the same by the local clock.
	started, begun time.Time

	lease     *authority.Lease
	authority *authority.Authority
	// desk answers what is asked to be explained; nil in a process that is not
	// asked.
	desk     *desk.Desk
	outcomes *evictor.Outcomes
	// waited says that usage has been waited for; the cycles' own.
	waited bool

	// The rest is nil in a process that does not evict.
	informers informers.SharedInformerFactory
	// transitions says that the pods of informers tell since when their
	// conditions are as they are.
	transitions bool
	synced      []func() bool
	filters     *placement.Filters
	cluster     *evictor.Watched
	evictions   *evictor.Client
	steering    evictor.Steering
	scaler      *evictor.DeploymentScaler
	metrics     evictingMetrics
	// podsOnNode serves the framework's plugins from an index, which can be
	// added only once.
	podsOnNode podutil.GetPodsAssignedToNodeFunc
	events     *announce.Log // nil in a dry run
	recorder   events.EventRecorder
}

// evictingMetrics are registered once, for all policies.
type evictingMetrics struct {
	evictor *evictor.Metrics
	runner  *runner.Metrics
}

// newApp reads the policy and wires what the parts need. Mistakes in flags or
// policy are reported before the API server is asked for anything.
func newApp(ctx context.Context, options Options, needs parts) (*App, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	file, content, err := policyOf(&options)
	if err != nil {
		return nil, err
	}
	a := (&process{options: options, parts: needs, registry: serve.NewRegistry()}).newPolicy(file, content, 1)
	a.active.Store(a)
	if a.kube, err = options.connect(); err != nil {
		return nil, err
	}
	a.kube.Clock.Export(a.registry)
	a.started, a.begun = a.kube.Clock.Now(), a.kube.Clock.Local()
	a.health = serve.NewHealth(a.kube.Clock.Local)
	policyfile.SetupPlugins()
	return a, a.wire(ctx, file)
}

// wire makes what the parts need.
func (a *App) wire(ctx context.Context, file *policy.File) error {
	policyfile.TellNotes(ctx, file, a.parts.notes)
	if err := a.read(ctx, file); err != nil {
		return err
	}
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
	a.started = a.kube.Clock.Now() // what it was before was perhaps another clock's
	if a.parts.serving {
		a.judge = steering.NewJudge(a.observer, a.kube.Clock.Now)
	}
	if a.parts.marking {
		return a.wireMarking()
	}
	if !a.parts.evicting {
		a.desk = desk.New(a.observer, nil, a.terms())
		return nil
	}
	if err := a.wireEvicting(); err != nil {
		return err
	}
	a.desk = desk.New(a.observer, a.informers.Core().V1().Nodes().Lister(), a.terms())
	return a.wireRunner(ctx)
}

// newPolicy makes an App that nothing is wired of.
func (p *process) newPolicy(file *policy.File, content []byte, number int) *App {
	return &App{
		process: p, load: &file.Load, content: content, sourcesGiven: file.SourcesGiven, number: number, retired: make(chan struct{}),
	}
}

// read decodes the DeschedulerPolicy, whose plugins are to be built with this
// App's own dependencies.
func (a *App) read(ctx context.Context, file *policy.File) error {
	checking, cancel := context.WithTimeout(ctx, kube.ReachTimeout)
	defer cancel()
	if err := policyfile.CheckPriorityClasses(checking, a.kube.Client, file); err != nil {
		return err
	}
	a.plugins = maps.Clone(pluginregistry.PluginRegistry)
	delete(a.plugins, realusage.Name)
	realusage.Register(a.plugins, a.pluginDeps(a.parts.execute))
	if file.Descheduler == nil && (!a.parts.evicting || a.parts.onlyRealUsage) {
		a.profiles = &api.DeschedulerPolicy{}
	} else {
		profiles, err := policyfile.Profiles(file, a.kube.Client, a.plugins)
		if err != nil {
			return err
		}
		a.profiles = profiles
	}
	if a.parts.onlyRealUsage {
		policyfile.KeepOnlyRealUsage(a.profiles)
	}
	return nil
}

// wireEvents makes what tells persons; a dry run tells the API server nothing.
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

func (a *App) wireObserver() error {
	config, err := a.observerConfig()
	if err != nil {
		return err
	}
	a.outcomes = evictor.NewOutcomes(a.registry)
	config.Listener = struct {
		*evictor.Outcomes
		*announce.Announcer
	}{a.outcomes, a.announcer}
	config.Now, config.Metrics = a.kube.Clock.Now, observer.NewMetrics(a.registry)
	if a.observer, err = observer.New(config); err != nil {
		return fmt.Errorf("making the observer: %w", err)
	}
	return nil
}

// observerConfig is what the policy says about observing.
func (a *App) observerConfig() (observer.Config, error) {
	config, err := settings.Observing(a.load, policy.RealUsageArgs(a.profiles))
	if err != nil {
		return config, policyfile.Invalid(a.options.PolicyFile, err.Error())
	}
	config.Usage.SignalsOnly = a.signalsOnly()
	config.Reads = a.samples()
	config.Sources, err = a.makeSources()
	return config, err
}

// callTimeout bounds each call to the API server around an eviction.
const callTimeout = 30 * time.Second

// terms are what of the policy is explained by.
func (a *App) terms() *desk.Terms {
	terms := &desk.Terms{
		SamplesNeeded: a.load.Hot.ConsecutiveSamples, Selector: a.profiles.NodeSelector,
		Protection: policyfile.Protection(a.profiles), MovesByUsage: a.readsUsage(),
	}
	if measured := settings.Measured(a.load.Scoring.Measured); measured != nil {
		terms.Limits = measured.Limits
	}
	return terms
}
