package prometheus

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/access"
	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy/check"
)

// Preset selects the exporter whose metric names are used for node usage.
type Preset string

// The exporters whose metric names are known.
const (
	// NodeExporter uses node_cpu_seconds_total, node_memory_* and node_pressure_*.
	NodeExporter Preset = "NodeExporter"
	// Kubelet uses node_cpu_usage_seconds_total and node_memory_working_set_bytes,
	// from the kubelet's /metrics/resource.
	Kubelet Preset = "Kubelet"
)

// Config configures how Prometheus, or a server with the same API, is queried.
type Config struct {
	// Address is the server's URL, including its path prefix if it has one:
	// http or https, without user, query or fragment. Empty uses the address
	// in the DeschedulerPolicy's metricsProviders.
	Address string `json:"address"`
	// BearerTokenFile contains the token sent with each request. It is read
	// again when it changes. Set at most one of this, bearerTokenSecret and
	// basicAuth.
	BearerTokenFile string `json:"bearerTokenFile"`
	// BearerTokenSecret refers to the token sent with each request. It is read
	// again every minute.
	BearerTokenSecret source.SecretKey `json:"bearerTokenSecret"`
	// BasicAuth is the user name and password sent with each request.
	BasicAuth source.BasicAuth `json:"basicAuth"`
	// TLS configures how the server is verified and which client certificate
	// it gets. It requires an https address.
	TLS source.TLS `json:"tls"`
	// Headers are sent with each request, for example X-Scope-OrgID.
	// Authorization is not allowed here; use the fields above.
	Headers map[string]string `json:"headers"`
	// Matchers are labels and the values they must have, for example {cluster:
	// eu} if the server holds data of several clusters. They are added to all
	// built-in queries, for nodes and for pods. An empty value matches series
	// without the label.
	Matchers map[string]string `json:"matchers"`
	// NodeLabel is the label that identifies the node of a series, by the
	// node's name, host name or address, with or without a port. Empty uses
	// the first of these labels that a series has: node, nodename, node_name,
	// kubernetes_node, kubernetes_io_hostname, instance, hostname and host.
	NodeLabel string `json:"nodeLabel"`
	// NamespaceLabel is the label that holds a pod's namespace.
	NamespaceLabel string `json:"namespaceLabel"`
	// PodLabel is the label that holds a pod's name.
	PodLabel string `json:"podLabel"`
	// NodeMetrics selects the metric names for node usage: NodeExporter
	// (node_cpu_seconds_total and so on) or Kubelet (the kubelet's
	// /metrics/resource). Both measure memory as the working set, like kubectl
	// top and like the measurement of pods. If a node's exporter lacks
	// AnonPages, Cached, Buffers, SwapCached or Inactive_file, NodeExporter
	// uses MemTotal minus MemAvailable for that node.
	NodeMetrics Preset `json:"nodeMetrics"`
	// RateWindow is the range over which counters become rates: 10s to 10m,
	// and at least two scrape intervals.
	RateWindow metav1.Duration `json:"rateWindow"`
	// Queries replace the queries implied by nodeMetrics and define those of
	// usage.metrics. Measure memory of nodes and pods in the same way; the
	// built-in queries use the working set.
	Queries Queries `json:"queries"`
}

// Queries are expressions that replace the built-in ones.
type Queries struct {
	// Nodes are queries that return one series per node, for cpu, memory,
	// cpu.pressure, memory.pressure, io.pressure, cpu.contention and the names
	// of usage.metrics.
	Nodes map[usage.Metric]Query `json:"nodes"`
	// Pods are queries that return one series per pod, for cpu and memory.
	Pods map[usage.Metric]Query `json:"pods"`
}

// Query defines how one metric is queried: by expr, windows or both.
type Query struct {
	// Unit is the unit of the result: cores, milli, percent or fraction for
	// cpu; bytes, percent or fraction for memory; none, percent or fraction
	// for other metrics. percent and fraction are not available for pods. The
	// default is cores for cpu, bytes for memory and none for other metrics.
	Unit source.Unit `json:"unit"`
	// Expr returns the newest value; windows are derived from it. If it is a
	// plain selector, its samples carry the time of measurement. Anything else
	// counts as measured when it is evaluated, so keep the built-in query for
	// cpu or memory; otherwise a node that stops reporting is noticed minutes
	// late.
	Expr string `json:"expr"`
	// Windows are separate expressions for individual windows. Pods support
	// only last and avg_5m.
	Windows map[usage.Window]string `json:"windows"`
}

var _ source.Config = (*Config)(nil)

// Default implements source.Config.
func (*Config) Default() source.Config {
	return &Config{
		NamespaceLabel: "namespace", PodLabel: "pod", NodeMetrics: NodeExporter, RateWindow: metav1.Duration{Duration: 2 * time.Minute},
	}
}

// Validate implements source.Config.
func (c *Config) Validate(path *field.Path, metrics []usage.Metric) field.ErrorList {
	var errs field.ErrorList
	if c.Address != "" {
		errs = check.URL(path.Child("address"), c.Address)
	}
	errs = append(errs, c.validateLogin(path)...)
	errs = append(errs, c.TLS.Validate(path.Child("tls"), strings.HasPrefix(c.Address, "http:"))...)
	errs = append(errs, source.ValidateHeaders(path.Child("headers"), c.Headers)...)
	errs = append(errs, validateMatchers(path.Child("matchers"), c.Matchers)...)
	if c.NodeLabel != "" {
		errs = append(errs, validateLabel(path.Child("nodeLabel"), c.NodeLabel)...)
	}
	errs = append(errs, validateLabel(path.Child("namespaceLabel"), c.NamespaceLabel)...)
	errs = append(errs, validateLabel(path.Child("podLabel"), c.PodLabel)...)
	errs = append(errs, check.OneOf(path.Child("nodeMetrics"), c.NodeMetrics, NodeExporter, Kubelet)...)
	errs = append(errs, check.Duration(path.Child("rateWindow"), c.RateWindow, 10*time.Second, 10*time.Minute)...)
	errs = append(errs, validateQueries(path.Child("queries", "nodes"), c.Queries.Nodes, false, append(slices.Clone(presetMetrics), metrics...))...)
	return append(errs, validateQueries(path.Child("queries", "pods"), c.Queries.Pods, true, presetMetrics[:2])...)
}

// validateLogin allows at most one kind of credentials.
func (c *Config) validateLogin(path *field.Path) field.ErrorList {
	var ways []string
	if c.BearerTokenFile != "" {
		ways = append(ways, "bearerTokenFile")
	}
	if c.BearerTokenSecret != (source.SecretKey{}) {
		ways = append(ways, "bearerTokenSecret")
	}
	if c.BasicAuth != (source.BasicAuth{}) {
		ways = append(ways, "basicAuth")
	}
	var errs field.ErrorList
	if len(ways) > 1 {
		errs = append(errs, field.Forbidden(path.Child(ways[1]), fmt.Sprintf("%s is already set; set only one of them", ways[0])))
	}
	errs = append(errs, c.BearerTokenSecret.Validate(path.Child("bearerTokenSecret"))...)
	return append(errs, c.BasicAuth.Validate(path.Child("basicAuth"))...)
}

var labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

func validateLabel(path *field.Path, name string) field.ErrorList {
	if labelName.MatchString(name) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name, "must be the name of a label: letters, digits and '_', not starting with a digit")}
}

// validateMatchers checks labels and values of matchers. A matcher must not
// select the names of series, because the queries choose those.
func validateMatchers(path *field.Path, matchers map[string]string) field.ErrorList {
	var errs field.ErrorList
	for _, label := range slices.Sorted(maps.Keys(matchers)) {
		at := path.Key(label)
		if label == "__name__" {
			errs = append(errs, field.Forbidden(at, "names of series are given by nodeMetrics and queries"))
			continue
		}
		errs = append(errs, validateLabel(at, label)...)
		if !utf8.ValidString(matchers[label]) || strings.ContainsRune(matchers[label], 0) {
			errs = append(errs, field.Invalid(at, matchers[label], "must be UTF-8 without NUL"))
		}
	}
	return errs
}

// presetMetrics lists the metrics with built-in queries. Those that pods also have come
// first.
var presetMetrics = []usage.Metric{usage.CPU, usage.Memory, usage.CPUPressure, usage.MemoryPressure, usage.IOPressure, usage.CPUContention}

// validateQueries checks the queries of nodes or pods, whose metrics must be
// known.
func validateQueries(path *field.Path, queries map[usage.Metric]Query, pods bool, known []usage.Metric) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(queries)) {
		at := path.Key(string(name))
		if unknown := check.OneOf(at, name, known...); len(unknown) > 0 {
			errs = append(errs, unknown...)
			continue
		}
		query := queries[name]
		errs = append(errs, check.OneOf(at.Child("unit"), query.unit(name), unitsOf(name, pods)...)...)
		errs = append(errs, query.validate(at, pods)...)
	}
	return errs
}

func (q *Query) validate(path *field.Path, pods bool) field.ErrorList {
	var errs field.ErrorList
	if strings.TrimSpace(q.Expr) == "" && len(q.Windows) == 0 {
		errs = append(errs, field.Required(path.Child("expr"), "a query needs expr, windows or both"))
	}
	for _, w := range check.SortedWindows(q.Windows) {
		at := path.Child("windows").Key(w.String())
		errs = append(errs, check.Window(at, w)...)
		if strings.TrimSpace(q.Windows[w]) == "" {
			errs = append(errs, field.Required(at, "an expression must not be empty"))
		}
		if pods {
			errs = append(errs, check.OneOf(at, w.String(), usage.Last.String(), usage.Avg5m.String())...)
		}
	}
	return errs
}

// unit returns the unit of the query's numbers.
func (q *Query) unit(metric usage.Metric) source.Unit {
	if q.Unit != "" {
		return q.Unit
	}
	return unitsOf(metric, false)[0]
}

// unitsOf returns the units allowed for a metric of a node or a pod; the first
// is the default.
func unitsOf(metric usage.Metric, pod bool) []source.Unit {
	units := map[usage.Metric][]source.Unit{usage.CPU: {source.Cores, source.Milli}, usage.Memory: {source.Bytes}}[metric]
	switch {
	case pod:
		return units
	case units == nil:
		units = []source.Unit{source.None}
	}
	return append(units, source.Percent, source.Fraction)
}

// Name is the source's name in policies, output and metrics.
const Name = "Prometheus"

// settings are the policy's Config and the process's Env.
type settings struct {
	Config
	access.Env

	client *http.Client
	// parallel is the maximum number of concurrent queries, and maxBytes bounds one
	// answer.
	parallel int
	maxBytes int64
}
