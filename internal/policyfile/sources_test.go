package policyfile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/cycle"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/observe/usage/prometheus"
	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy"
)

// A Prometheus source without an address uses the address in metricsProviders. It also uses their
// token, unless it has its own credentials.
func TestProvidedPrometheus(t *testing.T) {
	profiles := &api.DeschedulerPolicy{MetricsProviders: []api.MetricsProvider{{
		Source: api.PrometheusMetrics, Prometheus: &api.Prometheus{
			URL: "http://theirs", AuthToken: &api.AuthToken{SecretReference: &api.SecretReference{Namespace: "mon", Name: "token"}},
		},
	}}}
	token := source.SecretKey{Namespace: "mon", Name: "token", Key: cycle.PrometheusTokenKey}
	own := source.SecretKey{Namespace: "mon", Name: "own", Key: "k"}
	cases := map[string]struct {
		given, want prometheus.Config
	}{
		"nothing given":       {prometheus.Config{}, prometheus.Config{Address: "http://theirs", BearerTokenSecret: token}},
		"a token file":        {prometheus.Config{BearerTokenFile: "f"}, prometheus.Config{Address: "http://theirs", BearerTokenFile: "f"}},
		"a token in a Secret": {prometheus.Config{BearerTokenSecret: own}, prometheus.Config{Address: "http://theirs", BearerTokenSecret: own}},
		"a password": {
			prometheus.Config{BasicAuth: source.BasicAuth{Username: "ali"}},
			prometheus.Config{Address: "http://theirs", BasicAuth: source.BasicAuth{Username: "ali"}},
		},
		"an address": {prometheus.Config{Address: "http://ours"}, prometheus.Config{Address: "http://ours"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			sources := []policy.Source{{Type: prometheus.Name, Config: &tc.given}, policy.NewSource("MetricsServer", kinds.All)}
			given := tc.given
			got := provided(sources, profiles)
			if diff := cmp.Diff(&tc.want, got[0].Config); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(given, tc.given); diff != "" || got[1] != sources[1] {
				t.Errorf("what was given has changed (-want +got):\n%s", diff)
			}
		})
	}
}
