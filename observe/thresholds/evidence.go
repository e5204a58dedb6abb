package thresholds

import (
	"fmt"
	"math"
	"strings"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// Evidence describes one window in which a node is above an evict line.
type Evidence struct {
	Metric usage.Metric
	Window usage.Window
	// Value and Evict are in the policy's unit: percentages, or the metric's own
	// unit.
	Value, Evict float64
	Below        bool // whether lower is worse
	Percent      bool // whether the values are percentages
	// PercentPerMinute is the rate at which memory rises, in percent of
	// allocatable, if the rise is too fast to wait for other windows; 0 for
	// anything else.
	PercentPerMinute float64
}

// InWords describes each piece of evidence.
func InWords(evidence []Evidence) []string {
	words := make([]string, len(evidence))
	for i := range evidence {
		words[i] = evidence[i].String()
	}
	return words
}

// String describes the evidence.
func (e Evidence) String() string { return summary([]Evidence{e}) }

// Summary describes evidence in one line, naming each metric once with all of
// its windows.
func Summary(evidence []Evidence) string {
	var lines []string
	for len(evidence) > 0 {
		n := 1
		for n < len(evidence) && evidence[n].Metric == evidence[0].Metric && evidence[n].Evict == evidence[0].Evict {
			n++
		}
		lines = append(lines, summary(evidence[:n]))
		evidence = evidence[n:]
	}
	return strings.Join(lines, ", ")
}

// summary combines windows of one metric with the same line.
func summary(evidence []Evidence) string {
	first := &evidence[0]
	unit, than := "", "above"
	if first.Percent {
		unit = "%"
	}
	if first.Below {
		than = "below"
	}
	windows := make([]string, len(evidence))
	lowest, highest := first.Value, first.Value
	for i := range evidence {
		windows[i] = evidence[i].Window.String()
		lowest, highest = min(lowest, evidence[i].Value), max(highest, evidence[i].Value)
	}
	value := fmt.Sprintf("%.1f%s", highest, unit)
	if round(lowest) != round(highest) {
		value = fmt.Sprintf("%.1f to %s", lowest, value)
	}
	words := fmt.Sprintf("%s %s (%s) is %s the %g%s evict line", first.Metric, value, strings.Join(windows, ", "), than, round(first.Evict), unit)
	if first.PercentPerMinute > 0 {
		words += fmt.Sprintf(", rising by %.1f%% a minute", first.PercentPerMinute)
	}
	return words
}

func round(v float64) float64 { return math.Round(v*10) / 10 }

// EvidenceOf returns all evidence that a node, given by name, is above its
// evict lines.
func (r *Resolved) EvidenceOf(node string) []Evidence {
	if i := r.view.Snapshot.Index(node); i >= 0 {
		return r.Evidence(i)
	}
	return nil
}

// Evidence returns all evidence that a node is above its evict lines.
func (r *Resolved) Evidence(i int) []Evidence {
	var all []Evidence
	groups := r.pools[r.of[i]].groups
	for k := range groups {
		g := &groups[k]
		rules := r.overBy(i, g)
		for j := range rules {
			one := &rules[j]
			e := Evidence{
				Percent: g.kind != ofSignal || g.metric.OfTime(),
				Metric:  g.metric, Window: r.view.Windows[one.window], Below: one.flip,
				Value: r.value(i, g, one.window, r.view.Nodes[i].Current), Evict: one.levels.Evict,
			}
			if one.flip {
				e.Evict = -e.Evict
			}
			if len(rules) == len(g.newest) && &rules[0] == &g.newest[0] {
				e.PercentPerMinute = 100 * r.view.Nodes[i].Rise.BytesPerMinute / float64(r.view.Snapshot.Nodes[i].Node.Allocatable[cluster.Memory])
			}
			all = append(all, e)
		}
	}
	return all
}
