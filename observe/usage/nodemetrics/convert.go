package nodemetrics

import (
	"fmt"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/source"
)

const (
	// mostFraction is the highest value that may be a fraction, with a margin for
	// overshoot. No cluster uses so low a percentage of its memory.
	mostFraction = 1.5
	// mostPercent is the highest value that may be a percentage.
	mostPercent = 400
)

// fractions reports whether values that should be percentages are fractions: all values
// of all nodes, including memory, are at most mostFraction. Fewer values prove nothing,
// because a single node may be that idle, and so may the CPUs of a whole cluster.
func fractions(answers []answer) bool {
	memory := false
	for i := range answers {
		for k, v := range answers[i].values {
			if v.known && v.number > mostFraction {
				return false
			}
			memory = memory || v.known && columns[k].resource == cluster.Memory
		}
	}
	return memory
}

// converter turns answers into readings.
type converter struct {
	unit source.Unit
	// tooLow is true if all values are rejected because they look like fractions.
	tooLow   bool
	problems *usage.Problems
}

func (c *converter) readings(node *cluster.Node, a *answer) []usage.Reading {
	var readings []usage.Reading
	for i, v := range a.values {
		if !v.known {
			continue
		}
		if cause, why := c.wrong(v, node.Capacity[columns[i].resource]); cause != "" {
			c.problems.Add(cause, fmt.Sprintf("node %q: %s is %v: %s", node.Name, columns[i].key, v.number, why))
			continue
		}
		share := v.number
		if c.unit == source.Percent {
			share /= 100
		}
		readings = append(readings, usage.Reading{
			Metric: columns[i].metric, Window: columns[i].window, At: a.at,
			Value: share * float64(node.Capacity[columns[i].resource]),
		})
	}
	return readings
}

// wrong returns the cause for which a value is left out, with an explanation. The cause
// is empty if the value is kept.
func (c *converter) wrong(v value, capacity int64) (cause usage.Cause, why string) {
	switch {
	case v.twice:
		return usage.Duplicate, "given twice"
	case v.number < 0:
		return usage.Absurd, "it is negative"
	case c.unit == source.Fraction && v.number > mostFraction:
		return usage.Contradictory, "too large for a fraction, which is the unit that the policy sets"
	case c.tooLow:
		return usage.Contradictory, "all values are fractions, but the policy sets percentages"
	case v.number > mostPercent:
		return usage.Absurd, "far more than the node has"
	case capacity <= 0:
		return usage.Unreadable, "the node's capacity is unknown"
	}
	return "", ""
}
