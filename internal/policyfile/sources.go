package policyfile

import (
	"os"
	"slices"

	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/cycle"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/observe/usage/metricsserver"
	"github.com/evenkeel/evenkeel/observe/usage/prometheus"
	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy"
)

// AskedSources returns the usage sources in order: those of the policy or, if it names
// none, those of upstream's metricsProviders.
func AskedSources(file *policy.File, profiles *api.DeschedulerPolicy) []policy.Source {
	var sources []policy.Source
	for _, provider := range profiles.MetricsProviders {
		switch provider.Source {
		case api.KubernetesMetrics:
			sources = append(sources, policy.NewSource(metricsserver.Name, kinds.All))
		case api.PrometheusMetrics:
			sources = append(sources, policy.NewSource(prometheus.Name, kinds.All))
		}
	}
	if file.SourcesGiven || len(sources) == 0 {
		return file.Load.Usage.Sources
	}
	return sources
}

// ReadSources returns the sources of AskedSources, completed with settings from the
// DeschedulerPolicy.
func ReadSources(file *policy.File, profiles *api.DeschedulerPolicy) []policy.Source {
	return provided(AskedSources(file, profiles), profiles)
}

// provided fills in the address of Prometheus sources that have none with the server of
// upstream's metricsProviders.
func provided(sources []policy.Source, profiles *api.DeschedulerPolicy) []policy.Source {
	server := cycle.PrometheusOf(profiles)
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

// serviceAccountTokenFile is the file that contains the token of a pod's ServiceAccount.
const serviceAccountTokenFile = "/var/run/secrets/kubernetes.io/serviceaccount/token"

// providedToken returns the credentials that upstream uses: the token in the
// policy's Secret, otherwise the pod's ServiceAccount token, but not over plain
// HTTP.
func providedToken(server *api.Prometheus) (file string, secret source.SecretKey) {
	if server.AuthToken != nil && server.AuthToken.SecretReference != nil {
		ref := server.AuthToken.SecretReference
		return "", source.SecretKey{Namespace: ref.Namespace, Name: ref.Name, Key: cycle.PrometheusTokenKey}
	}
	if _, err := os.Stat(serviceAccountTokenFile); err != nil || !cycle.SendsOwnToken(server) {
		return "", source.SecretKey{}
	}
	return serviceAccountTokenFile, source.SecretKey{}
}
