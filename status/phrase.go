package status

import (
	"cmp"
	"fmt"
	"slices"
)

// lineKind is a kind of line that decides a node's state.
type lineKind string

const (
	evictLine lineKind = "evict line"
	leaveLine lineKind = "leave line"
	lowLine   lineKind = "low line"
)

// read reports whether a window is beyond the line, and returns the judged value and the
// line.
func (k lineKind) read(m *Metric, w *Window) (beyond bool, value, at *float64) {
	switch k {
	case evictLine:
		return m.Over && w.Evict != nil, cmp.Or(w.Current, w.Measured), w.Evict
	case leaveLine:
		return w.AboveLeave, cmp.Or(w.Current, w.Measured), w.Leave
	case lowLine:
	}
	return w.AboveLow, cmp.Or(w.Predicted, w.Measured), w.Low
}

// phrases lists the metrics that are beyond a kind of line, and their windows.
func phrases(metrics []Metric, kind lineKind) []string {
	var list []string
	for i := range metrics {
		m := &metrics[i]
		var beyond []*Window
		for k := range m.Windows {
			if is, _, _ := kind.read(m, &m.Windows[k]); is {
				beyond = append(beyond, &m.Windows[k])
			}
		}
		if len(beyond) > 0 {
			list = append(list, kind.phrase(m, beyond))
		}
	}
	return list
}

// phrase describes one metric: "cpu avg_5m 81.2% and p50_5m 80.9% are above the
// evict line 65%".
func (k lineKind) phrase(m *Metric, beyond []*Window) string {
	parts, lines := make([]string, len(beyond)), make([]string, len(beyond))
	for i, w := range beyond {
		_, value, at := k.read(m, w)
		parts[i], lines[i] = w.Window+" "+m.say(value), m.line(at)
	}
	line := "the " + string(k) + " " + lines[0]
	if len(slices.Compact(slices.Clone(lines))) > 1 {
		line = "their " + string(k) + "s"
		for i := range parts {
			parts[i] += " (" + lines[i] + ")"
		}
	}
	return fmt.Sprintf("%s %s %s %s %s", m.Name, Enumerated(parts), either(len(beyond), "is", "are"), m.than(), line)
}

// partPhrases lists the metrics that are beyond their evict line in only some windows,
// and the windows in which they are not.
func partPhrases(metrics []Metric) []string {
	var list []string
	for i := range metrics {
		m := &metrics[i]
		var beyond []*Window
		var others []string
		for k := range m.Windows {
			switch w := &m.Windows[k]; {
			case w.AboveEvict:
				beyond = append(beyond, w)
			case w.Evict != nil:
				others = append(others, w.Window+" "+m.say(cmp.Or(w.Current, w.Measured)))
			}
		}
		if len(beyond) == 0 || len(others) == 0 {
			continue
		}
		list = append(list, fmt.Sprintf("%s, but %s %s not", evictLine.phrase(m, beyond), Enumerated(others), either(len(others), "is", "are")))
	}
	return list
}

func (m *Metric) than() string {
	if m.LowerIsWorse {
		return "below"
	}
	return "above"
}

func (m *Metric) say(v *float64) string { return m.Text("%.1f", v, "unknown") }

func (m *Metric) line(v *float64) string { return m.Text("%g", v, "none") }

// Text formats a value with its unit. If the value is unknown, it returns absent.
func (m *Metric) Text(format string, v *float64, absent string) string {
	if v == nil {
		return absent
	}
	return fmt.Sprintf(format, *v) + m.unit()
}

func (m *Metric) unit() string {
	if m.Percent {
		return "%"
	}
	return ""
}
