package prometheus

import (
	"fmt"
	"math"
	"slices"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/usage"
	"github.com/evenkeel/evenkeel/usage/source"
)

// cell is one query's value of one node at one time. A node with two
// contradicting values has none.
type cell struct {
	value float64
	state cellState
}

type cellState uint8

const (
	empty cellState = iota
	known
	disputed
)

// maxUnmatched bounds the distinct series without a node that are kept.
const maxUnmatched = 4096

// column holds one query's values of all nodes, at one time or, from history,
// at several.
type column struct {
	keptAnswer
	query  *nodeQuery
	nodes  []*cluster.NodePods
	index  *nodeIndex
	steps  int
	cells  []cell
	series int
	// notFraction is set by values that cannot be fractions.
	notFraction bool
}

func newColumn(query *nodeQuery, snapshot *cluster.Snapshot, index *nodeIndex, steps int) *column {
	return &column{
		query: query, nodes: snapshot.Nodes, index: index, steps: steps,
		cells: make([]cell, len(snapshot.Nodes)*steps), keptAnswer: keptAnswer{unmatched: map[string]bool{}},
	}
}

// find returns the node of a series, and records a series without one.
func (c *column) find(s *series) (int, bool) {
	c.series++
	node, ok := c.index.find(s)
	if !ok && len(c.unmatched) < maxUnmatched {
		c.unmatched[c.index.example(s)] = true
	}
	return node, ok
}

// instant adds a series of an instant query.
func (c *column) instant(s *series) {
	node, ok := c.find(s)
	if !ok {
		return
	}
	if len(s.points) == 0 {
		c.problems.Add(usage.Unreadable, fmt.Sprintf("%s: no plain value in %s", c.query, s))
		return
	}
	c.evaluated = s.points[0].at
	c.set(node, 0, s.points[0].value)
}

// set stores a value.
func (c *column) set(node, step int, raw float64) {
	of := &c.nodes[node].Node
	value, cause := convert(raw, c.query.unit, c.query.metric, of)
	if cause != "" {
		c.problems.Add(cause, fmt.Sprintf("%s of node %q: %v %s", c.query, of.Name, raw, c.query.unit))
		return
	}
	c.notFraction = c.notFraction || raw <= 0 || raw > fractionLike
	at := &c.cells[node*c.steps+step]
	switch {
	case at.state == empty:
		at.value, at.state = value, known
	case at.state == known && !c.agree(at.value, value, of):
		at.state = disputed
		c.problems.Add(usage.Duplicate, fmt.Sprintf("%s of node %q: both %.6g and %.6g", c.query, of.Name, at.value, value))
	}
}

const (
	// agreePart is by how much of the value two servers that measure the same
	// may differ; agreePercent is of the whole, so that they agree on idle
	// nodes as well.
	agreePart    = 0.10
	agreePercent = 5
)

// agree reports whether two values may be one node's as two servers see it.
func (c *column) agree(a, b float64, node *cluster.Node) bool {
	whole := 0.0
	if resource, ok := resourceOf(c.query.metric); ok {
		whole = float64(node.Capacity[resource])
	} else if slices.Contains(presetMetrics, c.query.metric) {
		whole = 100
	}
	return math.Abs(a-b) <= max(agreePart*max(math.Abs(a), math.Abs(b)), agreePercent/100.0*whole)
}

// finish checks the column as a whole. Percentages that are all above 0 and at
// most 1.5 are fractions: a cluster that uses so little everywhere needs no
// balancing.
func (c *column) finish() {
	if c.series == 0 {
		c.problems.Add(usage.Unreadable, nothing(c.query.expression))
	}
	if _, ofResource := resourceOf(c.query.metric); !ofResource || c.query.unit != source.Percent || c.notFraction {
		return
	}
	for i := range c.cells {
		if c.cells[i].state == known {
			c.cells[i].state = disputed
			c.problems.Add(usage.Contradictory,
				fmt.Sprintf("%s of node %q looks like a fraction, not percent", c.query, c.nodes[i/c.steps].Node.Name))
		}
	}
}

// nothing describes a query without an answer, as a person would type it.
func nothing(expression string) string { return `query "` + shown(expression) + `" returned nothing` }

// names returns the known values by node name.
func (c *column) names() map[string]float64 {
	values := make(map[string]float64, len(c.nodes))
	for i, node := range c.nodes {
		if c.cells[i].state == known {
			values[node.Node.Name] = c.cells[i].value
		}
	}
	return values
}
