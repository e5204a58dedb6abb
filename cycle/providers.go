package cycle

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	promapi "github.com/prometheus/client_golang/api"
	"github.com/prometheus/common/config"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	metricsclient "k8s.io/metrics/pkg/client/clientset/versioned"
	"sigs.k8s.io/descheduler/pkg/api"
	deschedulerclient "sigs.k8s.io/descheduler/pkg/descheduler/client"
	"sigs.k8s.io/descheduler/pkg/descheduler/metricscollector"
)

// providers are the policy's metricsProviders, for upstream plugins that read
// metrics themselves. Evenkeel's own plugin reads the observer.
type providers struct {
	collector  *metricscollector.MetricsCollector // nil unless the policy names KubernetesMetrics
	prometheus *prometheusProvider                // nil unless the policy names Prometheus
}

// PrometheusOf returns the Prometheus of a policy's metricsProviders; nil if
// there is none.
func PrometheusOf(policy *api.DeschedulerPolicy) *api.Prometheus {
	for _, provider := range policy.MetricsProviders {
		if provider.Source == api.PrometheusMetrics && provider.Prometheus != nil && provider.Prometheus.URL != "" {
			return provider.Prometheus
		}
	}
	return nil
}

// newProviders returns the policy's providers. nodes selects the nodes that the
// collector reads.
func newProviders(config Config, kube kubernetes.Interface, nodes labels.Selector) (*providers, error) {
	p := &providers{}
	if server := PrometheusOf(config.Policy); server != nil {
		p.prometheus = newPrometheusProvider(kube, server)
	}
	kubernetesMetrics := config.Policy.MetricsCollector != nil && config.Policy.MetricsCollector.Enabled ||
		slices.ContainsFunc(config.Policy.MetricsProviders, func(m api.MetricsProvider) bool { return m.Source == api.KubernetesMetrics })
	if !kubernetesMetrics {
		return p, nil
	}
	client, err := metricsclient.NewForConfig(rest.CopyConfig(config.REST))
	if err != nil {
		return nil, fmt.Errorf("making the metrics client: %w", err)
	}
	p.collector = metricscollector.NewMetricsCollector(config.Informers.Core().V1().Nodes().Lister(), client, nodes)
	return p, nil
}

// collectorTimeout bounds the first collection.
const collectorTimeout = time.Minute

// ready waits for the first collection and rereads the Prometheus token. It is
// called before each cycle.
func (p *providers) ready(ctx context.Context) error {
	if p.collector != nil {
		err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, collectorTimeout, true, func(context.Context) (bool, error) {
			return p.collector.HasSynced(), nil
		})
		if err != nil {
			return errors.New("metricsProviders: KubernetesMetrics has returned no metrics")
		}
	}
	if p.prometheus != nil {
		return p.prometheus.refresh(ctx)
	}
	return nil
}

// secretTimeout bounds reading a token from a Secret.
const secretTimeout = 30 * time.Second

// PrometheusTokenKey is the Secret key in which upstream's policies keep the
// token.
const PrometheusTokenKey = "prometheusAuthToken"

// prometheusProvider makes upstream's own Prometheus client, with the token
// from the Secret in the policy or otherwise from the pod's ServiceAccount.
// Cycles use it one at a time.
type prometheusProvider struct {
	url       string
	readToken func(context.Context) (string, error)
	create    func(url, token string) (promapi.Client, *http.Transport, error)

	token     string
	client    promapi.Client
	transport *http.Transport
}

func newPrometheusProvider(client kubernetes.Interface, server *api.Prometheus) *prometheusProvider {
	p := &prometheusProvider{url: server.URL, create: prometheusClient, readToken: noToken}
	switch {
	case server.AuthToken != nil && server.AuthToken.SecretReference != nil:
		p.readToken = secretToken(client, *server.AuthToken.SecretReference)
	case SendsOwnToken(server):
		p.readToken = serviceAccountToken
	}
	return p
}

// SendsOwnToken reports whether the pod's own token is sent to a policy's Prometheus.
// Like upstream, Evenkeel sends it unless the policy names a Secret. Over plain HTTP it
// is not sent, because anyone on the network path could read it and use it to evict pods.
func SendsOwnToken(server *api.Prometheus) bool {
	return (server.AuthToken == nil || server.AuthToken.SecretReference == nil) && strings.HasPrefix(strings.ToLower(server.URL), "https://")
}

// prometheusClient returns upstream's client, but restricted so that the token
// stays with its server.
func prometheusClient(url, token string) (promapi.Client, *http.Transport, error) {
	client, transport, err := deschedulerclient.CreatePrometheusClient(url, token)
	if err == nil && token != "" {
		client, err = authenticated(url, token, transport)
	}
	return client, transport, err //nolint:wrapcheck // the caller says which server
}

// authenticated returns a client that follows no redirects. Upstream's client follows
// them and sends the token to any host.
func authenticated(url, token string, transport http.RoundTripper) (promapi.Client, error) {
	return promapi.NewClient(promapi.Config{Address: url, Client: &http.Client{ //nolint:wrapcheck // the caller says which server
		Transport:     config.NewAuthorizationCredentialsRoundTripper("Bearer", config.NewInlineSecret(token), transport),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}})
}

func noToken(context.Context) (string, error) { return "", nil }

func serviceAccountToken(context.Context) (string, error) {
	config, err := rest.InClusterConfig()
	if err != nil {
		return "", fmt.Errorf("reading the ServiceAccount's token: %w", err)
	}
	return config.BearerToken, nil
}

func secretToken(client kubernetes.Interface, ref api.SecretReference) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, secretTimeout)
		defer cancel()
		secret, err := client.CoreV1().Secrets(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return "", fmt.Errorf("reading the token for Prometheus: %w", err)
		}
		token := string(secret.Data[PrometheusTokenKey])
		if token == "" {
			return "", fmt.Errorf("reading the token for Prometheus: Secret %s/%s has no %q", ref.Namespace, ref.Name, PrometheusTokenKey)
		}
		return token, nil
	}
}

// refresh rereads the token and makes a new client if it has changed.
func (p *prometheusProvider) refresh(ctx context.Context) error {
	token, err := p.readToken(ctx)
	if err != nil {
		return err
	}
	if p.client != nil && token == p.token {
		return nil
	}
	client, transport, err := p.create(p.url, token)
	if err != nil {
		return fmt.Errorf("making the Prometheus client for %s: %w", p.url, err)
	}
	if p.transport != nil {
		p.transport.CloseIdleConnections()
	}
	p.token, p.client, p.transport = token, client, transport
	return nil
}

// clients returns a function that returns this cycle's Prometheus client; nil
// unless the policy names Prometheus.
func (p *providers) clients() func() promapi.Client {
	if p.prometheus == nil {
		return nil
	}
	return func() promapi.Client { return p.prometheus.client }
}
