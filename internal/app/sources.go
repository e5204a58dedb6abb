package app

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/internal/settings"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/usage"
	"github.com/evenkeel/evenkeel/usage/access"
	"github.com/evenkeel/evenkeel/usage/kinds"
	"github.com/evenkeel/evenkeel/usage/metricsserver"
	"github.com/evenkeel/evenkeel/usage/prometheus"
	"github.com/evenkeel/evenkeel/usage/source"
)

// makeSources makes the usage sources in their order.
func (a *App) makeSources() ([]observer.Source, error) {
	var sources []observer.Source
	for i, asked := range provided(a.askedSources(), a.profiles) {
		reader, err := kinds.New(asked.Config, a.sourceEnv(&asked))
		if err != nil {
			return nil, exit.Usagef("%s: usage.sources[%d] (%s): %w", a.options.PolicyFile, i, asked.Type, err)
		}
		sources = append(sources, reader)
	}
	return sources, nil
}

// sourceEnv is what a source is given to read with.
func (a *App) sourceEnv(source *policy.Source) *access.Env {
	u := &a.load.Usage
	env := access.Env{
		REST: a.kube.REST, ReadSecret: a.secret, Now: a.kube.Clock.Now,
		Timeout: u.TimeoutOf(source), MaxAge: u.MaxAgeOf(source), Interval: u.SampleInterval.Duration, QueriesPerSecond: u.QueriesPerSecond,
		NodesOnly: a.options.MemoryOnly || a.signalsOnly(), EveryNode: a.signalsOnly(),
	}
	if !a.signalsOnly() { // means of five minutes are always needed
		env.Windows, env.Metrics = []usage.Window{usage.Avg5m}, []usage.Metric{usage.CPU, usage.Memory}
	}
	for _, w := range settings.Windows(a.load) {
		if !slices.Contains(env.Windows, w) {
			env.Windows = append(env.Windows, w)
		}
	}
	if env.Metrics = append(env.Metrics, settings.Signals(a.load)...); a.options.MemoryOnly {
		env.Metrics = []usage.Metric{usage.Memory} // nothing else is judged, and others' names need not be there
	}
	return &env
}

// askedSources are the usage sources in their order: those of the policy, or
// upstream's metricsProviders where it names none.
func (a *App) askedSources() []policy.Source {
	var sources []policy.Source
	for _, provider := range a.profiles.MetricsProviders {
		switch provider.Source {
		case api.KubernetesMetrics:
			sources = append(sources, policy.NewSource(metricsserver.Name, kinds.All))
		case api.PrometheusMetrics:
			sources = append(sources, policy.NewSource(prometheus.Name, kinds.All))
		}
	}
	if a.sourcesGiven || len(sources) == 0 {
		return a.load.Usage.Sources
	}
	return sources
}

// provided lays the Prometheus of upstream's metricsProviders under the
// sources.
func provided(sources []policy.Source, profiles *api.DeschedulerPolicy) []policy.Source {
	server := providedPrometheus(profiles)
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

// providedPrometheus is the Prometheus of upstream's metricsProviders; nil
// where they name none.
func providedPrometheus(profiles *api.DeschedulerPolicy) *api.Prometheus {
	for _, provider := range profiles.MetricsProviders {
		if provider.Source == api.PrometheusMetrics && provider.Prometheus != nil && provider.Prometheus.URL != "" {
			return provider.Prometheus
		}
	}
	return nil
}

// serviceAccountTokenFile is where a pod finds the token of its ServiceAccount.
const serviceAccountTokenFile = "/var/run/secrets/kubernetes.io/serviceaccount/token"

// providedToken is what upstream authenticates with: the token of the Secret
// that the policy names, else of the pod's ServiceAccount.
func providedToken(server *api.Prometheus) (file string, secret source.SecretKey) {
	if server.AuthToken != nil && server.AuthToken.SecretReference != nil {
		ref := server.AuthToken.SecretReference
		return "", source.SecretKey{Namespace: ref.Namespace, Name: ref.Name, Key: prometheusTokenKey}
	}
	if _, err := os.Stat(serviceAccountTokenFile); err != nil {
		return "", source.SecretKey{}
	}
	return serviceAccountTokenFile, source.SecretKey{}
}

// secret reads one value of a Secret.
func (a *App) secret(ctx context.Context, namespace, name, key string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	secret, err := a.kube.Client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("reading Secret %s/%s: %w", namespace, name, err)
	}
	value, ok := secret.Data[key]
	if !ok {
		return "", fmt.Errorf("reading Secret %s/%s: it has no key %q", namespace, name, key)
	}
	return strings.TrimSpace(string(value)), nil
}
