package explain

import (
	"cmp"
	"fmt"
	"slices"
)

// lineKind is a kind of line that makes a node what it is.
type lineKind string

const (
	evictLine lineKind = "evict line"
	leaveLine lineKind = "leave line"
	lowLine   lineKind = "low line"
)

// read reports whether a window is beyond the line, what of it is judged, and
// where the line is.
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

// phrases says which metrics are beyond a kind of line, in which windows.
func phrases(metrics []Metric, kind lineKind) []string {
	var said []string
	for i := range metrics {
		m := &metrics[i]
		var beyond []*Window
		for k := range m.Windows {
			if is, _, _ := kind.read(m, &m.Windows[k]); is {
				beyond = append(beyond, &m.Windows[k])
			}
		}
		if len(beyond) > 0 {
			said = append(said, kind.phrase(m, beyond))
		}
	}
	return said
}

// phrase says it of one metric: "cpu avg_5m 81.2 % and p50_5m 80.9 % are above
// the evict line 65 %".
func (k lineKind) phrase(m *Metric, beyond []*Window) string {
	parts, lines := make([]string, len(beyond)), make([]string, len(beyond))
	for i, w := range beyond {
		_, value, at := k.read(m, w)
		parts[i], lines[i] = w.Window+" "+m.say(value), m.line(at)
	}
	verb, line := "are", "the "+string(k)+" "+lines[0]
	if len(beyond) == 1 {
		verb = "is"
	}
	if len(slices.Compact(slices.Clone(lines))) > 1 {
		line = "their " + string(k) + "s"
		for i := range parts {
			parts[i] += " (" + lines[i] + ")"
		}
	}
	return fmt.Sprintf("%s %s %s %s %s", m.Name, enumerated(parts), verb, m.than(), line)
}

// partPhrases says which metrics are beyond their evict line in some windows
// and in which they are not.
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
				others = append(others, w.Window+" "+m.say(cmp.Or(w.Current, w.Measured)))
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

func (m *Metric) than() string {
	if m.LowerIsWorse {
		return "below"
	}
	return "above"
}

func (m *Metric) say(v *float64) string { return m.text("%.1f", v, "unknown") }

func (m *Metric) line(v *float64) string { return m.text("%g", v, "none") }

func (m *Metric) text(format string, v *float64, absent string) string {
	if v == nil {
		return absent
	}
	return fmt.Sprintf(format, *v) + m.unit()
}

func (m *Metric) unit() string {
	if m.Percent {
		return " %"
	}
	return ""
}
