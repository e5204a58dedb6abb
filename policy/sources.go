package policy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/usage"
)

// SourceType names a kind of usage source.
type SourceType string

// The kinds of usage sources.
const (
	// SourceMetricsServer is the metrics.k8s.io API, served by metrics-server or
	// by an adapter in its place.
	SourceMetricsServer SourceType = "MetricsServer"
	// SourcePrometheus is whatever speaks Prometheus' HTTP API: Prometheus,
	// Thanos, Mimir, VictoriaMetrics.
	SourcePrometheus SourceType = "Prometheus"
	// SourceKubelet is each node's kubelet, asked directly.
	SourceKubelet SourceType = "Kubelet"
	// SourceNodeMetrics is the exporter of crane-scheduler-plus on each node.
	SourceNodeMetrics SourceType = "NodeMetrics"
	// SourceAnnotations are the usage annotations that Crane's controller, or
	// nodesync, writes to the nodes.
	SourceAnnotations SourceType = "Annotations"
)

// Source is one place usage is read from.
type Source struct {
	// Type is the kind of source: Prometheus, Kubelet, NodeMetrics, Annotations
	// or MetricsServer. Required.
	Type SourceType `json:"type"`
	// MaxAge is usage.maxAge for this source: longer than sampleInterval, at most
	// 1h (Annotations: 1d). 0s takes usage.maxAge; Annotations, whose values each
	// have a period of their own, then go by that alone.
	MaxAge metav1.Duration `json:"maxAge,omitzero"`
	// Timeout is usage.timeout for this source: 100ms to 5m. 0s takes
	// usage.timeout.
	Timeout metav1.Duration `json:"timeout,omitzero"`
	// Prometheus is how the source of this type is read; allowed with no other.
	Prometheus *PrometheusSource `json:"prometheus,omitempty"`
	// Kubelet is how the source of this type is read; allowed with no other.
	Kubelet *KubeletSource `json:"kubelet,omitempty"`
	// NodeMetrics is how the source of this type is read; allowed with no other.
	NodeMetrics *NodeMetricsSource `json:"nodeMetrics,omitempty"`
	// Annotations is how the source of this type is read; allowed with no other.
	Annotations *AnnotationsSource `json:"annotations,omitempty"`
}

// Metric is a metric of nodes that Evenkeel does not know by itself.
type Metric struct {
	// Name is how queries and lines call it: 1 to 63 small letters, digits, and
	// between them '-', '_' or '.'. A pressure may be listed to say what
	// relieves it; cpu, memory and memory.available may not. Required.
	Name usage.Metric `json:"name"`
	// LowerIsWorse reverses the order of its levels: a node below the evict line
	// is hot.
	LowerIsWorse bool `json:"lowerIsWorse"`
	// Relieves says which usage a move has to take off a node to relieve it: cpu
	// or memory; with none, a node that is hot by it is marked by nodesync and
	// keeps its pods. May be left out for a metric without an evict line.
	Relieves usage.Metric `json:"relieves"`
}

// RelievesNone says of a metric that no move helps.
const RelievesNone usage.Metric = "none"

// Unit is what a source's numbers count.
type Unit string

// The units of usage.
const (
	// UnitCores are CPUs, UnitMilli thousandths of them.
	UnitCores Unit = "cores"
	UnitMilli Unit = "milli"
	// UnitBytes are bytes.
	UnitBytes Unit = "bytes"
	// UnitPercent is 0 to 100 of a node's capacity, UnitFraction 0 to 1.
	UnitPercent  Unit = "percent"
	UnitFraction Unit = "fraction"
	// UnitNone takes the number as it is.
	UnitNone Unit = "none"
	// UnitAuto tells percent and fraction apart by how the number is written.
	UnitAuto Unit = "auto"
)

// Scheme is how a node is spoken to.
type Scheme string

// The schemes.
const (
	SchemeHTTP  Scheme = "http"
	SchemeHTTPS Scheme = "https"
)

// SecretKey names one value of a Secret; all empty names none.
type SecretKey struct {
	// Namespace is the Secret's.
	Namespace string `json:"namespace"`
	// Name is the Secret's.
	Name string `json:"name"`
	// Key is the entry of the Secret that holds the value.
	Key string `json:"key"`
}

// BasicAuth is a user name with a password from a file or a Secret.
type BasicAuth struct {
	// Username is who to log in as; empty: no basic authentication.
	Username string `json:"username"`
	// PasswordFile holds the password; it is read again when it changes.
	PasswordFile string `json:"passwordFile"`
	// PasswordSecret holds the password; it is read again every minute. Either
	// this or passwordFile.
	PasswordSecret SecretKey `json:"passwordSecret"`
}

// TLS is how servers are checked and what is shown to them. Without any of it
// their certificates are checked against the system's authorities.
type TLS struct {
	// CAFile holds the certificates of the authorities that may vouch for a
	// server, in PEM; empty: the system's.
	CAFile string `json:"caFile"`
	// CertFile holds the client's certificate in PEM; it needs keyFile.
	CertFile string `json:"certFile"`
	// KeyFile holds the key of the client's certificate in PEM.
	KeyFile string `json:"keyFile"`
	// ServerName is the name the server's certificate must carry; empty: the one
	// in the address.
	ServerName string `json:"serverName"`
	// InsecureSkipVerify takes any certificate, so that anybody in between could
	// answer. Not together with caFile.
	InsecureSkipVerify bool `json:"insecureSkipVerify"`
}

// AnnotationsSource is how usage annotations of nodes are read.
type AnnotationsSource struct {
	// Unit is what the numbers count: fraction, percent, or auto, which tells by
	// how a number is written.
	Unit Unit `json:"unit"`
	// Timezone is the zone of the time stamps, whatever the Z at their end
	// claims: a name of the IANA database, such as UTC or Asia/Shanghai; empty:
	// found out from the stamps themselves.
	Timezone string `json:"timezone"`
	// Periods is how often the writer renews a window: 10s to 1d each. A value is
	// good until its period and 5m more have passed. Windows that are not named
	// keep their defaults; any other window has 15m.
	Periods map[usage.Window]metav1.Duration `json:"periods"`
}
