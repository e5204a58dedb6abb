package app

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/internal/explain/desk"
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

// generation is one policy and what a process makes of it. It does not change:
// another policy is another generation, which takes its place.
type generation struct {
	load     *policy.LoadPolicy
	profiles *api.DeschedulerPolicy
	plugins  pluginregistry.Registry
	// content is that of the policy's file.
	content []byte
	// sourcesGiven says that the policy names its usage sources.
	sourcesGiven bool
	// signalsOnly says that nothing needs to be known of cpu, memory and pods.
	signalsOnly bool
	// number tells this generation from the others of the process: 1 for the
	// first.
	number int
	// observing is how it is to be observed once this generation takes another
	// one's place.
	observing observer.Config
	// retired is closed when another generation takes this one's place.
	retired chan struct{}

	// The rest is nil in a process that does not evict.
	evictor  *evictor.Evictor
	runner   *runner.Runner
	nodeSync *nodesync.Syncer // nil in a dry run
}

// newGeneration makes one that nothing is wired of. marking says that the
// process does nothing but publish on nodes.
func newGeneration(file *policy.File, content []byte, number int, marking bool) *generation {
	load := &file.Load
	return &generation{
		load: load, content: content, sourcesGiven: file.SourcesGiven, number: number, retired: make(chan struct{}),
		signalsOnly: marking && !load.JudgesResources() && !load.NodeSync.Annotations.Enabled,
	}
}

// readsUsage reports whether a plugin of the policy is Evenkeel's own, which
// moves pods by real usage.
func (g *generation) readsUsage() bool { return len(policy.RealUsageArgs(g.profiles)) > 0 }

// publishesUsage reports whether the policy asks for anything to be written to
// nodes.
func (g *generation) publishesUsage() bool {
	given := &g.load.NodeSync
	return given.Annotations.Enabled || given.Label.Enabled || given.Taint.Enabled
}

func (g *generation) usageConfig() usage.Config {
	config := settings.Usage(g.load)
	config.SignalsOnly = g.signalsOnly
	return config
}

// terms are what of the policy is explained by.
func (g *generation) terms() *desk.Terms {
	terms := &desk.Terms{
		SamplesNeeded: g.load.Hot.ConsecutiveSamples, Selector: g.profiles.NodeSelector,
		Protection: policyfile.Protection(g.profiles), MovesByUsage: g.readsUsage(),
	}
	if measured := settings.Measured(g.load.Scoring.Measured); measured != nil {
		terms.Limits = measured.Limits
	}
	return terms
}

// samples is what samples of usage depend on: what is read, from where and for
// which windows.
type samples struct {
	usage     policy.Usage
	windows   []usage.Window
	signals   []usage.Metric
	providers []api.MetricsProvider
	// signalsOnly says that neither cpu nor memory is read.
	signalsOnly bool
}

func (g *generation) samples() samples {
	s := samples{
		usage: g.load.Usage, windows: settings.Windows(g.load), signals: settings.Signals(g.load), providers: g.profiles.MetricsProviders,
		signalsOnly: g.signalsOnly,
	}
	// These judge what was read; signals has the metrics that are.
	s.usage.ObservationPeriod, s.usage.MinCoveragePercent, s.usage.Metrics = metav1.Duration{}, 0, nil
	return s
}

// askedSources are the usage sources in their order: those of the policy, or
// upstream's metricsProviders where it names none.
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
	if g.sourcesGiven || len(sources) == 0 {
		return g.load.Usage.Sources
	}
	return sources
}
