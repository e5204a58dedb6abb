package prometheus

import (
	"fmt"
	"math"
	"slices"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/source"
)

// cell is one query's value for one node at one time. If two values for a node contradict
// each other, the node has no value.
type cell struct {
	value float64
	state cellState
	own   bool // scraped at the node's own address
}

type cellState uint8

const (
	empty cellState = iota
	known
	disputed
)

// maxUnmatched bounds the distinct series without a node that are kept.
const maxUnmatched = 4096

// column holds one query's values for all nodes, at one time or, for history,
// at several.
type column struct {
	keptAnswer
	origin
	nodes  []*cluster.NodePods
	query  *nodeQuery
	steps  int
	cells  []cell
	series int
	// notFraction is true if some value cannot be a fraction.
	notFraction bool
}

func newColumn(query *nodeQuery, snapshot *cluster.Snapshot, index *nodeIndex, steps int) *column {
	return &column{
		query: query, nodes: snapshot.Nodes, origin: newOrigin(index), steps: steps,
		cells: make([]cell, len(snapshot.Nodes)*steps), keptAnswer: keptAnswer{unmatched: map[string]bool{}},
	}
}

// find returns the node of a series and whether the series was scraped at that node's own
// address. It records a series that belongs to no node.
func (c *column) find(s *series) (node int, own, ok bool) {
	c.series++
	node, ok = c.index.find(s)
	if c.query.builtIn {
		c.seen(s)
	}
	switch {
	case !ok:
		if len(c.unmatched) < maxUnmatched {
			c.unmatched[c.index.example(s)] = true
		}
		return 0, false, false
	case !c.query.builtIn:
		return node, false, true
	}
	own, why := c.judge(s, node)
	if why != "" {
		c.foreign(node, why)
		return 0, false, false
	}
	c.counts(s, node, own)
	return node, own, true
}

// foreign counts a series that is rejected for a node.
func (c *column) foreign(node int, why string) {
	c.problems.Add(usage.Foreign, shown(fmt.Sprintf("%s of node %q %s", c.query, c.nodes[node].Node.Name, why)))
}

// instant adds a series of an instant query.
func (c *column) instant(s *series) {
	node, own, ok := c.find(s)
	if !ok {
		return
	}
	if len(s.points) == 0 {
		c.problems.Add(usage.Unreadable, fmt.Sprintf("%s: no plain value in %s", c.query, s))
		return
	}
	c.evaluated = s.points[0].at
	c.set(node, 0, own, s.points[0].value)
}

// set stores a value. A value that was scraped at the node's own address replaces others.
// If several values agree, the lowest counts, so that a node is hot only according to all
// of them.
func (c *column) set(node, step int, own bool, raw float64) {
	of := &c.nodes[node].Node
	at := &c.cells[node*c.steps+step]
	if at.own && !own {
		c.foreign(node, notItsAddress)
		return
	}
	value, cause := convert(raw, c.query.unit, c.query.metric, of)
	if cause != "" {
		c.problems.Add(cause, fmt.Sprintf("%s of node %q: %v %s", c.query, of.Name, raw, c.query.unit))
		return
	}
	c.notFraction = c.notFraction || raw <= 0 || raw > fractionLike
	switch {
	case at.state == empty:
		*at = cell{value, known, own}
	case own && !at.own:
		c.foreign(node, notItsAddress)
		*at = cell{value, known, own}
	case at.state == known && !c.agree(at.value, value, of):
		at.state = disputed
		c.problems.Add(usage.Duplicate, fmt.Sprintf("%s of node %q: both %.6g and %.6g", c.query, of.Name, at.value, value))
	case at.state == known:
		at.value = min(at.value, value)
	}
}

const (
	// agreePart is the share of the value by which the results of two servers for the
	// same node may differ. agreePercent is the difference allowed in percent of the
	// whole, so that the servers also agree on idle nodes.
	agreePart    = 0.10
	agreePercent = 5
)

// agree reports whether two values may be measurements of the same node by two servers.
func (c *column) agree(a, b float64, node *cluster.Node) bool {
	whole := 0.0
	if resource, ok := resourceOf(c.query.metric); ok {
		whole = float64(node.Capacity[resource])
	} else if slices.Contains(presetMetrics, c.query.metric) {
		whole = 100
	}
	return math.Abs(a-b) <= max(agreePart*max(math.Abs(a), math.Abs(b)), agreePercent/100.0*whole)
}

// finish checks a column as a whole. Percentages that are all above 0 and at most 1.5 are
// treated as fractions, because a cluster that uses so little on every node needs no
// balancing anyway.
func (c *column) finish() {
	if c.series == 0 && c.query.metric != usage.CPUStolen { // physical machines may not report it
		c.problems.Add(usage.Unreadable, nothing(c.query.expression))
	}
	c.judgeOrigins()
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

// judgeOrigins drops the values that may not belong to this cluster's nodes.
func (c *column) judgeOrigins() {
	if !c.query.builtIn {
		return
	}
	settled := c.settled()
	mixed, all := c.mixed(c.query.String()+" of nodes", &c.problems)
	for i := range c.cells {
		switch at := &c.cells[i]; {
		case at.state == empty:
		case all || mixed[i/c.steps]:
			*at = cell{}
		case settled && !at.own:
			c.foreign(i/c.steps, notItsAddress)
			*at = cell{}
		}
	}
}

// nothing describes a query without a result. It quotes the expression as a user would
// type it.
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
