package serve

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/evenkeel/evenkeel/scorer/extender"
)

// The values of Exposition.Access.
const (
	MetricsOpen       = "open"
	MetricsAuthorized = "authorized"
	MetricsOff        = "off"
)

// Exposition serves probes to the kubelet and metrics to Prometheus.
type Exposition struct {
	// Address is the listen address; empty and "0" disable it.
	Address string
	// Access determines who may read /metrics: everyone, clients that the API server of
	// REST authorizes, or nobody.
	Access string
	REST   *rest.Config
	Health *Health
	// Registry holds Evenkeel's metrics.
	Registry prometheus.Gatherer
}

// Run serves until the context ends, with HTTPS if tokens are read, otherwise with HTTP.
func (e *Exposition) Run(ctx context.Context) error {
	metrics := Metrics(e.Registry)
	switch e.Access {
	case MetricsOff:
		metrics = nil
	case MetricsAuthorized:
		metrics, err := Authorized(e.REST, metrics)
		if err != nil {
			return err
		}
		secured, err := SelfSigned("evenkeel")
		if err != nil {
			return err
		}
		return extender.Listen(ctx, e.Address, "metrics", Probes(e.Health, metrics), secured)
	}
	return extender.Listen(ctx, e.Address, "metrics", Probes(e.Health, metrics))
}
