// Package plan decides, as values, which nodes are hot and which pods to move where: the pure part of
// RealUsageLowNodeUtilization.
//
// Classify gives every node a state with a memory; New makes a Plan of the fewest moves, each with a named landing. Same
// input, same plan. What would take a pod is asked of a Placement, what may be moved comes in as Refused; nothing is
// evicted here.
package plan

import (
	"time"

	"github.com/evenkeel/evenkeel/usage"
)

// State is what a node's usage makes of it.
type State string

// The states of a node.
const (
	Hot     State = "hot"
	Warm    State = "warm"
	Cool    State = "cool"
	Unknown State = "unknown"
)

// Judge says what a node's usage means, by its place in the view.
type Judge interface {
	// Over names what of the node is above its evict line in every window.
	Over(i int) (usage.Metric, bool)
	// Left says whether the node is under all its leave lines, Cool whether it is under all its low lines.
	Left(i int) bool
	Cool(i int) bool
	// Vouched is how long sources themselves have looked at what is over.
	Vouched(i int) time.Duration
}

// HotRule says when a node is called hot.
type HotRule struct {
	// ConsecutiveSamples is how many samples in a row must be over the evict line, one each SampleInterval. A window that a
	// source summed up itself counts as the samples that it is made of.
	ConsecutiveSamples int
	SampleInterval     time.Duration
}

// NodeState is a node's state and how it came to it.
type NodeState struct {
	State State
	Since time.Time
	// Over counts the samples in a row that were over the evict line, Sampled is when the newest of them arrived.
	Over    int
	Sampled time.Time
	// Metric is what was over in the newest sample; empty if nothing was.
	Metric usage.Metric
	// Unknown is why the state is Unknown.
	Unknown usage.Unknown
}

// NotReady is why a node that is not ready is unknown.
const NotReady usage.Unknown = "NodeNotReady"

// Classify gives each node of the view its state, by name, from the states before. Call it once per reading; a reading that
// brings nothing new of a node counts for nothing there.
func Classify(before map[string]NodeState, view *usage.View, judge Judge, rule HotRule) map[string]NodeState {
	after := make(map[string]NodeState, len(view.Nodes))
	for i := range view.Nodes {
		node := &view.Snapshot.Nodes[i].Node
		previous := before[node.Name]
		next := classifier{view, judge, rule}.classify(previous, i)
		if next.Since = previous.Since; next.State != previous.State {
			next.Since = view.At
		}
		after[node.Name] = next
	}
	return after
}

type classifier struct {
	view  *usage.View
	judge Judge
	rule  HotRule
}

func (c classifier) classify(before NodeState, i int) NodeState {
	node, read := &c.view.Snapshot.Nodes[i].Node, &c.view.Nodes[i]
	next := NodeState{Sampled: read.Sampled}
	next.Over, next.Metric = c.overInARow(before, i)
	switch {
	case !node.Ready:
		next.State, next.Unknown = Unknown, NotReady
	case !read.Known():
		next.State, next.Unknown = Unknown, read.Unknown
	case next.Over >= max(c.rule.ConsecutiveSamples, 1), before.State == Hot && !c.judge.Left(i):
		next.State = Hot
	case c.judge.Cool(i):
		next.State = Cool
	default:
		next.State = Warm
	}
	return next
}

// overInARow counts on where a new sample is over the evict line. Samples of a window that is still too short count: what
// they lack is company, not truth.
func (c classifier) overInARow(before NodeState, i int) (int, usage.Metric) {
	read := &c.view.Nodes[i]
	if !c.view.Snapshot.Nodes[i].Node.Ready || !read.Known() && read.Unknown != usage.ShortWindow {
		return 0, ""
	}
	metric, over := c.judge.Over(i)
	switch {
	case !over:
		return 0, ""
	case read.Sampled.Equal(before.Sampled):
		return before.Over, metric
	}
	return before.Over + 1 + c.vouched(i), metric
}

// vouched is how many samples a source has looked at for us.
func (c classifier) vouched(i int) int {
	if c.rule.SampleInterval <= 0 {
		return 0
	}
	return int(c.judge.Vouched(i) / c.rule.SampleInterval)
}

// Keep carries states over a sample that could not be taken: nothing is counted, but what is no longer known is unknown.
func Keep(before map[string]NodeState, view *usage.View) map[string]NodeState {
	after := make(map[string]NodeState, len(view.Nodes))
	for i := range view.Nodes {
		node := &view.Snapshot.Nodes[i].Node
		state, ok := before[node.Name]
		unknown := view.Nodes[i].Unknown
		if !ok && unknown == "" {
			unknown = usage.NoSample
		}
		if !node.Ready {
			unknown = NotReady
		}
		if unknown != "" && state.State != Unknown {
			state = NodeState{State: Unknown, Since: view.At}
		}
		if unknown != "" {
			state.Unknown = unknown
		}
		after[node.Name] = state
	}
	return after
}
