package app

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/evictor/metrics"
	"github.com/evenkeel/evenkeel/internal/announce"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/internal/settings"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/runner"
	"github.com/evenkeel/evenkeel/usage"
	"github.com/evenkeel/evenkeel/usage/access"
	"github.com/evenkeel/evenkeel/usage/kinds"
	"github.com/evenkeel/evenkeel/usage/prometheus"
	"github.com/evenkeel/evenkeel/usage/source"
)

func (a *App) wireObserver() error {
	config, err := a.observerConfig(a.current())
	if err != nil {
		return err
	}
	a.outcomes, a.nodes = metrics.NewOutcomes(a.registry), announce.NewNodes(a.announcer)
	config.Listener = struct {
		*metrics.Outcomes
		*announce.Announcer
		*announce.Nodes
	}{a.outcomes, a.announcer, a.nodes}
	config.Local = a.kube.Clock.Local
	config.Now, config.Metrics = a.kube.Clock.Now, observer.NewMetrics(a.registry)
	if a.observer, err = observer.New(config); err != nil {
		return fmt.Errorf("making the observer: %w", err)
	}
	return nil
}

// observe observes usage if the policy needs it.
func (a *App) observe(ctx context.Context, g *generation) error {
	if a.parts.evicting && !a.parts.onlyRealUsage && a.answerer == nil && !g.readsUsage() && !g.publishesUsage() {
		return nil
	}
	return a.observer.Run(ctx)
}

// reflect feeds the observer from its own watches.
func (a *App) reflect(ctx context.Context) error {
	a.observer.Store().Reflect(ctx, a.kube.ListWatch("nodes"), a.kube.ListWatch("pods"))
	return nil
}

// heartbeat reports progress while observations come, and before they can: until
// nodes and pods are known the process waits for the API server.
func (a *App) heartbeat(ctx context.Context) error {
	var seen *observer.Observation // compared by pointer: its time is by a clock that may be set back
	wait.UntilWithContext(ctx, func(context.Context) {
		if latest := a.observer.Latest(); latest != seen || !a.observer.Store().Synced() {
			seen = latest
			a.health.Progress()
		}
	}, time.Second)
	return nil
}

// observerConfig returns the policy's settings for observing.
func (a *App) observerConfig(g *generation) (observer.Config, error) {
	config, err := settings.Observing(g.load, policy.RealUsageArgs(g.profiles))
	if err != nil {
		return config, policyfile.Invalid(a.options.PolicyFile, err.Error())
	}
	config.Usage.SignalsOnly = g.signalsOnly
	if a.options.Recording {
		config.Usage.Startup = 0
	}
	selector, err := runner.NodeSelector(g.profiles.NodeSelector)
	if err != nil {
		return config, policyfile.Invalid(a.options.PolicyFile, err.Error())
	}
	config.Taints.Selects = func(of map[string]string) bool { return selector.Matches(labels.Set(of)) }
	config.Reads = g.samples()
	config.Sources, err = a.makeSources(g)
	return config, err
}

// makeSources makes the usage sources, in order.
func (a *App) makeSources(g *generation) ([]observer.Source, error) {
	var sources []observer.Source
	for i, asked := range provided(g.askedSources(), g.profiles) {
		reader, err := kinds.New(asked.Config, a.sourceEnv(g, &asked))
		if err != nil {
			return nil, exit.Usagef("%s: usage.sources[%d] (%s): %w", a.options.PolicyFile, i, asked.Type, err)
		}
		sources = append(sources, reader)
	}
	return sources, nil
}

// sourceEnv returns what a source needs to read.
func (a *App) sourceEnv(g *generation, source *policy.Source) *access.Env {
	u := &g.load.Usage
	env := access.Env{
		REST: a.kube.REST, ReadSecret: a.kube.Secret, Now: a.kube.Clock.Now, WithholdCredentials: a.options.withholdCredentials,
		RequestToken: a.kube.TokensIn(cmp.Or(a.options.Namespace, DefaultNamespace)),
		Timeout:      u.TimeoutOf(source), MaxAge: u.MaxAgeOf(source), Interval: u.SampleInterval.Duration, QueriesPerSecond: u.QueriesPerSecond,
		NodesOnly: a.options.MemoryOnly || g.signalsOnly, EveryNode: g.signalsOnly,
	}
	if !g.signalsOnly { // five-minute means are always needed
		env.Windows, env.Metrics = []usage.Window{usage.Avg5m}, []usage.Metric{usage.CPU, usage.Memory}
	}
	for _, w := range settings.Windows(g.load) {
		if !slices.Contains(env.Windows, w) {
			env.Windows = append(env.Windows, w)
		}
	}
	if env.Metrics = append(env.Metrics, settings.Signals(g.load)...); a.options.MemoryOnly {
		env.Metrics = []usage.Metric{usage.Memory} // nothing else is used, and the names of others need not exist
	}
	return &env
}

// provided completes Prometheus sources without an address with the server of
// upstream's metricsProviders.
func provided(sources []policy.Source, profiles *api.DeschedulerPolicy) []policy.Source {
	server := runner.PrometheusOf(profiles)
	sources = slices.Clone(sources)
	for i := range sources {
		given, ok := sources[i].Config.(*prometheus.Config)
		if !ok || given.Address != "" || server == nil {
			continue
		}
		config := *given
		if config.Address = server.URL; config.BearerTokenFile == "" && config.BearerTokenSecret == (source.SecretKey{}) && config.BasicAuth.Username == "" {
			config.BearerTokenFile, config.BearerTokenSecret = providedToken(server)
		}
		sources[i].Config = &config
	}
	return sources
}

// serviceAccountTokenFile is where a pod finds the token of its ServiceAccount.
const serviceAccountTokenFile = "/var/run/secrets/kubernetes.io/serviceaccount/token"

// providedToken returns what upstream authenticates with: the token of the
// Secret that the policy names, else that of the pod's ServiceAccount, but not
// over plain HTTP.
func providedToken(server *api.Prometheus) (file string, secret source.SecretKey) {
	if server.AuthToken != nil && server.AuthToken.SecretReference != nil {
		ref := server.AuthToken.SecretReference
		return "", source.SecretKey{Namespace: ref.Namespace, Name: ref.Name, Key: runner.PrometheusTokenKey}
	}
	if _, err := os.Stat(serviceAccountTokenFile); err != nil || !runner.SendsOwnToken(server) {
		return "", source.SecretKey{}
	}
	return serviceAccountTokenFile, source.SecretKey{}
}
