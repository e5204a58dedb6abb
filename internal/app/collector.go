package app

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"
	metricsclient "k8s.io/metrics/pkg/client/clientset/versioned"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/descheduler/metricscollector"
)

// collector serves upstream plugins that read metrics.k8s.io themselves. It runs only when the policy names that provider.
type collector struct {
	metrics *metricscollector.MetricsCollector
}

func newCollector(p *api.DeschedulerPolicy, config *rest.Config, factory informers.SharedInformerFactory) (*collector, error) {
	wanted := p.MetricsCollector != nil && p.MetricsCollector.Enabled
	for _, provider := range p.MetricsProviders {
		switch provider.Source {
		case api.KubernetesMetrics:
			wanted = true
		case api.PrometheusMetrics:
			return nil, &UsageError{fmt.Errorf("metricsProviders: source %q is not supported yet; use %q", provider.Source, api.KubernetesMetrics)}
		}
	}
	if !wanted {
		return &collector{}, nil
	}
	client, err := metricsclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making the metrics client: %w", err)
	}
	selector := labels.Everything()
	if p.NodeSelector != nil {
		if selector, err = labels.Parse(*p.NodeSelector); err != nil {
			return nil, &UsageError{fmt.Errorf("nodeSelector: %w", err)}
		}
	}
	return &collector{metricscollector.NewMetricsCollector(factory.Core().V1().Nodes().Lister(), client, selector)}, nil
}

// run collects until the context ends.
func (c *collector) run(ctx context.Context) error {
	if c.metrics != nil {
		c.metrics.Run(ctx)
	}
	return nil
}
