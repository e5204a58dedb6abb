package app

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"

	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/internal/access"
	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/internal/settings"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/usage"
	"github.com/evenkeel/evenkeel/usage/prometheus"
)

func (a *App) prometheus(source *policy.Source) (observer.Source, error) {
	config := source.Prometheus
	reach := prometheusAccess(config)
	address := config.Address
	if address == "" {
		provided := providedPrometheus(a.profiles)
		if provided == nil {
			return nil, errors.New("prometheus.address: must be set, because the DeschedulerPolicy's metricsProviders name no Prometheus; nodesync takes it from --prom as well")
		}
		address = provided.URL
		if reach.BearerToken == (access.Credential{}) && reach.Username == "" {
			reach.BearerToken = providedToken(provided)
		}
	}
	client, err := a.accessClient(reach)
	if err != nil {
		return nil, err
	}
	return prometheus.New(prometheus.Config{
		Client: client, Address: address, Timeout: a.load.Usage.TimeoutOf(source), MaxAge: a.load.Usage.MaxAgeOf(source),
		QueriesPerSecond: a.load.Usage.QueriesPerSecond,
		Windows:          a.prometheusWindows(), Metrics: a.prometheusMetrics(config), NodesOnly: a.options.MemoryOnly || a.signalsOnly(),
		EveryNode: a.signalsOnly(),
		Preset:    prometheus.Preset(config.NodeMetrics), RateWindow: config.RateWindow.Duration,
		NodeLabel: config.NodeLabel, NamespaceLabel: config.NamespaceLabel, PodLabel: config.PodLabel,
		Queries: queries(config.Queries.Nodes), PodQueries: queries(config.Queries.Pods), Now: a.kube.Clock.Now,
	})
}

// prometheusWindows are those that somebody judges by; where resources are judged, means of five minutes are always needed.
func (a *App) prometheusWindows() []usage.Window {
	var windows []usage.Window
	if !a.signalsOnly() {
		windows = append(windows, usage.Avg5m)
	}
	for _, w := range settings.Windows(a.load) {
		if !slices.Contains(windows, w) {
			windows = append(windows, w)
		}
	}
	return windows
}

// prometheusMetrics are those of the wanted metrics that there are queries for.
func (a *App) prometheusMetrics(config *policy.PrometheusSource) []usage.Metric {
	if a.options.MemoryOnly { // nothing else is judged, and others' names need not be there
		return []usage.Metric{usage.Memory}
	}
	var metrics []usage.Metric
	if !a.signalsOnly() {
		metrics = append(metrics, usage.CPU, usage.Memory)
	}
	known := []usage.Metric{usage.CPUPressure, usage.MemoryPressure, usage.IOPressure}
	for _, signal := range settings.Signals(a.load) {
		_, asked := config.Queries.Nodes[signal]
		if asked || config.NodeMetrics == policy.NamesNodeExporter && slices.Contains(known, signal) {
			metrics = append(metrics, signal)
		}
	}
	return metrics
}

func queries(given map[usage.Metric]policy.Query) map[usage.Metric]prometheus.Query {
	out := make(map[usage.Metric]prometheus.Query, len(given))
	for metric, query := range given {
		out[metric] = prometheus.Query{Expression: query.Expr, Windows: query.Windows, Unit: prometheus.Unit(query.Unit)}
	}
	return out
}

// accessClient makes a client for a source, which calls itself Evenkeel.
func (a *App) accessClient(reach access.Config) (*http.Client, error) {
	reach.UserAgent, reach.ReadSecret, reach.Now = a.kube.REST.UserAgent, a.secret, a.kube.Clock.Now
	client, err := access.New(reach)
	if err != nil {
		return nil, fmt.Errorf("making its client: %w", err)
	}
	return client, nil
}

func prometheusAccess(config *policy.PrometheusSource) access.Config {
	return access.Config{
		Name:        "prometheus",
		BearerToken: access.Credential{File: config.BearerTokenFile, Secret: access.SecretKey(config.BearerTokenSecret)},
		Username:    config.BasicAuth.Username,
		Password:    access.Credential{File: config.BasicAuth.PasswordFile, Secret: access.SecretKey(config.BasicAuth.PasswordSecret)},
		TLS:         access.TLS(config.TLS),
		Headers:     config.Headers,
	}
}

func nodeMetricsAccess(config *policy.NodeMetricsSource) access.Config {
	return access.Config{
		Name:        "node-metrics",
		BearerToken: access.Credential{File: config.BearerTokenFile},
		TLS:         access.TLS(config.TLS),
		Headers:     config.Headers,
	}
}

// providedPrometheus is the Prometheus of upstream's metricsProviders; nil where they name none.
func providedPrometheus(profiles *api.DeschedulerPolicy) *api.Prometheus {
	for _, provider := range profiles.MetricsProviders {
		if provider.Source == api.PrometheusMetrics && provider.Prometheus != nil && provider.Prometheus.URL != "" {
			return provider.Prometheus
		}
	}
	return nil
}

// serviceAccountTokenFile is where a pod finds the token of its ServiceAccount.
const serviceAccountTokenFile = "/var/run/secrets/kubernetes.io/serviceaccount/token" //nolint:gosec // a path, no token

// providedToken is what upstream authenticates with: the token of the Secret that the policy names, else of the pod's
// ServiceAccount.
func providedToken(provided *api.Prometheus) access.Credential {
	if provided.AuthToken != nil && provided.AuthToken.SecretReference != nil {
		ref := provided.AuthToken.SecretReference
		return access.Credential{Secret: access.SecretKey{Namespace: ref.Namespace, Name: ref.Name, Key: prometheusTokenKey}}
	}
	if _, err := os.Stat(serviceAccountTokenFile); err != nil {
		return access.Credential{}
	}
	return access.Credential{File: serviceAccountTokenFile}
}
