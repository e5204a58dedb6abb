package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
)

// schedulingWords describes the answers to kube-scheduler.
func (s *survey) schedulingWords() {
	if m := s.load.Scoring.Measured; m != nil {
		s.measuredWords(m)
	} else {
		s.predictedWords()
	}
	for _, h := range s.load.Scoring.HotValue {
		s.say("Takes ten of a hundred points off a node for every %s bound to it within %s.", reasons.Count(h.Count, "pod"), span(h.TimeRange.Duration))
	}
}

// predictedWords describes scoring by predicted usage.
func (s *survey) predictedWords() {
	var weights []string
	for _, name := range slices.Sorted(maps.Keys(s.load.Scoring.Weights)) {
		if weight := s.load.Scoring.Weights[name]; weight > 0 {
			weights = append(weights, fmt.Sprintf("%s (weight %d)", name, weight))
		}
	}
	s.sayOf(s.rejected(), " or ", "When kube-scheduler asks, keeps new pods off nodes where %s with them, as long as other nodes qualify.")
	s.sayOf(weights, " and ", "Prefers nodes with the least predicted %s.")
}

// measuredWords describes scoring by measured windows.
func (s *survey) measuredWords(m *policy.MeasuredScoring) {
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
			limits = append(limits, fmt.Sprintf("%s %s is above %s%%", l.Metric, l.Window, number(*l.AbovePercent)))
		case l.FromPercent != nil:
			limits = append(limits, fmt.Sprintf("%s %s is %s%% or more", l.Metric, l.Window, number(*l.FromPercent)))
		}
	}
	while := ", as long as other nodes qualify"
	if m.RejectAll {
		while = ", even if no other is left"
	}
	s.sayOf(limits, " or ", "When kube-scheduler asks, keeps new pods off nodes whose %s"+while+".")
	if len(terms) == 0 {
		s.say("Prefers no node.")
		return
	}
	s.say("Prefers nodes by the formula %s over measured %s.", m.Formula, strings.Join(terms, ", "))
}

// syncWords describes the labels, taints and annotations that are written to nodes.
func (s *survey) syncWords() {
	n := &s.load.NodeSync
	if n.Annotations.Enabled {
		s.say("Writes usage to nodes as annotations for %s.", windowNames(n.Annotations.Windows))
	}
	if n.Label.Enabled {
		s.say("Labels hot nodes %s=%s.", n.Label.Key, n.Label.Value)
	}
	if n.Taint.Enabled {
		s.say("Taints hot nodes %s=%s:PreferNoSchedule.", n.Taint.Key, n.Taint.Value)
	}
	if n.RejectTaint.Enabled {
		s.say("Taints hot nodes and those predicted above their reject line %s=%s:PreferNoSchedule.", n.RejectTaint.Key, n.RejectTaint.Value)
	}
}
