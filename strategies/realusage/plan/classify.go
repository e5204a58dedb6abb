// Package plan decides, as values, which nodes are hot and which pods to move where: the pure part of
// RealUsageLowNodeUtilization.
//
// Classify gives every node a state with a memory; New makes a Plan of the fewest moves, each with a named landing. Same
// input, same plan. What would take a pod is asked of a Placement, what may be moved comes in as Refused; nothing is
// evicted here.
package plan

import (
	"time"

	"github.com/evenkeel/evenkeel/cluster"
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

// Lines are percentages of allocatable per resource; +Inf where a resource has no line.
type Lines struct {
	// Low: at or below it on every resource a node is cool.
	Low cluster.Percents
	// Reject: the ceiling under which a landing must stay.
	Reject cluster.Percents
	// Evict: above it on any resource, in every window, a node is hot.
	Evict cluster.Percents
	// Leave: at or below it on every resource a node is no longer hot. It resets state and causes no move.
	Leave cluster.Percents
}

// HotRule says when a node is called hot.
type HotRule struct {
	// Windows must all agree.
	Windows []usage.Window
	// ConsecutiveSamples is how many samples in a row must be over the evict line.
	ConsecutiveSamples int
}

// NodeState is a node's state and how it came to it.
type NodeState struct {
	State State
	Since time.Time
	// Over counts the samples in a row that were over the evict line, Sampled is when the newest of them arrived.
	Over    int
	Sampled time.Time
	// Unknown is why the state is Unknown.
	Unknown usage.Unknown
}

// NotReady is why a node that is not ready is unknown.
const NotReady usage.Unknown = "NodeNotReady"

// Classify gives each node of the view its state, by name, from the states before. Call it once per reading; a reading that
// brings nothing new of a node counts for nothing there.
func Classify(before map[string]NodeState, view *usage.View, lines Lines, rule HotRule) map[string]NodeState {
	after := make(map[string]NodeState, len(view.Nodes))
	for i := range view.Nodes {
		node := &view.Snapshot.Nodes[i].Node
		previous := before[node.Name]
		next := classify(previous, node, &view.Nodes[i], lines, rule)
		if next.Since = previous.Since; next.State != previous.State {
			next.Since = view.At
		}
		after[node.Name] = next
	}
	return after
}

func classify(before NodeState, node *cluster.Node, read *usage.NodeUsage, lines Lines, rule HotRule) NodeState {
	next := NodeState{Over: overInARow(before, node, read, lines, rule), Sampled: read.Sampled}
	switch {
	case !node.Ready:
		next.State, next.Unknown = Unknown, NotReady
	case !read.Known():
		next.State, next.Unknown = Unknown, read.Unknown
	case next.Over >= max(rule.ConsecutiveSamples, 1),
		before.State == Hot && !under(read.Current, node.Allocatable, lines.Leave, rule.Windows):
		next.State = Hot
	case under(read.Predicted, node.Allocatable, lines.Low, rule.Windows):
		next.State = Cool
	default:
		next.State = Warm
	}
	return next
}

// overInARow counts on where a new sample is over the evict line. Samples of a window that is still too short count: what
// they lack is company, not truth.
func overInARow(before NodeState, node *cluster.Node, read *usage.NodeUsage, lines Lines, rule HotRule) int {
	trusted := node.Ready && (read.Known() || read.Unknown == usage.ShortWindow)
	switch {
	case !trusted || !over(read.Current, node.Allocatable, lines.Evict, rule.Windows):
		return 0
	case read.Sampled.Equal(before.Sampled):
		return before.Over
	}
	return before.Over + 1
}

// over says whether one resource is above its line in every window.
func over(used usage.WindowAmounts, allocatable cluster.Amounts, line cluster.Percents, windows []usage.Window) bool {
	for r := range line {
		all := len(windows) > 0
		for _, w := range windows {
			all = all && used[w].PercentOf(allocatable)[r] > line[r]
		}
		if all {
			return true
		}
	}
	return false
}

// under says whether every resource is at or below its line in every window. No window says nothing.
func under(used usage.WindowAmounts, allocatable cluster.Amounts, line cluster.Percents, windows []usage.Window) bool {
	for _, w := range windows {
		percents := used[w].PercentOf(allocatable)
		for r := range line {
			if percents[r] > line[r] {
				return false
			}
		}
	}
	return len(windows) > 0
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
