package explain

import (
	"fmt"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/thresholds"
	"github.com/evenkeel/evenkeel/usage"
)

// Node is what there is to say of a node.
type Node struct {
	// Summary says what matters most in words.
	Summary string `json:"summary"`
	Name    string `json:"name"`
	// Pool is the node pool whose lines judge it; empty for the policy's own.
	Pool string `json:"pool,omitempty"`
	// Observed is when it was last judged.
	Observed time.Time  `json:"observed"`
	State    string     `json:"state"`
	Since    *time.Time `json:"since,omitempty"`
	// Unknown is why its state is unknown.
	Unknown string `json:"unknownReason,omitempty"`
	// Source is where its usage comes from, AgeSeconds how old the newest sample is, WindowSeconds how long samples reach back.
	Source        string `json:"source,omitempty"`
	AgeSeconds    int    `json:"ageSeconds"`
	WindowSeconds int    `json:"windowSeconds"`
	// SamplesOver counts the samples in a row that were over its evict lines; SamplesNeeded make it hot.
	SamplesOver   int `json:"samplesOver"`
	SamplesNeeded int `json:"samplesNeeded"`
	// Over is everything by which it is over its evict lines, in words.
	Over    []string `json:"over"`
	Metrics []Metric `json:"metrics"`
	// Limits are the policy's limits by measured usage; any that is passed keeps pods off the node, those of DaemonSets excepted.
	Limits []Limit `json:"measuredLimits,omitempty"`
	// HasToLeave is what has to leave to bring it under its evict lines, absent where its usage is not known.
	HasToLeave *Amounts `json:"hasToLeave,omitempty"`
	// Predicted is what a landing reckons with, absent where that is not known; Ceiling the most of it that keeps the node
	// under its reject lines.
	Predicted        *Amounts  `json:"predicted,omitempty"`
	PredictedPercent *Percents `json:"predictedPercent,omitempty"`
	Ceiling          Ceiling   `json:"ceiling"`
	// InFlight is what bindings and moves have changed since it was observed.
	InFlight Amounts `json:"inFlight"`
	// Closed is why it takes no landing whatever its usage; empty where it may.
	Closed string `json:"closed,omitempty"`
	// MovesFrom and MovesTo are those of the ledger that are in flight.
	MovesFrom []Move `json:"movesFrom"`
	MovesTo   []Move `json:"movesTo"`
	// NoPlan is why there is no plan; what follows is empty then.
	NoPlan string `json:"noPlan,omitempty"`
	// LeftAlone is why it is hot and not cooled, Detail says it in words.
	LeftAlone string `json:"leftAlone,omitempty"`
	Detail    string `json:"detail,omitempty"`
	// Leave and Arrive are the moves that a cycle would make now, Declined the pods that it would not move.
	Leave    []PlannedMove `json:"leave"`
	Arrive   []PlannedMove `json:"arrive"`
	Declined []Declined    `json:"declined"`
}

// Declined is one pod that is not moved off its node.
type Declined struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Reason    string `json:"reason"`
	Detail    string `json:"detail,omitempty"`
}

// OfNode explains a node. The error wraps ErrUnknown for one that is not known.
func OfNode(f *Facts, name string) (Node, error) {
	i := f.View.Snapshot.Index(name)
	if i < 0 {
		return Node{}, fmt.Errorf("node %q is %w; %d nodes are", name, ErrUnknown, len(f.View.Nodes))
	}
	n := f.observed(i)
	n.MovesFrom = f.inFlight(func(m *ledger.Move) bool { return m.From == name })
	n.MovesTo = f.inFlight(func(m *ledger.Move) bool { return m.Node == name })
	f.addPlan(&n)
	n.Summary = n.summary(f.View.At)
	return n, nil
}

func (f *Facts) inFlight(pick func(*ledger.Move) bool) []Move {
	return f.moves(func(m *ledger.Move) bool { return m.InFlight() && pick(m) })
}

// observed says what is known of a node by its usage.
func (f *Facts) observed(i int) Node {
	info, read := &f.View.Snapshot.Nodes[i].Node, &f.View.Nodes[i]
	state := f.States[info.Name]
	board := int32(i) //nolint:gosec // a cluster has fewer than 2^31 nodes
	n := Node{
		Name: info.Name, Pool: f.Lines.Pool(i), Observed: f.View.At.UTC(),
		State: string(state.State), Since: moment(state.Since), Unknown: string(state.Unknown),
		Source: read.Source, AgeSeconds: int(read.Age / time.Second), WindowSeconds: int(read.Span / time.Second),
		SamplesOver: state.Over, SamplesNeeded: max(f.SamplesNeeded, 1), Over: []string{}, Metrics: f.metrics(i), Limits: f.limits(i),
		Ceiling: ceiling(f.Board.Ceiling(board)), InFlight: amounts(f.Board.Adjusted(board)), Closed: closed(info),
	}
	if told(read) {
		need := amounts(f.Lines.Need(i, cluster.Amounts{}).AtLeastZero())
		n.Over, n.HasToLeave = words(f.Lines.Evidence(i)), &need
	}
	if predicted, known := f.Board.Predicted(board); known {
		used, percent := amounts(predicted), percents(predicted.PercentOf(info.Allocatable))
		n.Predicted, n.PredictedPercent = &used, &percent
	}
	return n
}

// told says whether what is measured of a node means anything: also in a window that is still filling, but not when it is too
// old or was refused.
func told(read *usage.NodeUsage) bool { return read.Known() || read.Unknown == reasons.WindowTooShort }

// closed says why a node takes no landings whatever its usage.
func closed(node *cluster.Node) string {
	switch {
	case !node.Ready:
		return "NotReady"
	case !node.Schedulable:
		return "Cordoned"
	case node.Leaving != "":
		return "Leaving: " + node.Leaving
	}
	return ""
}

func words(evidence []thresholds.Evidence) []string {
	said := make([]string, len(evidence))
	for i := range evidence {
		said[i] = evidence[i].String()
	}
	return said
}

// addPlan says what a cycle would do about a node.
func (f *Facts) addPlan(n *Node) {
	n.Declined = []Declined{}
	n.Leave = f.plannedMoves(func(m *strategies.Move) bool { return m.From == n.Name })
	n.Arrive = f.plannedMoves(func(m *strategies.Move) bool { return m.To == n.Name })
	if n.NoPlan = f.without(); f.Planned == nil {
		return
	}
	planned := f.Planned.node(n.Name)
	if planned == nil {
		if n.NoPlan == "" {
			n.NoPlan = "the policy's nodeSelector leaves this node out, or it is not ready"
		}
		return
	}
	n.Closed = planned.Closed
	if planned.State == thresholds.Hot {
		need := amounts(planned.Need.AtLeastZero()) // without what left since the node was observed
		n.HasToLeave = &need
	}
	left := f.Planned.left(n.Name)
	n.LeftAlone, n.Detail = string(left), left.Sentence()
	for i := range f.Planned.Plan.Declined {
		if d := &f.Planned.Plan.Declined[i]; d.Node == n.Name {
			n.Declined = append(n.Declined, Declined{Namespace: d.Namespace, Pod: d.Name, Reason: string(d.Reason), Detail: orElse(d.Detail, d.Reason.Sentence())})
		}
	}
}
