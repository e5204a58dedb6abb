package prometheus

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

const (
	// historyStep is the interval of samples in the history. Two-minute rates do not need a
	// shorter one.
	historyStep = 30 * time.Second
	// podHistory is the length of the pods' history. No query needs more, and most series
	// belong to pods.
	podHistory = 15 * time.Minute
)

// past is the current value of a series and its growth per second.
type past struct {
	labels    string
	at        time.Time
	value     float64
	perSecond float64
}

func (p past) reach(longest time.Duration) time.Duration {
	if podLabels.MatchString(p.labels) {
		return min(longest, podHistory)
	}
	return longest
}

// backfill writes a history of length Config.History with the present usage into the
// server's data, which must not exist yet. A counter's history must lead up to its next
// scraped value, because otherwise that scrape would look like a counter reset.
func (s *Server) backfill(ctx context.Context) error {
	nodes, err := s.config.Cluster.Truth(ctx)
	if err != nil {
		return err
	}
	families := map[string][]past{}
	for _, node := range nodes {
		_, text, err := evenkeel.Get(ctx, s.config.Cluster.UsageURL(node.Name))
		if err != nil {
			return fmt.Errorf("reading the present usage of node %q: %w", node.Name, err)
		}
		s.addPast(families, node, text)
	}
	path := s.file("history.txt")
	if err := os.WriteFile(path, openMetrics(families, s.config.History), 0o644); err != nil {
		return fmt.Errorf("writing the history: %w", err)
	}
	command := exec.CommandContext(ctx, "promtool", "tsdb", "create-blocks-from", "openmetrics", "--quiet", path, s.file("data"))
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("loading the history: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// usageLine matches a line of kwok's answer: name, optional labels, value.
var usageLine = regexp.MustCompile(`(?m)^([a-zA-Z_]+)(?:\{(.*)\})? (\S+)$`)

// podLabels matches the pod in a series' labels, which are sorted: container,
// namespace, pod.
var podLabels = regexp.MustCompile(`(container=".*",)?namespace="(.*)",pod="(.*)"`)

// addPast adds the series that kwok serves for a node, as Prometheus would scrape them.
func (s *Server) addPast(families map[string][]past, node cluster.NodeTruth, text string) {
	dropped := regexp.MustCompile("^" + s.droppedNames() + "$")
	labels := s.labels(node)
	labels["job"] = job
	own := labelText(labels)
	now := time.Now()
	for _, line := range usageLine.FindAllStringSubmatch(text, -1) {
		name, rest := line[1], line[2]
		value, err := strconv.ParseFloat(line[3], 64)
		if err != nil || dropped.MatchString(name) {
			continue
		}
		series := past{labels: own, at: now, value: value}
		if rest != "" {
			series.labels += "," + rest
		}
		if strings.HasSuffix(name, "_total") {
			series.perSecond = coresOf(node, rest)
		}
		families[name] = append(families[name], series)
	}
}

// coresOf returns the growth rate of a CPU counter: the node's, or that of the pod or
// container in the labels.
func coresOf(node cluster.NodeTruth, labels string) float64 {
	if strings.Contains(labels, `mode="steal"`) {
		return float64(node.StolenMilli) / 1000
	}
	named := podLabels.FindStringSubmatch(labels)
	if named == nil {
		return float64(node.Used.CPUMilli) / 1000
	}
	for _, pod := range node.Pods {
		if pod.Namespace != named[2] || pod.Name != named[3] {
			continue
		}
		cores := float64(pod.Used.CPUMilli) / 1000
		if named[1] != "" {
			cores /= float64(len(pod.Containers))
		}
		return cores
	}
	return 0
}

// openMetrics formats the history of all series, family by family.
func openMetrics(families map[string][]past, reach time.Duration) []byte {
	var text bytes.Buffer
	for _, family := range slices.Sorted(maps.Keys(families)) {
		kind := "gauge"
		if strings.HasSuffix(family, "_total") {
			kind = "counter"
		}
		fmt.Fprintf(&text, "# TYPE %s %s\n", strings.TrimSuffix(family, "_total"), kind)
		for _, series := range families[family] {
			for back := series.reach(reach); back >= 0; back -= historyStep {
				value := series.value - series.perSecond*back.Seconds()
				at := float64(series.at.Add(-back).UnixMilli()) / 1000
				fmt.Fprintf(&text, "%s{%s} %g %.3f\n", family, series.labels, value, at)
			}
		}
	}
	text.WriteString("# EOF\n")
	return text.Bytes()
}

func labelText(labels map[string]string) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, fmt.Sprintf("%s=%q", name, labels[name]))
	}
	return strings.Join(pairs, ",")
}
