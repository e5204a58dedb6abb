package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
)

// schedulingWords says what kube-scheduler is answered.
func schedulingWords(s *Subject) []string {
	said := s.predicted()
	if m := s.load.Scoring.Measured; m != nil {
		said = measuredWords(m)
	}
	for _, h := range s.load.Scoring.HotValue {
		said = append(said, fmt.Sprintf("Takes ten of a hundred points off a node for every %s bound to it within %s.", reasons.Count(h.Count, "pod"), span(h.TimeRange.Duration)))
	}
	return said
}

// predicted is scoring by predicted usage.
func (s *Subject) predicted() []string {
	var rejected, weights []string
	for _, metric := range s.lines.Metrics() {
		m := measure{metric: metric, lines: s.lines[metric], reversed: s.load.Usage.LowerIsWorse(metric), unit: unitOf(metric)}
		if m.lines.Reject != nil {
			rejected = append(rejected, fmt.Sprintf("%s would be predicted %s", metric, m.level(*m.lines.Reject, "above", "below")))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.load.Scoring.Weights)) {
		if weight := s.load.Scoring.Weights[name]; weight > 0 {
			weights = append(weights, fmt.Sprintf("%s (weight %d)", name, weight))
		}
	}
	var said []string
	if len(rejected) > 0 {
		said = append(said, fmt.Sprintf("Asked by kube-scheduler, keeps new pods off nodes where %s with them, while others will do.", strings.Join(rejected, " or ")))
	}
	return append(said, fmt.Sprintf("Prefers nodes with the least predicted %s.", strings.Join(weights, " and ")))
}

// measuredWords is scoring by measured windows.
func measuredWords(m *policy.MeasuredScoring) []string {
	var terms, limits []string
	for _, t := range m.Terms {
		term := fmt.Sprintf("%s %s", t.Metric, t.Window)
		if len(m.Terms) > 1 {
			term += fmt.Sprintf(" (weight %s)", number(t.Weight))
		}
		terms = append(terms, term)
	}
	for _, l := range m.Limits {
		switch {
		case l.AbovePercent != nil:
			limits = append(limits, fmt.Sprintf("%s %s is above %s %%", l.Metric, l.Window, number(*l.AbovePercent)))
		case l.FromPercent != nil:
			limits = append(limits, fmt.Sprintf("%s %s is %s %% or more", l.Metric, l.Window, number(*l.FromPercent)))
		}
	}
	var said []string
	if len(limits) > 0 {
		while := ", while others will do"
		if m.RejectAll {
			while = ", even if no other is left"
		}
		said = append(said, fmt.Sprintf("Asked by kube-scheduler, keeps new pods off nodes whose %s%s.", strings.Join(limits, " or "), while))
	}
	if len(terms) == 0 {
		return append(said, "Prefers no node.")
	}
	return append(said, fmt.Sprintf("Prefers nodes by the formula %s over measured %s.", m.Formula, strings.Join(terms, ", ")))
}

// syncWords says what is written to nodes.
func syncWords(s *Subject) []string {
	n := &s.load.NodeSync
	var said []string
	if n.Annotations.Enabled {
		said = append(said, fmt.Sprintf("Writes usage to nodes as annotations for %s.", windowNames(n.Annotations.Windows)))
	}
	if n.Label.Enabled {
		said = append(said, fmt.Sprintf("Labels hot nodes %s=%s.", n.Label.Key, n.Label.Value))
	}
	if n.Taint.Enabled {
		said = append(said, fmt.Sprintf("Taints hot nodes %s=%s:PreferNoSchedule.", n.Taint.Key, n.Taint.Value))
	}
	return said
}
