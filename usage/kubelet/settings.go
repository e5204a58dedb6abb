package kubelet

import (
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"

	"github.com/evenkeel/evenkeel/policy/check"
	"github.com/evenkeel/evenkeel/usage"
	"github.com/evenkeel/evenkeel/usage/access"
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
	// Endpoint is what is read: Summary (/stats/summary, which has pressures and
	// contention too) or Resource (/metrics/resource).
	Endpoint Endpoint `json:"endpoint"`
	// TLS is how kubelets are checked and what is shown to them; only with
	// https.
	TLS source.TLS `json:"tls"`
	// BearerTokenFile holds the token sent with each request; it is read again
	// when it changes. It or a client certificate takes the place of
	// serviceAccount.
	BearerTokenFile string `json:"bearerTokenFile"`
	// ServiceAccount is whose token kubelets get: one in Evenkeel's namespace,
	// which should have no right but to read usage, because whoever controls a
	// node can use it. Empty, or where the API server grants no such token:
	// Evenkeel's own credentials, which may evict.
	ServiceAccount string `json:"serviceAccount"`
}

// ServiceAccount is the name of the shipped ServiceAccount for kubelets.
const ServiceAccount = "evenkeel-kubelet-source"

var _ source.Config = (*Config)(nil)

// Default implements source.Config.
func (*Config) Default() source.Config {
	return &Config{Scheme: source.HTTPS, Concurrency: 25, Endpoint: Summary, ServiceAccount: ServiceAccount}
}

// Validate implements source.Config.
func (c *Config) Validate(path *field.Path, _ []usage.Metric) field.ErrorList {
	errs := check.OneOf(path.Child("scheme"), c.Scheme, source.HTTPS, source.HTTP)
	errs = append(errs, check.Between(path.Child("port"), c.Port, 0, 65535)...)
	errs = append(errs, check.Between(path.Child("concurrency"), c.Concurrency, 1, 500)...)
	errs = append(errs, check.OneOf(path.Child("endpoint"), c.Endpoint, Summary, Resource)...)
	if c.ServiceAccount != "" {
		errs = append(errs, check.Valid(path.Child("serviceAccount"), c.ServiceAccount, validation.IsDNS1123Subdomain)...)
	}
	return append(errs, c.TLS.Validate(path.Child("tls"), c.Scheme == source.HTTP)...)
}

// given reports whether the policy gives credentials, so that Evenkeel's own
// and those of the ServiceAccount are not sent.
func (c *Config) given() bool {
	return c.BearerTokenFile != "" || c.TLS.CertFile != "" || c.Scheme == source.HTTP
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
	if c.Endpoint == Summary {
		d.Signals = []usage.Metric{usage.CPUPressure, usage.MemoryPressure, usage.IOPressure, usage.CPUContention}
	}
	if !c.given() { // else whoever the credentials belong to has rights of its own
		d.Rights = c.rights()
	}
	return d
}

// rights returns what is needed to ask with credentials from the API server.
func (c *Config) rights() []source.Right {
	var rights []source.Right
	account := c.ServiceAccount != ""
	if account {
		rights = append(rights, source.Right{
			Verb: "create", Resource: "serviceaccounts/token", OwnNamespace: true, Name: c.ServiceAccount,
			Without: "Kubelets get its own token instead, with which whoever controls a node can evict pods.",
		})
	}
	metrics := source.Right{Verb: "get", Resource: "nodes/metrics", Fallback: account}
	if c.Endpoint == Summary {
		metrics.Without = "It is asked for only where /stats/summary is refused."
		rights = append(rights, source.Right{
			Verb: "get", Resource: "nodes/stats", Fallback: account,
			Without: "What is allowed gives less: no pressure, and CPU only from the second reading on.",
		})
	}
	return append(rights, metrics)
}

// client returns a client with the credentials that the policy gives, else the
// token of the ServiceAccount, else Evenkeel's own for the API server. Kubelets'
// certificates are checked against the cluster's authority in the same way.
func (c *Config) client(env *access.Env) (*http.Client, error) {
	own, err := rest.TransportFor(c.connection(env.REST))
	if err != nil {
		return nil, fmt.Errorf("making the client for kubelets: %w", err)
	}
	if c.ServiceAccount == "" || c.given() || env.RequestToken == nil || !replayable(env.REST) {
		return &http.Client{Transport: own}, nil
	}
	bare, err := rest.TransportFor(c.connection(rest.AnonymousClientConfig(env.REST)))
	if err != nil {
		return nil, fmt.Errorf("making the client for kubelets: %w", err)
	}
	return &http.Client{Transport: env.AsAccount(c.ServiceAccount, bare, own)}, nil
}

// replayable reports whether a server that is shown the credentials could use
// them itself, which it cannot with a client certificate.
func replayable(api *rest.Config) bool {
	return api.BearerToken != "" || api.BearerTokenFile != "" || api.ExecProvider != nil || api.AuthProvider != nil
}

// connection returns how kubelets are reached, from how the API server is.
func (c *Config) connection(api *rest.Config) *rest.Config {
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
		if c.BearerTokenFile == "" { // the certificate takes the place of our own token
			own = rest.AnonymousClientConfig(own)
		}
		own.TLSClientConfig.CertData, own.TLSClientConfig.CertFile = nil, c.TLS.CertFile
		own.TLSClientConfig.KeyData, own.TLSClientConfig.KeyFile = nil, c.TLS.KeyFile
	}
	if c.TLS.InsecureSkipVerify {
		own.TLSClientConfig.Insecure, own.TLSClientConfig.CAData, own.TLSClientConfig.CAFile = true, nil, ""
	}
	return own
}
