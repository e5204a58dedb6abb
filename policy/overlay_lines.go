package policy

import (
	"maps"

	"github.com/evenkeel/evenkeel/usage"
)

// sparseLines are lines as a document writes them, with what is absent nil.
type sparseLines map[usage.Metric]sparseMetricLines

type sparseMetricLines struct {
	Levels `json:",inline"`

	Deviation *bool                   `json:"deviation"`
	Windows   map[usage.Window]Levels `json:"windows"`
}

// alone returns the lines of a policy: each metric that is named, over its own
// defaults.
func (s sparseLines) alone() Lines {
	lines := make(Lines, len(s))
	for name, given := range s {
		lines[name] = given.over(name, plainLines(name, false))
	}
	return lines
}

// over returns the lines of a pool: those of the policy with the pool's on top.
func (s sparseLines) over(base Lines) Lines {
	lines := s.alone()
	for name, below := range base {
		lines[name] = s[name].over(name, below)
	}
	return lines
}

// over returns the lines of the named metric with the given ones on top. Levels
// and distances are numbers of different meaning, so whoever switches between
// them starts from the defaults.
func (s sparseMetricLines) over(name usage.Metric, base MetricLines) MetricLines {
	if s.Deviation != nil && *s.Deviation != base.Deviation {
		base = plainLines(name, *s.Deviation)
	}
	lines := MetricLines{Levels: base.under(s.Levels), Deviation: base.Deviation}
	if len(base.Windows)+len(s.Windows) == 0 {
		return lines
	}
	lines.Windows = make(map[usage.Window]Levels, len(base.Windows)+len(s.Windows))
	for _, windows := range []map[usage.Window]Levels{base.Windows, s.Windows} {
		for w, given := range windows {
			lines.Windows[w] = lines.Windows[w].under(given)
		}
	}
	return lines
}

// plainLines are the lines of a metric that is named and nothing else.
func plainLines(name usage.Metric, deviation bool) MetricLines {
	switch {
	case deviation && hasMean(name):
		return MetricLines{Levels: defaultDistances(), Deviation: true}
	case deviation:
		return MetricLines{Deviation: true} // which validation refuses
	}
	return defaults().Lines[name]
}

// clone returns a copy that shares nothing with m.
func (m MetricLines) clone() MetricLines {
	return sparseMetricLines{}.over("", m)
}

// clone returns a copy that shares nothing with l.
func (l Lines) clone() Lines {
	out := maps.Clone(l)
	for name, lines := range out {
		out[name] = lines.clone()
	}
	return out
}
