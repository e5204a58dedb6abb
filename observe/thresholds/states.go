package thresholds

import (
	"time"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
)

// State is how a node's usage is classified.
type State string

// The states of a node.
const (
	Hot     State = "hot"
	Warm    State = "warm"
	Cool    State = "cool"
	Unknown State = "unknown"
)

// HotRule defines when a node becomes hot.
type HotRule struct {
	// ConsecutiveSamples is the number of samples in a row that must be over the evict
	// line. One is taken per SampleInterval. A window that a source has computed counts
	// as the number of samples that it covers.
	ConsecutiveSamples int
	SampleInterval     time.Duration
	// Startup is the time after a node becomes ready during which its usage does not
	// count as evidence; 0 for none. A window that reaches back into that time does not
	// count either.
	Startup time.Duration
}

// NodeState is a node's state and the reasons for it.
type NodeState struct {
	State State
	Since time.Time
	// Over counts the consecutive samples that were over the evict line; Sampled
	// is when the newest of them arrived.
	Over    int
	Sampled time.Time
	// Metric is the metric that was over in the newest sample; empty if none was.
	Metric usage.Metric
	// Starting is when usage over the line starts to count, because the node will then
	// have been ready for long enough. It is zero once that time has come.
	Starting time.Time
	// Unknown is why the state is Unknown.
	Unknown reasons.Reason
}

// Classify returns each node's state by name, based on the previous states. Call it once
// per reading. A reading that has no new data for a node does not count for that node.
func (r *Resolved) Classify(before map[string]NodeState, rule HotRule) map[string]NodeState {
	after := make(map[string]NodeState, len(r.view.Nodes))
	for i := range r.view.Nodes {
		node := &r.view.Snapshot.Nodes[i].Node
		previous := before[node.Name]
		next := r.classify(previous, i, rule)
		if next.Since = previous.Since; next.State != previous.State {
			next.Since = r.view.At
		}
		after[node.Name] = next
	}
	return after
}

func (r *Resolved) classify(before NodeState, i int, rule HotRule) NodeState {
	node, read := &r.view.Snapshot.Nodes[i].Node, &r.view.Nodes[i]
	next := NodeState{Sampled: read.Sampled}
	next.Over, next.Metric = r.overInARow(before, i, rule)
	if counts := r.countsFrom(i, rule.Startup); node.Ready && counts.After(r.view.At) {
		next.Over, next.Starting = 0, counts
	}
	switch {
	case !node.Ready:
		next.State, next.Unknown = Unknown, reasons.NodeNotReady
	case !read.Known():
		next.State, next.Unknown = Unknown, read.Unknown
		if read.Unknown == reasons.NoUsageSample && node.Virtual() != "" {
			next.Unknown = reasons.NodeVirtual
		}
	case next.Over >= max(rule.ConsecutiveSamples, 1), before.State == Hot && next.Starting.IsZero() && !r.Left(i):
		next.State = Hot
	case next.Metric == "" && r.Cool(i):
		next.State = Cool
	default:
		next.State = Warm
	}
	return next
}

// ClassifyNow classifies a node by its lines alone, regardless of its previous
// state; Unknown if its usage is unknown.
func (r *Resolved) ClassifyNow(i int) State {
	if !r.view.Nodes[i].Known() {
		return Unknown
	}
	if _, over := r.Over(i); over {
		return Hot
	}
	if r.Cool(i) {
		return Cool
	}
	return Warm
}

// countsFrom returns the time from which the windows in which a node is over, or their
// last five minutes, no longer reach back into the node's startup; zero if it is unknown.
// A ReadySince that is further in the future than the startup lasts comes from a wrong
// clock and is ignored.
func (r *Resolved) countsFrom(i int, startup time.Duration) time.Time {
	since := r.view.Snapshot.Nodes[i].Node.ReadySince
	if startup <= 0 || since.IsZero() || since.Sub(r.view.At) > startup {
		return time.Time{}
	}
	return since.Add(startup + min(r.reach(i), usage.Avg5m.Over))
}

// overInARow counts consecutive samples over the evict line. Samples of a window that is
// still too short count, because they are valid even though there are few of them.
func (r *Resolved) overInARow(before NodeState, i int, rule HotRule) (int, usage.Metric) {
	read := &r.view.Nodes[i]
	if !r.view.Snapshot.Nodes[i].Node.Ready || !read.Known() && read.Unknown != reasons.WindowTooShort {
		return 0, ""
	}
	metric, over := r.Over(i)
	switch {
	case !over:
		return 0, ""
	case read.Sampled.Equal(before.Sampled):
		return before.Over, metric
	}
	return before.Over + 1 + rule.samplesIn(r.SourceSpan(i)), metric
}

// samplesIn returns how many of our samples a time span covered by a source
// counts for.
func (h HotRule) samplesIn(d time.Duration) int {
	if h.SampleInterval <= 0 {
		return 0
	}
	return int(d / h.SampleInterval)
}

// Keep carries states over a failed sample: nothing is counted, but nodes that
// have become unknown turn Unknown.
func Keep(before map[string]NodeState, view *usage.View) map[string]NodeState {
	after := make(map[string]NodeState, len(view.Nodes))
	for i := range view.Nodes {
		node := &view.Snapshot.Nodes[i].Node
		state, ok := before[node.Name]
		unknown := view.Nodes[i].Unknown
		if !ok && unknown == "" {
			unknown = reasons.NoUsageSample
		}
		if !node.Ready {
			unknown = reasons.NodeNotReady
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
