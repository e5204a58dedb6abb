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

// Exposition is what the kubelet and Prometheus read of a process.
type Exposition struct {
	// Address is where; empty and "0" are nowhere.
	Address string
	// Access says who reads /metrics: everybody, those whom the API server that
	// REST names lets do so, or nobody.
	Access string
	REST   *rest.Config
	Health *Health
	// Registry has Evenkeel's metrics.
	Registry prometheus.Gatherer
}

// Run serves until the context ends: HTTPS where tokens are read, else HTTP.
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
