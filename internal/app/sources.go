package app

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/usage/annotations"
	"github.com/evenkeel/evenkeel/usage/kubelet"
	"github.com/evenkeel/evenkeel/usage/metricsserver"
	"github.com/evenkeel/evenkeel/usage/nodemetrics"
)

// makeSource makes one kind of usage source from its part of the policy.
type makeSource func(a *App, source *policy.Source) (observer.Source, error)

// kinds are the usage sources; a new one is a line here.
var kinds = map[policy.SourceType]makeSource{
	policy.SourceMetricsServer: (*App).metricsServer,
	policy.SourceKubelet:       (*App).kubelet,
	policy.SourceNodeMetrics:   (*App).nodeMetrics,
	policy.SourceAnnotations:   (*App).annotations,
	policy.SourcePrometheus:    (*App).prometheus,
}

// makeSources makes the usage sources of the policy in their order. Where the policy names none, upstream's
// metricsProviders are taken for them.
func (a *App) makeSources() ([]observer.Source, error) {
	list := a.load.Usage.Sources
	if provided := providedSources(a.profiles); !a.sourcesGiven && len(provided) > 0 {
		list = provided
	}
	var sources []observer.Source
	for i := range list {
		path := fmt.Sprintf("usage.sources[%d] (%s)", i, list[i].Type)
		source, err := kinds[list[i].Type](a, &list[i])
		if err != nil {
			return nil, exit.Usagef("%s: %s: %w", a.options.PolicyFile, path, err)
		}
		sources = append(sources, source)
	}
	return sources, nil
}

// providedSources are upstream's metricsProviders as sources.
func providedSources(profiles *api.DeschedulerPolicy) []policy.Source {
	var sources []policy.Source
	for _, provider := range profiles.MetricsProviders {
		switch provider.Source {
		case api.KubernetesMetrics:
			sources = append(sources, policy.NewSource(policy.SourceMetricsServer))
		case api.PrometheusMetrics:
			sources = append(sources, policy.NewSource(policy.SourcePrometheus))
		}
	}
	return sources
}

func (a *App) metricsServer(source *policy.Source) (observer.Source, error) {
	return metricsserver.New(metricsserver.Config{
		REST:             a.kube.REST,
		QueriesPerSecond: float32(a.load.Usage.QueriesPerSecond),
		Timeout:          a.load.Usage.TimeoutOf(source),
		MaxAge:           a.load.Usage.MaxAgeOf(source),
		Now:              a.kube.Clock.Now,
	})
}

func (a *App) kubelet(source *policy.Source) (observer.Source, error) {
	config := source.Kubelet
	client, err := a.kubeletClient(config)
	if err != nil {
		return nil, err
	}
	endpoint := kubelet.Summary
	if config.Endpoint == policy.EndpointResource {
		endpoint = kubelet.Resource
	}
	return kubelet.New(kubelet.Config{
		Client: client, Scheme: string(config.Scheme), Port: int(config.Port), Endpoint: endpoint,
		Concurrency: config.Concurrency, Timeout: a.load.Usage.TimeoutOf(source), RoundTimeout: a.load.Usage.SampleInterval.Duration,
		MaxAge: a.load.Usage.MaxAgeOf(source), Now: a.kube.Clock.Now,
	})
}

// kubeletClient speaks to kubelets with the credentials that Evenkeel has for the API server, unless the policy gives
// others; kubelets' certificates are checked against the cluster's authority in the same way.
func (a *App) kubeletClient(config *policy.KubeletSource) (*http.Client, error) {
	own := rest.CopyConfig(a.kube.REST)
	if config.Scheme == policy.SchemeHTTP { // our own credentials are not for everybody to read
		own = &rest.Config{UserAgent: a.kube.REST.UserAgent}
	}
	own.TLSClientConfig.ServerName = config.TLS.ServerName
	own.QPS, own.Burst, own.Timeout = -1, 0, 0 // the source bounds itself
	if config.BearerTokenFile != "" {
		own.BearerToken, own.BearerTokenFile = "", config.BearerTokenFile
	}
	if config.TLS.CAFile != "" {
		own.TLSClientConfig.CAData, own.TLSClientConfig.CAFile = nil, config.TLS.CAFile
	}
	if config.TLS.CertFile != "" {
		own.TLSClientConfig.CertData, own.TLSClientConfig.CertFile = nil, config.TLS.CertFile
		own.TLSClientConfig.KeyData, own.TLSClientConfig.KeyFile = nil, config.TLS.KeyFile
	}
	if config.TLS.InsecureSkipVerify {
		own.TLSClientConfig.Insecure, own.TLSClientConfig.CAData, own.TLSClientConfig.CAFile = true, nil, ""
	}
	client, err := rest.HTTPClientFor(own)
	if err != nil {
		return nil, fmt.Errorf("making the client for kubelets: %w", err)
	}
	return client, nil
}

func (a *App) nodeMetrics(source *policy.Source) (observer.Source, error) {
	config := source.NodeMetrics
	client, err := a.accessClient(nodeMetricsAccess(config))
	if err != nil {
		return nil, err
	}
	unit := nodemetrics.Percent
	if config.Unit == policy.UnitFraction {
		unit = nodemetrics.Fraction
	}
	return nodemetrics.New(nodemetrics.Config{
		Client: client, Scheme: string(config.Scheme), Port: int(config.Port), Path: config.Path,
		Unit: unit, Concurrency: config.Concurrency,
		Timeout: a.load.Usage.TimeoutOf(source), RoundTimeout: a.load.Usage.SampleInterval.Duration,
		MaxAge: a.load.Usage.MaxAgeOf(source), Now: a.kube.Clock.Now,
	})
}

func (a *App) annotations(source *policy.Source) (observer.Source, error) {
	config := source.Annotations
	out := annotations.Config{
		Location: config.Location(), Unit: annotations.Unit(config.Unit), SyncPeriods: annotations.DefaultSyncPeriods(), Now: a.kube.Clock.Now,
	}
	for window, period := range config.Periods {
		name := window.String()
		out.SyncPeriods[name[strings.LastIndexByte(name, '_')+1:]] = period.Duration
	}
	return annotations.New(out)
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
