package kubelet

import (
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"

	"github.com/evenkeel/evenkeel/policy/check"
	"github.com/evenkeel/evenkeel/usage"
	"github.com/evenkeel/evenkeel/usage/source"
)

// Name is the source's name in policies, output and metrics.
const Name = "Kubelet"

// Endpoint is what of a kubelet is read.
type Endpoint string

// The endpoints of a kubelet.
const (
	// Summary is /stats/summary, and /metrics/resource where a node does not
	// give it.
	Summary Endpoint = "Summary"
	// Resource is /metrics/resource alone, which costs a kubelet less but has
	// no pressure, and CPU usage from the second reading on.
	Resource Endpoint = "Resource"
)

// Config is how kubelets are asked.
type Config struct {
	// Scheme is https or http.
	Scheme source.Scheme `json:"scheme"`
	// Port is where kubelets listen: 1 to 65535; 0: where each node says.
	Port int32 `json:"port"`
	// Concurrency bounds how many nodes are asked at a time: 1 to 500.
	Concurrency int `json:"concurrency"`
	// Endpoint is what is read: Summary (/stats/summary, which has pressures
	// too) or Resource (/metrics/resource).
	Endpoint Endpoint `json:"endpoint"`
	// TLS is how kubelets are checked and what is shown to them; only with
	// https.
	TLS source.TLS `json:"tls"`
	// BearerTokenFile holds the token sent with each request; it is read again
	// when it changes. Empty: Evenkeel's own credentials for the API server.
	BearerTokenFile string `json:"bearerTokenFile"`
}

var _ source.Config = (*Config)(nil)

// Default implements source.Config.
func (*Config) Default() source.Config {
	return &Config{Scheme: source.HTTPS, Concurrency: 25, Endpoint: Summary}
}

// Validate implements source.Config.
func (c *Config) Validate(path *field.Path, _ []usage.Metric) field.ErrorList {
	errs := check.OneOf(path.Child("scheme"), c.Scheme, source.HTTPS, source.HTTP)
	errs = append(errs, check.Between(path.Child("port"), c.Port, 0, 65535)...)
	errs = append(errs, check.Between(path.Child("concurrency"), c.Concurrency, 1, 500)...)
	errs = append(errs, check.OneOf(path.Child("endpoint"), c.Endpoint, Summary, Resource)...)
	return append(errs, c.TLS.Validate(path.Child("tls"), c.Scheme == source.HTTP)...)
}

// Describe implements source.Config.
func (c *Config) Describe() source.Description {
	d := source.Description{
		Name: Name, TLS: c.TLS, Advice: map[source.Topic]string{
			source.Refused:      " Kubelets listen at the port that each node states, usually 10250.",
			source.Unauthorized: "Kubelets must have webhook authentication (--authentication-token-webhook), or be shown a client certificate (kubelet.tls).",
			source.Forbidden:    "Kubelets ask the API server whether it may get nodes/stats and nodes/metrics: see under permissions.",
			source.NotFound:     "It does not serve what is asked for: see the version of the kubelets, and kubelet.endpoint.",
			source.Lacking: "/metrics/resource counts CPU, so that usage is known from the second reading on. For a one-shot run let kubelets be asked\n" +
				"for /stats/summary: kubelet.endpoint: Summary, and the permission get nodes/stats.",
			source.Unmatched: "These kubelets do not answer: see what is said of them under coverage.",
		},
	}
	metrics := source.Right{Verb: "get", Resource: "nodes/metrics"}
	if c.Endpoint == Summary {
		d.Signals = []usage.Metric{usage.CPUPressure, usage.MemoryPressure, usage.IOPressure}
		metrics.Without = "It is asked for only where /stats/summary is refused."
		d.Rights = []source.Right{{
			Verb: "get", Resource: "nodes/stats",
			Without: "What is allowed gives less: no pressure, and CPU only from the second reading on.",
		}}
	}
	if d.Rights = append(d.Rights, metrics); c.BearerTokenFile != "" {
		d.Rights = nil // the token's owner has rights of its own
	}
	return d
}

// client returns a client with Evenkeel's credentials for the API server,
// unless the policy gives others. Kubelets' certificates are checked against
// the cluster's authority in the same way.
func (c *Config) client(api *rest.Config) (*http.Client, error) {
	own := rest.CopyConfig(api)
	if c.Scheme == source.HTTP { // never send our own credentials in clear text
		own = &rest.Config{UserAgent: api.UserAgent}
	}
	own.TLSClientConfig.ServerName = c.TLS.ServerName
	own.QPS, own.Burst, own.Timeout = -1, 0, 0 // the source sets its own limits
	if c.BearerTokenFile != "" {
		own.BearerToken, own.BearerTokenFile = "", c.BearerTokenFile
	}
	if c.TLS.CAFile != "" {
		own.TLSClientConfig.CAData, own.TLSClientConfig.CAFile = nil, c.TLS.CAFile
	}
	if c.TLS.CertFile != "" {
		own.TLSClientConfig.CertData, own.TLSClientConfig.CertFile = nil, c.TLS.CertFile
		own.TLSClientConfig.KeyData, own.TLSClientConfig.KeyFile = nil, c.TLS.KeyFile
	}
	if c.TLS.InsecureSkipVerify {
		own.TLSClientConfig.Insecure, own.TLSClientConfig.CAData, own.TLSClientConfig.CAFile = true, nil, ""
	}
	client, err := rest.HTTPClientFor(own)
	if err != nil {
		return nil, fmt.Errorf("making the client for kubelets: %w", err)
	}
	return client, nil
}
