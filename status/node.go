package status

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/strategies"
)

// NodeState is the state of a node, as all views report it.
type NodeState struct {
	Name  string `json:"name"`
	State string `json:"state"`
	// NotHot says why it is not hot although it is measured or predicted above an
	// evict line, NotCool why it is not cool although it is measured under its low
	// lines; absent where that is not so.
	NotHot  *Basis `json:"notHot,omitempty"`
	NotCool *Basis `json:"notCool,omitempty"`
}

// Why says why the node is not hot, or not cool, if its usage suggests that it is;
// empty otherwise.
func (n *NodeState) Why() string {
	switch {
	case n.NotHot != nil:
		return n.NotHot.Sentence(n.Name)
	case n.NotCool != nil:
		return n.Name + " is not cool: " + n.NotCool.Text + "."
	}
	return ""
}

// Node is a node as explain, top and the page report it.
type Node struct {
	NodeState
	// Unknown is why the state is unknown.
	Unknown string `json:"unknownReason,omitempty"`
	// Pool is the node pool whose lines judge it; empty for the policy's own.
	Pool string `json:"pool,omitempty"`
	// StolenMilliCores is the CPU that the machine was denied, by the mean of five
	// minutes; the percentages are of what is left.
	StolenMilliCores int64 `json:"stolenMilliCores,omitempty"`
	// Reserve says what the percentages of cpu and memory are of; absent if nothing
	// of the node is reserved.
	Reserve *Reserve `json:"reserve,omitempty"`
}

// Samples says where the usage of a node comes from.
type Samples struct {
	Source string `json:"source,omitempty"`
	// AgeSeconds is how old the newest sample is, WindowSeconds how far back the
	// samples reach.
	AgeSeconds    int `json:"ageSeconds"`
	WindowSeconds int `json:"windowSeconds"`
}

// Node returns the node with an index of the View.
func (f *Facts) Node(i int) Node {
	name, read := f.View.Snapshot.Nodes[i].Node.Name, &f.View.Nodes[i]
	state := f.States[name]
	n := Node{
		NodeState: NodeState{Name: name, State: string(cmp.Or(state.State, thresholds.Unknown))},
		Unknown:   string(state.Unknown), Pool: f.Lines.Pool(i), StolenMilliCores: read.StolenMilliCores, Reserve: reserveOf(read),
	}
	n.NotHot, n.NotCool = f.Bases(i)
	return n
}

func samplesOf(read *usage.NodeUsage) Samples {
	return Samples{Source: read.Source, AgeSeconds: int(read.Age / time.Second), WindowSeconds: int(read.Span / time.Second)}
}

// NodeExplanation explains a node.
type NodeExplanation struct {
	// Summary says what matters most in words.
	Summary string `json:"summary"`
	Node
	// Observed is when it was last judged.
	Observed time.Time  `json:"observed"`
	Since    *time.Time `json:"since,omitempty"`
	Samples
	// SamplesOver counts the samples in a row that were over its evict lines;
	// SamplesNeeded make it hot.
	SamplesOver   int `json:"samplesOver"`
	SamplesNeeded int `json:"samplesNeeded"`
	// CountsFrom is from when its samples count, if it became ready too
	// recently.
	CountsFrom *time.Time `json:"countsFrom,omitempty"`
	// Over lists, in words, how it is over its evict lines.
	Over    []string `json:"over"`
	Metrics []Metric `json:"metrics"`
	// Limits are the policy's limits by measured usage; any that is passed
	// keeps pods off the node, except those of DaemonSets.
	Limits []Limit `json:"measuredLimits,omitempty"`
	// HasToLeave is what has to leave to bring it under its evict lines; absent
	// if its usage is not known.
	HasToLeave *Amounts `json:"hasToLeave,omitempty"`
	// Predicted is the usage that a planned move assumes; absent if that is not
	// known. Ceiling is the most that keeps the node under its reject lines.
	Predicted        *Amounts  `json:"predicted,omitempty"`
	PredictedPercent *Percents `json:"predictedPercent,omitempty"`
	Ceiling          Ceiling   `json:"ceiling"`
	// InFlight is what bindings and moves changed since it was observed.
	InFlight Amounts `json:"inFlight"`
	// Expected is for how long it will be hot; absent where that is not known.
	Expected *Expected `json:"expected,omitempty"`
	// Closed is why it takes no moved pods whatever its usage; empty if it may.
	Closed string `json:"closed,omitempty"`
	// MovesFrom and MovesTo are the ledger's moves in flight.
	MovesFrom []RecordedMove `json:"movesFrom"`
	MovesTo   []RecordedMove `json:"movesTo"`
	// NoPlan is why there is no plan; what follows is empty then.
	NoPlan string `json:"noPlan,omitempty"`
	// Paused is what pauses evicting; absent if nothing does.
	Paused string `json:"paused,omitempty"`
	// LeftAlone is why it is hot and not cooled; Detail puts it into words.
	LeftAlone string `json:"leftAlone,omitempty"`
	Detail    string `json:"detail,omitempty"`
	// Relief is how long the moves off it take; absent if there are none.
	Relief *Relief `json:"relief,omitempty"`
	// Leave and Arrive are the moves that a cycle would make now, Declined the
	// pods that it would not move.
	Leave    []ExplainedMove `json:"leave"`
	Arrive   []ExplainedMove `json:"arrive"`
	Declined []Declined      `json:"declined"`
}

// Expected is for how long a node is expected to be hot by CPU.
type Expected struct {
	// HotMinutes are those of the next WithinMinutes, if nothing is moved.
	HotMinutes    float64 `json:"hotMinutes"`
	WithinMinutes float64 `json:"withinMinutes"`
	// UnservedCPUMilli is how much more its pods are estimated to want than it has.
	UnservedCPUMilli int64 `json:"unservedCPUMilli,omitempty"`
	// Recurring is what comes back on it; absent if nothing does that would make it
	// hot.
	Recurring *Recurring `json:"recurring,omitempty"`
}

// Recurring is the time that a node is expected to be hot in each period, or in each
// four hours if that is longer.
type Recurring struct {
	HotMinutes    float64   `json:"hotMinutes"`
	WithinMinutes float64   `json:"withinMinutes"`
	PeakPercent   float64   `json:"peakPercent"`
	PeakAt        time.Time `json:"peakAt"`
}

func expectedOf(given *strategies.Expected) *Expected {
	if given == nil {
		return nil
	}
	e := &Expected{HotMinutes: math.Round(given.HotMinutes), WithinMinutes: forecast.Horizon.Minutes(), UnservedCPUMilli: given.Unserved}
	if given.Recurring != nil {
		e.Recurring = RecurringOf(given.Recurring)
	}
	return e
}

// RecurringOf returns what recurs as it is reported.
func RecurringOf(a *strategies.Ahead) *Recurring {
	return &Recurring{
		HotMinutes: math.Round(a.HotMinutes), WithinMinutes: a.Within.Minutes(), PeakPercent: Round(a.PeakPercent), PeakAt: a.PeakAt.UTC(),
	}
}

// String says it in words; nothing of a nil one.
func (e *Expected) String() string {
	if e == nil {
		return ""
	}
	words := fmt.Sprintf("hot for %.0f of the next %.0f minutes", e.HotMinutes, e.WithinMinutes)
	if e.UnservedCPUMilli > 0 {
		words += fmt.Sprintf(", and asked for %.1f cores more than it has", float64(e.UnservedCPUMilli)/1000)
	}
	r := e.Recurring
	if r == nil {
		return words
	}
	recurs := fmt.Sprintf("hot for %.0f minutes of each %s, most at %s (%.1f%% cpu)", r.HotMinutes, InMinutes(r.WithinMinutes), r.PeakAt.Format("15:04 UTC"), r.PeakPercent)
	if e.HotMinutes == 0 {
		return recurs
	}
	return words + ", and " + recurs
}
