package policy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/usage"
)

// NodeMetricNames says which exporter's names usage of nodes is read by.
type NodeMetricNames string

// The exporters whose names are known.
const (
	// NamesNodeExporter are node_cpu_seconds_total, node_memory_MemTotal_bytes,
	// node_memory_MemAvailable_bytes and node_pressure_*.
	NamesNodeExporter NodeMetricNames = "NodeExporter"
	// NamesKubelet are node_cpu_usage_seconds_total and
	// node_memory_working_set_bytes, from the kubelet's /metrics/resource.
	NamesKubelet NodeMetricNames = "Kubelet"
)

// PrometheusSource is how Prometheus, or what speaks its API, is asked.
type PrometheusSource struct {
	// Address is the server's URL with the path prefix if it has one: http or
	// https, without user, query and fragment. Empty: the one of the
	// DeschedulerPolicy's metricsProviders.
	Address string `json:"address"`
	// BearerTokenFile holds the token sent with each request; it is read again
	// when it changes. At most one of this, bearerTokenSecret and basicAuth.
	BearerTokenFile string `json:"bearerTokenFile"`
	// BearerTokenSecret holds the token sent with each request; it is read again
	// every minute.
	BearerTokenSecret SecretKey `json:"bearerTokenSecret"`
	// BasicAuth is the user name and password sent with each request.
	BasicAuth BasicAuth `json:"basicAuth"`
	// TLS is how the server is checked and what is shown to it; only with an
	// https address.
	TLS TLS `json:"tls"`
	// Headers are sent with each request, such as X-Scope-OrgID. Not
	// Authorization, which the fields above set.
	Headers map[string]string `json:"headers"`
	// NodeLabel is the label that says which node a series is of, by the node's
	// name, host name or address, with or without a port. Empty: the first label
	// that does, of those in common use.
	NodeLabel string `json:"nodeLabel"`
	// NamespaceLabel is the label that holds a pod's namespace.
	NamespaceLabel string `json:"namespaceLabel"`
	// PodLabel is the label that holds a pod's name.
	PodLabel string `json:"podLabel"`
	// NodeMetrics says by which names usage of nodes is read: NodeExporter
	// (node_cpu_seconds_total and so on) or Kubelet (what the kubelet's
	// /metrics/resource has).
	NodeMetrics NodeMetricNames `json:"nodeMetrics"`
	// RateWindow is the range over which counters become rates: 10s to 10m, at
	// least two scrape intervals.
	RateWindow metav1.Duration `json:"rateWindow"`
	// Queries replace the ones that nodeMetrics implies, and add those of
	// usage.metrics.
	Queries Queries `json:"queries"`
}

// Queries are expressions that take the place of the built-in ones.
type Queries struct {
	// Nodes are queries with one series per node: cpu, memory, cpu.pressure,
	// memory.pressure, io.pressure and the names of usage.metrics.
	Nodes map[usage.Metric]Query `json:"nodes"`
	// Pods are queries with one series per pod: cpu and memory.
	Pods map[usage.Metric]Query `json:"pods"`
}

// Query is what to ask for one metric: expr, windows or both.
type Query struct {
	// Unit is what the numbers count: cores, milli, percent or fraction for cpu;
	// bytes, percent or fraction for memory; none, percent or fraction for the
	// rest. Pods have no percent and no fraction. Default: cores for cpu, bytes
	// for memory, none for the rest.
	Unit Unit `json:"unit"`
	// Expr gives the newest value; windows are derived from it. When a node was
	// measured is read off the selector, so one that is more than a selector
	// counts as measured when it is evaluated: leave cpu or memory built in, or
	// a node that fell silent is found out minutes late.
	Expr string `json:"expr"`
	// Windows are expressions of their own for single windows. Pods have last
	// and avg_5m only.
	Windows map[usage.Window]string `json:"windows"`
}

// Endpoint is what of a kubelet is read.
type Endpoint string

// The endpoints of a kubelet.
const (
	// EndpointSummary is /stats/summary, and /metrics/resource where a node does
	// not give it.
	EndpointSummary Endpoint = "Summary"
	// EndpointResource is /metrics/resource alone.
	EndpointResource Endpoint = "Resource"
)

// KubeletSource is how kubelets are asked.
type KubeletSource struct {
	// Scheme is https or http.
	Scheme Scheme `json:"scheme"`
	// Port is where kubelets listen: 1 to 65535; 0: where each node says.
	Port int32 `json:"port"`
	// Concurrency bounds how many nodes are asked at a time: 1 to 500.
	Concurrency int `json:"concurrency"`
	// Endpoint is what is read: Summary (/stats/summary, which has pressures too)
	// or Resource (/metrics/resource).
	Endpoint Endpoint `json:"endpoint"`
	// TLS is how kubelets are checked and what is shown to them; only with
	// https.
	TLS TLS `json:"tls"`
	// BearerTokenFile holds the token sent with each request; it is read again
	// when it changes. Empty: Evenkeel's own credentials for the API server.
	BearerTokenFile string `json:"bearerTokenFile"`
}

// NodeMetricsSource is how the exporters of crane-scheduler-plus are asked.
type NodeMetricsSource struct {
	// Scheme is http or https.
	Scheme Scheme `json:"scheme"`
	// Port is where the exporters listen: 1 to 65535.
	Port int32 `json:"port"`
	// Path is where they serve usage: it starts with a slash.
	Path string `json:"path"`
	// Concurrency bounds how many nodes are asked at a time: 1 to 500.
	Concurrency int `json:"concurrency"`
	// Unit is what the numbers count: percent or fraction.
	Unit Unit `json:"unit"`
	// TLS is how exporters are checked and what is shown to them; only with
	// https.
	TLS TLS `json:"tls"`
	// BearerTokenFile holds the token sent with each request; it is read again
	// when it changes. Empty: none.
	BearerTokenFile string `json:"bearerTokenFile"`
	// Headers are sent with each request. Not Authorization.
	Headers map[string]string `json:"headers"`
}
