package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"
	metricsclient "k8s.io/metrics/pkg/client/clientset/versioned"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/descheduler/metricscollector"

	"github.com/evenkeel/evenkeel/internal/exit"
)

// providers are the policy's metricsProviders, for upstream plugins that read metrics themselves. Evenkeel's own plugin
// reads the observer.
type providers struct {
	collector  *metricscollector.MetricsCollector // nil unless the policy names KubernetesMetrics
	prometheus *prometheusProvider                // nil unless the policy names Prometheus
}

func (a *App) newProviders(factory informers.SharedInformerFactory) (*providers, error) {
	p := &providers{}
	kubernetesMetrics := a.profiles.MetricsCollector != nil && a.profiles.MetricsCollector.Enabled
	for _, provider := range a.profiles.MetricsProviders {
		switch {
		case provider.Source == api.KubernetesMetrics:
			kubernetesMetrics = true
		case provider.Source == api.PrometheusMetrics && provider.Prometheus != nil && provider.Prometheus.URL != "":
			p.prometheus = newPrometheusProvider(a.kube.Client, provider.Prometheus)
		}
	}
	if !kubernetesMetrics {
		return p, nil
	}
	client, err := metricsclient.NewForConfig(rest.CopyConfig(a.kube.REST))
	if err != nil {
		return nil, fmt.Errorf("making the metrics client: %w", err)
	}
	selector := labels.Everything()
	if s := a.profiles.NodeSelector; s != nil {
		if selector, err = labels.Parse(*s); err != nil {
			return nil, exit.Usagef("nodeSelector: %w", err)
		}
	}
	p.collector = metricscollector.NewMetricsCollector(factory.Core().V1().Nodes().Lister(), client, selector)
	return p, nil
}

// run collects until the context ends.
func (p *providers) run(ctx context.Context) error {
	if p.collector != nil {
		p.collector.Run(ctx)
	}
	return nil
}

// collectorTimeout is how long the first collection may take.
const collectorTimeout = time.Minute

// ready waits for the first collection and reads the token for Prometheus again; call it before each cycle.
func (p *providers) ready(ctx context.Context) error {
	if p.collector != nil {
		err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, collectorTimeout, true, func(context.Context) (bool, error) {
			return p.collector.HasSynced(), nil
		})
		if err != nil {
			return errors.New("metricsProviders: KubernetesMetrics has delivered nothing")
		}
	}
	if p.prometheus != nil {
		return p.prometheus.refresh(ctx)
	}
	return nil
}
