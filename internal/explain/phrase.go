package explain

import (
	"fmt"
	"strings"
)

// judged is one kind of line and the windows that are beyond it.
type judged struct {
	line   string
	beyond func(*Metric, *Window) bool
	value  func(*Window) *float64
	at     func(*Window) *float64
}

func current(w *Window) *float64 {
	if w.Current == nil {
		return w.Measured
	}
	return w.Current
}

func predicted(w *Window) *float64 {
	if w.Predicted == nil {
		return w.Measured
	}
	return w.Predicted
}

// The kinds of lines that make a node what it is.
var (
	evictLine = judged{
		"evict line", func(m *Metric, w *Window) bool { return m.Over && w.Evict != nil }, current,
		func(w *Window) *float64 { return w.Evict },
	}
	leaveLine = judged{
		"leave line", func(_ *Metric, w *Window) bool { return w.AboveLeave }, current,
		func(w *Window) *float64 { return w.Leave },
	}
	lowLine = judged{
		"low line", func(_ *Metric, w *Window) bool { return w.AboveLow }, predicted,
		func(w *Window) *float64 { return w.Low },
	}
)

// phrases says which metrics are beyond a kind of line, in which windows.
func phrases(metrics []Metric, by judged) []string {
	var said []string
	for i := range metrics {
		m := &metrics[i]
		var beyond []*Window
		for k := range m.Windows {
			if w := &m.Windows[k]; by.beyond(m, w) {
				beyond = append(beyond, w)
			}
		}
		if len(beyond) > 0 {
			said = append(said, by.phrase(m, beyond))
		}
	}
	return said
}

// phrase says it of one metric: "cpu avg_5m 81.2 % and p50_5m 80.9 % are above the evict line 65 %".
func (by judged) phrase(m *Metric, beyond []*Window) string {
	one := sameLine(beyond, by.at)
	parts := make([]string, len(beyond))
	for i, w := range beyond {
		parts[i] = w.Window + " " + m.say(by.value(w))
		if !one {
			parts[i] += " (" + m.line(by.at(w)) + ")"
		}
	}
	verb, line := "are", "their "+by.line+"s"
	if len(beyond) == 1 {
		verb = "is"
	}
	if one {
		line = "the " + by.line + " " + m.line(by.at(beyond[0]))
	}
	return fmt.Sprintf("%s %s %s %s %s", m.Name, enumerated(parts), verb, m.than(), line)
}

// partPhrases says which metrics are beyond their evict line in some windows and in which they are not.
func partPhrases(metrics []Metric) []string {
	var said []string
	for i := range metrics {
		m := &metrics[i]
		var beyond []*Window
		var others []string
		for k := range m.Windows {
			switch w := &m.Windows[k]; {
			case w.AboveEvict:
				beyond = append(beyond, w)
			case w.Evict != nil:
				others = append(others, w.Window+" "+m.say(current(w)))
			}
		}
		if len(beyond) == 0 || len(others) == 0 {
			continue
		}
		verb := "are"
		if len(others) == 1 {
			verb = "is"
		}
		said = append(said, fmt.Sprintf("%s, but %s %s not", evictLine.phrase(m, beyond), enumerated(others), verb))
	}
	return said
}

func sameLine(windows []*Window, at func(*Window) *float64) bool {
	for _, w := range windows {
		if at(w) == nil || *at(w) != *at(windows[0]) {
			return false
		}
	}
	return true
}

func (m *Metric) than() string {
	if m.LowerIsWorse {
		return "below"
	}
	return "above"
}

func (m *Metric) say(v *float64) string {
	if v == nil {
		return "unknown"
	}
	return fmt.Sprintf("%.1f%s", *v, m.unit())
}

func (m *Metric) line(v *float64) string {
	if v == nil {
		return "none"
	}
	return fmt.Sprintf("%g%s", *v, m.unit())
}

func (m *Metric) unit() string {
	if m.Percent {
		return " %"
	}
	return ""
}

// enumerated joins words with commas and an "and".
func enumerated(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}
