package kubelet

import (
	"errors"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/access"
	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy/check"
)

// Name is the source's name in policies, output and metrics.
const Name = "Kubelet"

// Endpoint selects which endpoint of a kubelet is read.
type Endpoint string

// The endpoints of a kubelet.
const (
	// Summary is /stats/summary, and /metrics/resource for nodes that do not serve
	// it.
	Summary Endpoint = "Summary"
	// Resource is /metrics/resource alone, which costs a kubelet less but has no
	// pressure, and CPU usage only from the second reading.
	Resource Endpoint = "Resource"
)

// Config configures how kubelets are queried.
type Config struct {
	// Scheme is https or http.
	Scheme source.Scheme `json:"scheme" retired:"kubelets serve https, and their read-only port is off by default"`
	// Port is the kubelets' port: 1 to 65535. With 0, the port in each node's
	// status is used.
	Port int32 `json:"port" retired:"the port is in the status of each node"`
	// Concurrency limits how many nodes are queried at the same time: 1 to
	// 500.
	Concurrency int `json:"concurrency" retired:"the default reads thousands of nodes within one sample"`
	// Endpoint selects what is read: Summary (/stats/summary, which includes
	// pressures and contention) or Resource (/metrics/resource).
	Endpoint Endpoint `json:"endpoint"`
	// TLS configures how kubelets are verified and which client certificate
	// they get. It requires https.
	TLS source.TLS `json:"tls"`
	// BearerTokenFile contains the token sent with each request. It is read
	// again when it changes. If it or a client certificate is set,
	// serviceAccount is not used.
	BearerTokenFile string `json:"bearerTokenFile"`
	// ServiceAccount is the ServiceAccount, in Evenkeel's namespace, whose
	// token is sent to kubelets. It should have no permission except to read
	// usage, because anyone who controls a node can use that token. If the API
	// server does not issue a token, kubelets are not queried; they never get
	// Evenkeel's own token. It may be empty only with bearerTokenFile, a
	// client certificate or http.
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
	switch {
	case c.ServiceAccount != "":
		errs = append(errs, check.Valid(path.Child("serviceAccount"), c.ServiceAccount, validation.IsDNS1123Subdomain)...)
	case !c.given():
		errs = append(errs, field.Required(path.Child("serviceAccount"),
			"kubelets never get Evenkeel's own token, which may evict pods: name a ServiceAccount, or set bearerTokenFile or tls.certFile"))
	}
	return append(errs, c.TLS.Validate(path.Child("tls"), c.Scheme == source.HTTP)...)
}

// given reports whether the policy sets credentials. In that case neither Evenkeel's own
// credentials nor those of the ServiceAccount are sent.
func (c *Config) given() bool {
	return c.BearerTokenFile != "" || c.TLS.CertFile != "" || c.Scheme == source.HTTP
}

// Describe implements source.Config.
func (c *Config) Describe() source.Description {
	d := source.Description{
		Name: Name, TLS: c.TLS, Advice: map[source.Topic]string{
			source.Refused:      " Kubelets listen at the port that each node states, usually 10250.",
			source.Unauthorized: "Kubelets must have webhook authentication (--authentication-token-webhook), or get a client certificate (kubelet.tls).",
			source.Forbidden:    "Kubelets ask the API server whether the ServiceAccount may get nodes/stats or nodes/metrics: bind a ClusterRole to it that allows this.",
			source.Ungranted: "Kubelets never get the token with which Evenkeel evicts. Add the component kubelet-source to the overlay\n" +
				"(with Helm: rbac.kubeletSource: always) and pass its namespace with --namespace, or configure a separate token for kubelets:\nWITHIN bearerTokenFile: /path/to/token",
			source.NotFound: "It does not serve the endpoint: check the version of the kubelets, and kubelet.endpoint.",
			source.Lacking: "/metrics/resource counts CPU, so usage is known from the second reading on. For a one-shot run, query\n" +
				"/stats/summary instead: set kubelet.endpoint: Summary, and grant the ServiceAccount get on nodes/stats.",
			source.Unmatched: "These kubelets do not answer: see the coverage check for details.",
		},
	}
	if c.Endpoint == Summary {
		d.Signals = []usage.Metric{usage.CPUPressure, usage.MemoryPressure, usage.IOPressure, usage.CPUContention}
	}
	if !c.given() { // otherwise the owner of the credentials has separate rights
		d.Rights = c.rights()
	}
	return d
}

// rights returns the rights needed to get the token of the ServiceAccount. The rights of
// the ServiceAccount itself are not listed, because this process does not need them.
func (c *Config) rights() []source.Right {
	return []source.Right{{Verb: "create", Resource: "serviceaccounts/token", OwnNamespace: true, Name: c.ServiceAccount}}
}

// remedy is the advice if the API server grants no token of the ServiceAccount.
const remedy = "kubelets are not queried, because they never get Evenkeel's own token, which may evict pods; " +
	"add deploy/components/kubelet-source to the overlay (with Helm: rbac.kubeletSource=always), pass the namespace that Evenkeel is installed in with --namespace, " +
	"or set kubelet.bearerTokenFile or kubelet.tls.certFile"

// client returns a client that sends kubelets the credentials of the policy, otherwise
// the token of the ServiceAccount. A process without its own token uses its client
// certificate instead, which nobody can replay. Kubelets' certificates are checked
// against the cluster's authority.
func (c *Config) client(env *access.Env) (*http.Client, error) {
	if c.BearerTokenFile != "" && env.IsOwnToken(c.BearerTokenFile) {
		return nil, fmt.Errorf("kubelet.bearerTokenFile: %q is the token of this process, which may evict pods; kubelets never get it: name a ServiceAccount in kubelet.serviceAccount", c.BearerTokenFile)
	}
	transport, err := rest.TransportFor(c.connection(env.REST))
	if err != nil {
		return nil, fmt.Errorf("making the client for kubelets: %w", err)
	}
	if env.WithholdCredentials && c.BearerTokenFile != "" {
		return &http.Client{Transport: access.Withholding(fmt.Sprintf("the file %q", c.BearerTokenFile))}, nil
	}
	if c.given() || !hasSecret(env.REST) {
		return &http.Client{Transport: transport}, nil
	}
	if c.ServiceAccount == "" || env.RequestToken == nil {
		return nil, errors.New("making the client for kubelets: there is no token for them, and this process never sends them its own")
	}
	if env.WithholdCredentials && c.ServiceAccount != ServiceAccount {
		return &http.Client{Transport: access.Withholding(fmt.Sprintf("a token of ServiceAccount %q", c.ServiceAccount))}, nil
	}
	return &http.Client{Transport: env.AsAccount(access.Account{Name: c.ServiceAccount, Remedy: remedy}, transport)}, nil
}

// hasSecret reports whether the credentials for the API server include a secret that a
// server could reuse after receiving it, unlike a client certificate.
func hasSecret(api *rest.Config) bool {
	return api.BearerToken != "" || api.BearerTokenFile != "" || api.Username != "" || api.ExecProvider != nil || api.AuthProvider != nil
}

// connection returns the connection settings for kubelets, derived from those
// for the API server. The only token in it is the policy's.
func (c *Config) connection(api *rest.Config) *rest.Config {
	to := rest.AnonymousClientConfig(api)
	to.TLSClientConfig.ServerName = c.TLS.ServerName
	to.QPS, to.Burst, to.Timeout = -1, 0, 0 // the source sets its own limits
	if c.Scheme == source.HTTP {
		to = &rest.Config{UserAgent: api.UserAgent, QPS: -1}
	}
	to.BearerTokenFile = c.BearerTokenFile
	switch shown := &to.TLSClientConfig; {
	case c.TLS.CertFile != "":
		shown.CertFile, shown.KeyFile = c.TLS.CertFile, c.TLS.KeyFile
	case !c.given() && !hasSecret(api):
		own := &api.TLSClientConfig
		shown.CertFile, shown.CertData, shown.KeyFile, shown.KeyData = own.CertFile, own.CertData, own.KeyFile, own.KeyData
	}
	if c.TLS.CAFile != "" {
		to.TLSClientConfig.CAData, to.TLSClientConfig.CAFile = nil, c.TLS.CAFile
	}
	if c.TLS.InsecureSkipVerify {
		to.TLSClientConfig.Insecure, to.TLSClientConfig.CAData, to.TLSClientConfig.CAFile = true, nil, ""
	}
	return to
}
