package prometheus

import (
	"maps"
	"slices"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/source"
)

// Describe implements source.Config.
func (c *Config) Describe() source.Description {
	signals := slices.Sorted(maps.Keys(c.Queries.Nodes))
	measured, preset := "node_memory_working_set_bytes", []usage.Metric{usage.CPUContention}
	if c.NodeMetrics != Kubelet {
		measured, preset = "node_memory_MemAvailable_bytes", presetMetrics[2:]
	}
	signals = append(signals, preset...)
	login := c.BearerTokenFile != "" || c.BearerTokenSecret.Name != "" || c.BasicAuth.Username != ""
	return source.Description{
		Name: Name, Server: &source.Server{Address: c.Address, Elsewhere: "a flag, or by metricsProviders of a DeschedulerPolicy", Login: login}, TLS: c.TLS, GivesWindows: true, Pods: "prometheus-",
		Signals: signals, Rights: c.rights(), Advice: advice(measured),
	}
}

// rights returns the rights to read the Secrets that hold the credentials.
func (c *Config) rights() []source.Right {
	var rights []source.Right
	for _, secret := range []source.SecretKey{c.BearerTokenSecret, c.BasicAuth.PasswordSecret} {
		if secret.Name != "" {
			rights = append(rights, source.Right{Verb: "get", Resource: "secrets", Namespace: secret.Namespace, Name: secret.Name})
		}
	}
	return rights
}

// advice explains, by topic, how to fix problems. measured is a series by which nodes are
// measured.
func advice(measured string) map[source.Topic]string {
	const expression = "usage:\n  sources:\n    - type: Prometheus\n      prometheus:\n        queries:\n          nodes:\n"
	return map[source.Topic]string{
		source.Refused: " The port is part of prometheus.address; Prometheus itself listens on 9090.",
		source.Unauthorized: "Give it a token or a password:\n" +
			source.Snippet(Name, "bearerTokenSecret: {namespace: monitoring, name: prometheus-token, key: token}   # or bearerTokenFile, or basicAuth"),
		source.NotFound: "The API is not at this address. Some servers have a path prefix:\n" +
			source.Snippet(Name, "address: http://prometheus.monitoring:9090/prometheus   # Mimir; VictoriaMetrics cluster: /select/0/prometheus"),
		source.Empty: "Ask the server for " + measured + ". If it has no such series, set nodeMetrics to the exporter that it scrapes\n" +
			"(NodeExporter or Kubelet), or give expressions of your own:\n" +
			expression + "            cpu: {expr: ...}\n            memory: {expr: ...}",
		source.Lacking: "Give an expression for it that returns one series per node:\n" + expression + "            METRIC: {expr: ...}",
		source.Unmatched: "The exporter does not run on these nodes or is not scraped there: look at the server's page of targets, and at the\n" +
			"exporter's DaemonSet (tolerations).",
		source.Stray: "The series identify their node by something other than its name, host name or InternalIP. Set the label that identifies it, or relabel\n" +
			"(scrape_configs: relabel_configs: target_label: node):\n" + source.Snippet(Name, "nodeLabel: node"),
		source.Pods: "Set the labels that hold a pod's namespace and name; with honor_labels off they may be exported_namespace and exported_pod:\n" +
			source.Snippet(Name, "namespaceLabel: namespace\n        podLabel: pod"),
		source.Duplicates: "Two servers scrape the same exporter, or two exporters run on a node. Use an expression that leaves one of them:\n" +
			source.Snippet(Name, "queries: {nodes: {cpu: {expr: max by (instance) (...)}}}"),
		source.Foreign: "Any scraped pod can export series with these names. Query the server for them, find the page (instance, job, namespace, pod)\n" +
			"that exports them, and drop them there (metric_relabel_configs). If these are your exporters, set your own expressions (queries).",
		source.SeveralClusters: "As long as it is unknown which of them is this cluster, series that could belong to another are ignored:\n" +
			source.Snippet(Name, "matchers: {cluster: NAME}"),
		source.WrongUnit: source.Snippet(Name, "queries: {nodes: {cpu: {expr: ..., unit: percent}}}   # cores, milli, percent or fraction; memory: bytes, percent or fraction"),
		source.Old:       "scrape_interval",
	}
}
