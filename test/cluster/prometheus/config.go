package prometheus

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/test/cluster"
)

const (
	// job is the job label of every series.
	job = "nodes"
	// targetsFile is the name of the file with targets, which Prometheus rereads when it
	// changes.
	targetsFile = "targets.json"
	rulesFile   = "rules.yaml"
	// exporterPort is node-exporter's port, which occurs in instance labels. Nothing listens
	// on it.
	exporterPort = "9100"
)

// Patterns of series names. Depending on the configuration, one kind of names is kept and
// the other is dropped.
const (
	kubeletNames  = `(node_cpu_usage_seconds_total|node_memory_working_set_bytes|pod_cpu_.+|pod_memory_.+)`
	exporterNames = `(node_cpu_seconds_total|node_memory_Mem.+)`
)

type object = map[string]any

// writeConfig writes the server's configuration. Later, only the targets change.
func (s *Server) writeConfig() error {
	if err := s.writeRules(); err != nil {
		return err
	}
	content, err := yaml.Marshal(object{
		"global": object{
			"scrape_interval":     promDuration(s.config.ScrapeInterval),
			"scrape_timeout":      promDuration(min(s.config.ScrapeInterval, 5*time.Second)),
			"evaluation_interval": promDuration(s.config.ScrapeInterval),
		},
		"rule_files":     append([]string{rulesFile}, s.config.RuleFiles...),
		"scrape_configs": s.scrapeConfigs(),
	})
	if err != nil {
		return fmt.Errorf("encoding prometheus's configuration: %w", err)
	}
	return s.replace("prometheus.yaml", content)
}

// scrapeConfigs returns a job for the nodes and a job for the processes.
func (s *Server) scrapeConfigs() (jobs []object) {
	if s.config.Cluster != nil {
		jobs = append(jobs, object{
			"job_name":        job,
			"file_sd_configs": []object{{"files": []string{targetsFile}, "refresh_interval": "1s"}},
			"metric_relabel_configs": []object{
				{"source_labels": []string{"__name__"}, "regex": s.droppedNames(), "action": "drop"},
			},
		})
	}
	if len(s.config.Processes) > 0 {
		jobs = append(jobs, object{
			"job_name":       "processes",
			"static_configs": []object{{"targets": s.config.Processes, "labels": s.config.Labels}},
		})
	}
	return jobs
}

// writeRules writes the recording rules, sorted by name.
func (s *Server) writeRules() error {
	rules := make([]object, 0, len(s.config.Rules))
	for _, name := range slices.Sorted(maps.Keys(s.config.Rules)) {
		rules = append(rules, object{"record": name, "expr": s.config.Rules[name]})
	}
	content, err := yaml.Marshal(object{"groups": []object{{"name": "recorded", "rules": rules}}})
	if err != nil {
		return fmt.Errorf("encoding prometheus's rules: %w", err)
	}
	return s.replace(rulesFile, content)
}

// droppedNames returns a pattern that matches the series to drop.
func (s *Server) droppedNames() string {
	if s.config.NodeExporter {
		return kubeletNames
	}
	return exporterNames
}

// promDuration formats a duration in milliseconds, Prometheus' smallest unit.
func promDuration(d time.Duration) string { return fmt.Sprintf("%dms", d.Milliseconds()) }

// SetTargets makes the server scrape the given nodes, or all nodes if none is given, from
// the next second on.
func (s *Server) SetTargets(ctx context.Context, nodes ...string) error {
	if s.config.Cluster == nil {
		return nil
	}
	truths, err := s.nodes(ctx, nodes)
	if err != nil {
		return err
	}
	targets := make([]object, 0, len(truths))
	for _, node := range truths {
		at, err := url.Parse(s.config.Cluster.UsageURL(node.Name))
		if err != nil {
			return fmt.Errorf("reading where node %q is scraped: %w", node.Name, err)
		}
		labels := s.labels(node)
		labels["__metrics_path__"] = at.Path
		targets = append(targets, object{"targets": []string{at.Host}, "labels": labels})
	}
	content, err := json.Marshal(targets)
	if err != nil {
		return fmt.Errorf("encoding prometheus's targets: %w", err)
	}
	return s.replace(targetsFile, content)
}

// nodes returns the named nodes, or all nodes if no name is given.
func (s *Server) nodes(ctx context.Context, names []string) ([]cluster.NodeTruth, error) {
	truths, err := s.config.Cluster.Truth(ctx)
	if err != nil {
		return nil, err
	}
	if len(names) > 0 {
		truths = slices.DeleteFunc(truths, func(n cluster.NodeTruth) bool { return !slices.Contains(names, n.Name) })
	}
	if len(truths) < len(names) {
		return nil, fmt.Errorf("finding the nodes to scrape: %d of %q exist", len(truths), names)
	}
	return truths, nil
}

// labels returns the labels of a node's series, except the job label.
func (s *Server) labels(node cluster.NodeTruth) map[string]string {
	labels := map[string]string{}
	switch s.config.Instance {
	case ByName:
		labels["instance"] = node.Name
	case ByIP:
		labels["instance"] = node.InternalIP
	default:
		labels["instance"] = net.JoinHostPort(node.InternalIP, exporterPort)
	}
	if s.config.NodeLabel {
		labels["node"] = node.Name
	}
	return labels
}
