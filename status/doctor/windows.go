package doctor

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
)

// longWindow is the length above which a window that starts empty takes too long to fill. The windows of the shipped
// policy are shorter.
const longWindow = 15 * time.Minute

// examineWindows finds judged windows that no source provides. Such windows fill only
// while a process runs.
func examineWindows(p *Installation, n *notes) {
	if p.Readings == nil || p.answered() == 0 {
		return
	}
	var given, fills, long []string
	for _, window := range p.judgedWindows() {
		switch {
		case window == usage.Last || p.sourceSpan(window):
			given = append(given, window.String())
		case window.Over > longWindow && !p.remembers():
			long = append(long, window.String())
		default:
			fills = append(fills, window.String())
		}
	}
	if len(given) > 0 {
		n.ok(list(given), "The sources provide them, so a process knows them from its first reading.")
	}
	if len(fills) > 0 {
		p.filling(n, list(fills))
	}
	if len(long) > 0 {
		n.warning(list(long), "No source provides history for them. Evenkeel computes them in memory, so they cover less time than their name until a process has been up that long.").
			fix("Put a source with history first: Prometheus or Annotations.\nusage:\n  sources:\n    - type: Prometheus\n      prometheus:\n        address: http://prometheus.monitoring:9090")
	}
}

// filling reports short windows, and windows filled from a source's history.
func (p *Installation) filling(n *notes, windows string) {
	switch {
	case p.remembers():
		n.ok(windows, "Evenkeel computes them in memory, filled from a source's history when a process starts.")
	case p.Mode == ModeRun:
		n.ok(windows, "No source provides history for them, so a one-shot run samples for %v (usage.observationPeriod) before it decides.", p.Load.Usage.ObservationPeriod.Duration)
	default:
		n.ok(windows, "Evenkeel computes them in memory: they count from %v after a process has started, and cover less time than their name until it has been up that long.",
			p.Load.Hot.MinWindow.Duration)
	}
}

// judgedWindows returns the windows to which the policy's lines apply.
func (p *Installation) judgedWindows() []usage.Window {
	var all []usage.Window
	for _, lines := range p.Load.AllLines() {
		all = append(all, p.Load.Windows(lines)...)
	}
	return usage.Distinct(nil, append(all, p.Load.Scoring.Measured.Windows()...))
}

// sourceSpan reports whether sources provide a window for at least minCoveragePercent of the nodes with usage.
func (p *Installation) sourceSpan(window usage.Window) bool {
	w := p.Readings.View.WindowIndex(window)
	if w < 0 {
		return false
	}
	known, with := p.nodesWith(func(node *usage.NodeUsage) bool { return node.SourceSpan[w] >= window.Over })
	return known > 0 && 100*float64(with) >= p.Load.Usage.MinCoveragePercent*float64(known)
}

// remembers reports whether a source that answers has history.
func (p *Installation) remembers() bool {
	return slices.ContainsFunc(p.Readings.Sources, func(r Reading) bool { return r.Err == nil && r.Remembers })
}

// examineMetrics finds metrics that have lines but that no source provides.
func examineMetrics(p *Installation, n *notes) {
	if p.Readings == nil || p.answered() == 0 {
		return
	}
	judged := p.judged()
	for k, metric := range p.Readings.View.Signals {
		if !judged[metric] {
			continue
		}
		known, with := p.nodesWith(func(node *usage.NodeUsage) bool {
			return slices.ContainsFunc(node.Signals[k], func(v float64) bool { return !math.IsNaN(v) })
		})
		summary := fmt.Sprintf("It has lines, and %d of %s with usage report it.", with, reasons.Count(known, "node"))
		switch {
		case known == 0:
		case with == known:
			n.ok(string(metric), "%s", summary)
		case with == 0:
			n.problem(string(metric), "It has lines, but no source reports it for any node, so they have no effect.").fix(fixSignal(p.Load, metric))
		default:
			n.warning(string(metric), "%s Its lines have no effect on the others.", summary).fix(fixSignal(p.Load, metric))
		}
	}
}

// nodesWith counts the nodes with usage, and those among them for which has returns true.
func (p *Installation) nodesWith(has func(*usage.NodeUsage) bool) (known, with int) {
	for i := range p.Readings.View.Nodes {
		node := &p.Readings.View.Nodes[i]
		if node.Sampled.IsZero() {
			continue
		}
		known++
		if has(node) {
			with++
		}
	}
	return known, with
}

func fixSignal(load *policy.LoadPolicy, metric usage.Metric) string {
	listed := ""
	if !metric.OfTime() {
		listed = "  metrics:\n    - " + asListed(load, metric) + "\n"
	}
	query := fmt.Sprintf("a Prometheus source with an expression for it:\nusage:\n%s  sources:\n    - type: Prometheus\n      prometheus:\n"+
		"        queries:\n          nodes:\n            %s: {expr: ...}", listed, metric)
	if listed != "" {
		return "It takes " + query
	}
	series := "node-exporter's node_pressure_*"
	if metric == usage.CPUContention {
		series = "cAdvisor's container_pressure_cpu_*"
	}
	return "It requires pressure stall information (PSI) on the nodes (cgroup v2, kernel not booted with psi=0) and one of: a Prometheus\n" +
		"source with " + series + "; a Kubelet source with endpoint Summary and the kubelets' feature KubeletPSI; or\n" + query
}

// asListed returns the name of a metric in the form in which the policy lists it.
func asListed(load *policy.LoadPolicy, name usage.Metric) string {
	for _, metric := range load.Usage.Metrics {
		if metric.Name == name && metric.Relieves != "" {
			return fmt.Sprintf("{name: %s, lowerIsWorse: %t, relieves: %s}", name, metric.LowerIsWorse, metric.Relieves)
		}
	}
	return fmt.Sprintf("{name: %s}", name)
}
