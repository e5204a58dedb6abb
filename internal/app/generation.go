package app

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/internal/explain/live"
	"github.com/evenkeel/evenkeel/internal/kube"
	"github.com/evenkeel/evenkeel/internal/nodesync"
	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/internal/settings"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/runner"
	"github.com/evenkeel/evenkeel/usage"
	"github.com/evenkeel/evenkeel/usage/kinds"
	"github.com/evenkeel/evenkeel/usage/metricsserver"
	"github.com/evenkeel/evenkeel/usage/prometheus"
)

// generation is one policy and what a process makes from it. It does not
// change: another policy is another generation, which replaces it.
type generation struct {
	load     *policy.LoadPolicy
	file     *policy.File
	profiles *api.DeschedulerPolicy
	plugins  pluginregistry.Registry
	// classes are the priority classes that profiles lack until lookUp.
	classes []policyfile.PriorityClass
	// unplanned are further profiles that move pods by real usage, of which a command
	// that plans once shows nothing.
	unplanned []string
	// content is that of the policy file.
	content []byte
	// signalsOnly reports whether cpu, memory and pods are not needed.
	signalsOnly bool
	// number counts the generations of the process, from 1.
	number int
	// observing configures the Observer once this generation replaces another.
	observing observer.Config
	// retired is closed when another generation replaces this one.
	retired chan struct{}

	// The fields below are nil in a process that does not evict.
	evictor  *evictor.Evictor
	runner   *runner.Runner
	nodeSync *nodesync.Syncer // nil in a dry run
}

// newGeneration returns a generation that is not wired yet. marking reports
// whether the process only publishes on nodes.
func newGeneration(file *policy.File, content []byte, number int, marking bool) *generation {
	load := &file.Load
	return &generation{
		load: load, file: file, content: content, number: number, retired: make(chan struct{}),
		signalsOnly: marking && !load.JudgesResources() && !load.NodeSync.Annotations.Enabled,
	}
}

// decode decodes the DeschedulerPolicy, without the priority classes that it
// names.
func (g *generation) decode(needs *parts) (err error) {
	g.profiles = &api.DeschedulerPolicy{}
	if g.file.Runs() || needs.evicting && !needs.onlyRealUsage {
		g.profiles, g.classes, err = policyfile.OfflineProfiles(g.file)
	}
	if err == nil && needs.onlyRealUsage {
		g.unplanned = policyfile.KeepOnlyRealUsage(g.profiles)
	}
	return err
}

// lookUp completes the DeschedulerPolicy by the priority classes that it names.
func (g *generation) lookUp(ctx context.Context, client kubernetes.Interface, needs *parts) (err error) {
	if len(g.classes) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, kube.ReachTimeout)
	defer cancel()
	if err := policyfile.CheckPriorityClasses(ctx, client, g.file); err != nil || !needs.evicting {
		return err
	}
	complete, err := policyfile.Profiles(g.file, client, g.plugins)
	if err != nil {
		return err
	}
	if needs.onlyRealUsage {
		policyfile.KeepOnlyRealUsage(complete)
	}
	g.profiles = complete
	return err
}

// readsUsage reports whether the policy has Evenkeel's own plugin, which moves
// pods by real usage.
func (g *generation) readsUsage() bool { return len(policy.RealUsageArgs(g.profiles)) > 0 }

// publishesUsage reports whether the policy makes Evenkeel write to nodes.
func (g *generation) publishesUsage() bool { return g.load.NodeSync.Writes() }

func (g *generation) usageConfig() usage.Config {
	config := settings.Usage(g.load)
	config.SignalsOnly = g.signalsOnly
	return config
}

// terms returns the parts of the policy that explanations use.
func (g *generation) terms() *live.Terms {
	terms := &live.Terms{
		SamplesNeeded: g.load.Hot.ConsecutiveSamples, Selector: g.profiles.NodeSelector,
		Protection: policyfile.Protection(g.profiles), MovesByUsage: g.readsUsage(), OtherProfiles: policyfile.Unplanned(g.profiles),
	}
	if args := policy.RealUsageArgs(g.profiles); len(args) > 0 {
		terms.Args = args[0]
	}
	if measured := settings.Measured(g.load.Scoring.Measured); measured != nil {
		terms.Limits = measured.Limits
	}
	return terms
}

// samples is everything that usage samples depend on: what is read, from where
// and for which windows.
type samples struct {
	usage     policy.Usage
	windows   []usage.Window
	signals   []usage.Metric
	providers []api.MetricsProvider
	// signalsOnly reports whether neither cpu nor memory is read.
	signalsOnly bool
}

func (g *generation) samples() samples {
	s := samples{
		usage: g.load.Usage, windows: settings.Windows(g.load), signals: settings.Signals(g.load), providers: g.profiles.MetricsProviders,
		signalsOnly: g.signalsOnly,
	}
	// These apply after reading; signals has the metrics that are read.
	s.usage.ObservationPeriod, s.usage.MinCoveragePercent, s.usage.Metrics = metav1.Duration{}, 0, nil
	return s
}

// askedSources returns the usage sources in order: those of the policy or, if
// it names none, upstream's metricsProviders.
func (g *generation) askedSources() []policy.Source {
	var sources []policy.Source
	for _, provider := range g.profiles.MetricsProviders {
		switch provider.Source {
		case api.KubernetesMetrics:
			sources = append(sources, policy.NewSource(metricsserver.Name, kinds.All))
		case api.PrometheusMetrics:
			sources = append(sources, policy.NewSource(prometheus.Name, kinds.All))
		}
	}
	if g.file.SourcesGiven || len(sources) == 0 {
		return g.load.Usage.Sources
	}
	return sources
}
