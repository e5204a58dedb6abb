package lint

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/policy"
)

func (s *survey) readsWords() {
	u := &s.load.Usage
	var names []string
	for i := range u.Sources {
		names = append(names, sourceName(&u.Sources[i]))
	}
	s.say("Reads usage from %s every %s; a node without a sample of the last %s is unknown and left alone.",
		strings.Join(names, ", else from "), span(u.SampleInterval.Duration), span(u.MaxAge.Duration))
}

func sourceName(source *policy.Source) string {
	if server := source.Config.Describe().Server; server != nil && server.Address != "" {
		return fmt.Sprintf("%s at %s", source.Type, server.Address)
	}
	return source.Type
}

// evictsWords describes what makes a node hot, what ends that state, and how many nodes
// must be known.
func (s *survey) evictsWords() {
	s.hotNodesWords()
	if s.moves() && s.load.Usage.MinCoveragePercent > 0 {
		s.say("Evicts nothing while less than %s%% of the ready nodes are known.", number(s.load.Usage.MinCoveragePercent))
	}
}

func (s *survey) hotNodesWords() {
	does := "Evicts from"
	switch sync := &s.load.NodeSync; {
	case !s.relieves && !sync.Marks():
		return
	case !s.relieves:
		does = "Calls hot those"
	}
	before := len(s.does)
	s.hotWords(s.lines, does+" nodes")
	for i := range s.load.NodePools {
		pool := &s.load.NodePools[i]
		s.hotWords(pool.Lines, fmt.Sprintf("%s nodes of pool %s", does, pool.Name))
	}
	if len(s.does) == before {
		s.say("Calls no node hot, because no metric has an evict line.")
	}
}

// worthWords describes how much a move has to save, and which usage is expected.
func (s *survey) worthWords() {
	e := &s.load.Eviction
	if !s.relieves || e.Forecast == policy.ForecastNone {
		return
	}
	if saves := e.MinHotTimeSaved.Duration; saves > 0 {
		s.say("Moves a pod off a node that is hot by cpu alone only if that saves %s of hot time, or less if the node is far above its line or the pod is small.", span(saves))
	}
	if period := e.Recurs(); period > 0 {
		s.say("Expects usage to recur every %s, and relieves nodes before it makes them hot.", span(period))
	}
}

// strategiesWords adds the strategies' own descriptions.
func (s *survey) strategiesWords() {
	for _, strategy := range s.strategies {
		s.does = append(s.does, strategy.Describe().Does...)
	}
}

// hotWords describes which nodes are hot according to the given lines. does describes
// what happens to them.
func (s *survey) hotWords(lines policy.Lines, does string) {
	for _, m := range s.measures(lines) {
		above := m.above(s.load)
		if above == "" {
			continue
		}
		text := fmt.Sprintf("%s whose %s is %s for %s", does, m.metric, above, samples(s.load))
		if m.lines.Evict != nil && s.relieves {
			text += fmt.Sprintf(", until it is predicted %s", m.level(*m.lines.Evict, "at or below", "at or above"))
		}
		if m.lines.Leave != nil && m.lines.Evict != nil && *m.lines.Leave != *m.lines.Evict {
			text += fmt.Sprintf("; such a node counts as hot until it is %s", m.level(*m.lines.Leave, "below", "above"))
		}
		s.say("%s.", text)
	}
}

// measure describes the levels of one metric in words.
type measure struct {
	metric   usage.Metric
	lines    policy.MetricLines
	reversed bool
	unit     string
}

func (s *survey) measures(lines policy.Lines) []measure {
	var all []measure
	for _, metric := range lines.Metrics() {
		all = append(all, measure{metric: metric, lines: lines[metric], reversed: s.load.Usage.LowerIsWorse(metric), unit: unitOf(metric)})
	}
	return all
}

// above describes when the metric is over its evict line in every judged window; empty if it has no evict line.
func (m measure) above(load *policy.LoadPolicy) string {
	var order []string
	windows := map[string][]string{}
	for _, w := range load.Windows(policy.Lines{m.metric: m.lines}) {
		evict := m.lines.In(w).Evict
		if evict == nil {
			continue
		}
		level := m.level(*evict, "above", "below")
		if windows[level] == nil {
			order = append(order, level)
		}
		windows[level] = append(windows[level], w.String())
	}
	for i, level := range order {
		order[i] = fmt.Sprintf("%s in %s", level, strings.Join(windows[level], " and "))
	}
	return strings.Join(order, " and ")
}

// level describes one level. reversed replaces word if lower values are worse.
func (m measure) level(value float64, word, reversed string) string {
	if m.reversed {
		word = reversed
	}
	if m.lines.Deviation {
		return fmt.Sprintf("%s the mean plus %s points", word, number(value))
	}
	return fmt.Sprintf("%s %s%s", word, number(value), m.unit)
}

// unitOf returns the unit of a metric's levels.
func unitOf(metric usage.Metric) string {
	switch metric {
	case usage.CPU, usage.Memory, usage.CPUPressure, usage.MemoryPressure, usage.IOPressure, policy.MemoryAvailable:
		return "%"
	default:
		return ""
	}
}

func (s *survey) landsWords() {
	if !s.moves() {
		return
	}
	if startup := s.load.Hot.Startup.Duration; startup > 0 {
		s.say("Does not count usage as evidence for the first %s after a node became ready or a pod's newest container started.", span(startup))
	}
	if rising := &s.load.Hot.RisingMemory; s.load.RisingWindow() > 0 && (s.lines[usage.Memory].Evict != nil || s.lines[policy.MemoryAvailable].Evict != nil) {
		s.say("Does not wait for the windows if memory has been above its evict line for %s and, at its current rate, will reach %s%% within %s.",
			span(s.load.RisingWindow()), number(rising.FullPercent), span(rising.Within.Duration))
	}
	var cool []string
	for _, m := range s.measures(s.lines) {
		switch low := m.lines.Low; {
		case low == nil:
		case m.lines.Deviation:
			cool = append(cool, fmt.Sprintf("%s is at least %s points below the mean", m.metric, number(*low)))
		default:
			cool = append(cool, fmt.Sprintf("%s is %s", m.metric, m.level(*low, "at or below", "at or above")))
		}
	}
	s.sayOf(cool, " and ", "Moves pods only to nodes whose %s.")
	s.sayOf(s.rejected(), " or ", "Lands no pod where %s with it.")
}

// rejected describes, for each metric, the predicted usage above which nodes are
// rejected.
func (s *survey) rejected() []string {
	var rejected []string
	for _, m := range s.measures(s.lines) {
		if reject := m.lines.Reject; reject != nil {
			rejected = append(rejected, fmt.Sprintf("%s would be predicted %s", m.metric, m.level(*reject, "above", "below")))
		}
	}
	return rejected
}

// samples describes how long a node has to be over a line.
func samples(load *policy.LoadPolicy) string {
	n := load.Hot.ConsecutiveSamples
	if n == 1 {
		return "1 sample"
	}
	return fmt.Sprintf("%d samples in a row (%s)", n, span(time.Duration(n)*load.Usage.SampleInterval.Duration))
}

func windowNames(windows []usage.Window) string {
	names := make([]string, len(windows))
	for i, w := range windows {
		names[i] = w.String()
	}
	return strings.Join(names, " and ")
}

// span formats a duration without Go's trailing zero units.
func span(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func number(value float64) string { return strconv.FormatFloat(value, 'f', -1, 64) }
