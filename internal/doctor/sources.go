package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/usage"
)

func examineSources(p *Patient) []Finding {
	if p.Readings == nil {
		return []Finding{p.unlisted(CheckSources)}
	}
	var findings []Finding
	for i := range p.Readings.Sources {
		findings = append(findings, p.examineSource(i)...)
	}
	return findings
}

// unlisted is the Finding of a check for which nodes and pods have to be known.
func (p *Patient) unlisted(check Check) Finding {
	return Finding{
		Check: check, Level: Problem, Says: "It could not be checked: " + p.Unlisted,
		Mend: "Mend what the check of permissions says, then ask again.",
	}
}

func (p *Patient) examineSource(i int) []Finding {
	reading, name := &p.Readings.Sources[i], p.sourceName(i)
	nodes, pods := len(reading.Batch.Nodes), len(reading.Batch.Pods)
	switch {
	case reading.Err != nil:
		return []Finding{{
			Check: CheckSources, Level: Problem, Subject: name,
			Says: fmt.Sprintf("It gave no reading: %v", reading.Err), Mend: mendSource(&p.Sources[i], reading.Err),
		}}
	case nodes == 0:
		return []Finding{{
			Check: CheckSources, Level: Problem, Subject: name,
			Says: fmt.Sprintf("It answered within %s and told of no node.", rounded(reading.Took)), Mend: mendEmpty(&p.Sources[i]),
		}}
	}
	findings := p.incomplete(i)
	if len(findings) == 0 {
		findings = append(findings, fine(CheckSources, name, "It answered within %s and told of %s and %s.",
			rounded(reading.Took), count(nodes, "node"), count(pods, "pod")))
	}
	return findings
}

// incomplete finds the resources that are judged and that a source does not tell of every node it knows.
func (p *Patient) incomplete(i int) []Finding {
	reading := &p.Readings.Sources[i]
	var findings []Finding
	for _, metric := range p.needed() {
		with := nodesWith(&reading.Batch, metric)
		if with == len(reading.Batch.Nodes) {
			continue
		}
		level := Warning
		if with == 0 {
			level = Problem
		}
		findings = append(findings, Finding{
			Check: CheckSources, Level: level, Subject: p.sourceName(i),
			Says: fmt.Sprintf("It told of %s, but %s of %d only: without it a node is unknown.",
				count(len(reading.Batch.Nodes), "node"), metric, with),
			Mend: mendMetric(&p.Sources[i], metric),
		})
	}
	return findings
}

func nodesWith(batch *usage.Batch, metric usage.Metric) int {
	n := 0
	for i := range batch.Nodes {
		if slices.ContainsFunc(batch.Nodes[i].Readings, func(r usage.Reading) bool { return r.Metric == metric }) {
			n++
		}
	}
	return n
}

// rounded writes how long an answer took.
func rounded(d time.Duration) string {
	return max(d.Round(time.Millisecond), time.Millisecond).String()
}

// mendEmpty is for a source that answers and has nothing.
func mendEmpty(source *policy.Source) string {
	switch source.Type {
	case policy.SourcePrometheus:
		return "Ask the server for " + nodeMetricOf(source) + ". If it has no such series, set nodeMetrics to the exporter that it scrapes\n" +
			"(NodeExporter or Kubelet), or give expressions of your own:\n" +
			"usage:\n  sources:\n    - type: Prometheus\n      prometheus:\n        queries:\n          nodes:\n            cpu: {expr: ...}\n            memory: {expr: ...}"
	case policy.SourceAnnotations:
		return "No node carries annotations such as cpu_usage_avg_5m: whoever writes them (Crane's controller, nodesync) does not run.\n" +
			"kubectl get nodes -o jsonpath='{.items[*].metadata.annotations.cpu_usage_avg_5m}'"
	case policy.SourceMetricsServer:
		return "metrics-server has scraped nothing yet or cannot reach the kubelets: kubectl -n kube-system logs deployment/metrics-server"
	case policy.SourceKubelet, policy.SourceNodeMetrics:
	}
	return "No ready node answered with usage. See what is said of it under coverage."
}

// mendMetric is for a source that tells of nodes, but not this of them.
func mendMetric(source *policy.Source, metric usage.Metric) string {
	switch source.Type {
	case policy.SourcePrometheus:
		return fmt.Sprintf("Give an expression with one series per node for it:\nusage:\n  sources:\n    - type: Prometheus\n      prometheus:\n"+
			"        queries:\n          nodes:\n            %s: {expr: ...}", metric)
	case policy.SourceKubelet:
		return "/metrics/resource counts CPU, so that usage is known from the second reading on. For a one-shot run let kubelets be asked\n" +
			"for /stats/summary: kubelet.endpoint: Summary, and the permission get nodes/stats."
	default:
		return fmt.Sprintf("Put a source that has it in front, or take %s out of lines.", metric)
	}
}

// nodeMetricOf names the series by which nodes are measured.
func nodeMetricOf(source *policy.Source) string {
	if source.Prometheus != nil && source.Prometheus.NodeMetrics == policy.NamesKubelet {
		return "node_memory_working_set_bytes"
	}
	return "node_memory_MemAvailable_bytes"
}

// field is the name of a source's part of the policy.
func field(source *policy.Source) string {
	name := string(source.Type)
	return strings.ToLower(name[:1]) + name[1:]
}
