package metricsserver

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/source"
)

// Name is the source's name in policies, output and metrics.
const Name = "MetricsServer"

// Config configures how the metrics.k8s.io API is queried; there are no
// settings.
type Config struct{}

var _ source.Config = (*Config)(nil)

// Default implements source.Config.
func (*Config) Default() source.Config { return new(Config) }

// Validate implements source.Config.
func (*Config) Validate(*field.Path, []usage.Metric) field.ErrorList { return nil }

// Describe implements source.Config.
func (*Config) Describe() source.Description {
	const logs = "kubectl -n kube-system logs deployment/metrics-server"
	return source.Description{
		Name: Name, Pods: "metrics-server",
		Rights: []source.Right{
			{Verb: "list", Group: "metrics.k8s.io", Resource: "nodes"},
			{Verb: "list", Group: "metrics.k8s.io", Resource: "pods"},
		},
		Hints: []source.Hint{
			{
				Texts:  []string{"could not find the requested resource", "404", "not found"},
				Advice: "The API metrics.k8s.io does not exist: install metrics-server, or take MetricsServer out of usage.sources.",
			},
			{
				Texts:  []string{"currently unable to handle", "503", "serviceunavailable", "no endpoints"},
				Advice: "metrics-server does not answer the API server:\nkubectl get apiservice v1beta1.metrics.k8s.io -o yaml\n" + logs,
			},
			{
				Texts:  []string{"forbidden", "unauthorized"},
				Advice: "It may not list nodes and pods of metrics.k8s.io: see the permissions check.",
			},
			{
				Texts:  []string{"context deadline exceeded", "timeout"},
				Advice: "It is too slow. Allow it more time:\nusage:\n  sources:\n    - type: MetricsServer\n      timeout: 30s",
			},
		},
		Advice: map[source.Topic]string{
			source.Empty:     "metrics-server has scraped nothing yet or cannot reach the kubelets: " + logs,
			source.Unmatched: "metrics-server does not reach the kubelets of these nodes: " + logs,
			source.Old:       "metrics-server --metric-resolution=15s",
		},
	}
}
