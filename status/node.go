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

// NodeState is the state of a node in all views.
type NodeState struct {
	Name  string `json:"name"`
	State string `json:"state"`
	// NotHot explains why the node is not hot although its measured or predicted usage is
	// above an evict line. NotCool explains why it is not cool although its measured
	// usage is below its low lines. Either is absent if it does not apply.
	NotHot  *Basis `json:"notHot,omitempty"`
	NotCool *Basis `json:"notCool,omitempty"`
}

// Why explains why the node is not hot, or not cool, if its usage suggests that it is;
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

// Node is a node in the reports of explain, top and the page.
type Node struct {
	NodeState
	// Unknown is why the state is unknown.
	Unknown string `json:"unknownReason,omitempty"`
	// Pool is the node pool whose lines apply to the node; empty if the policy's own
	// lines apply.
	Pool string `json:"pool,omitempty"`
	// StolenMilliCores is the CPU that the hypervisor withheld, averaged over five
	// minutes. Percentages refer to the rest.
	StolenMilliCores int64 `json:"stolenMilliCores,omitempty"`
	// Reserve describes the base of the cpu and memory percentages; absent if nothing on
	// the node is reserved.
	Reserve *Reserve `json:"reserve,omitempty"`
}

// Samples describes the origin of a node's usage.
type Samples struct {
	Source string `json:"source,omitempty"`
	// AgeSeconds is the age of the newest sample, and WindowSeconds the time that the
	// samples cover.
	AgeSeconds    int `json:"ageSeconds"`
	WindowSeconds int `json:"windowSeconds"`
}

// Node returns the node at an index of the View.
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
	// Summary describes the most important facts in words.
	Summary string `json:"summary"`
	Node
	// Observed is when the node was last judged.
	Observed time.Time  `json:"observed"`
	Since    *time.Time `json:"since,omitempty"`
	Samples
	// SamplesOver is the number of consecutive samples above the node's evict lines.
	// SamplesNeeded of them make it hot.
	SamplesOver   int `json:"samplesOver"`
	SamplesNeeded int `json:"samplesNeeded"`
	// CountsFrom is when the node's samples start to count; absent unless the node became
	// ready too recently.
	CountsFrom *time.Time `json:"countsFrom,omitempty"`
	// Over describes, in words, the evict lines that the node exceeds.
	Over    []string `json:"over"`
	Metrics []Metric `json:"metrics"`
	// Limits lists the policy's limits by measured usage. Each exceeded limit keeps pods
	// off the node, except pods of DaemonSets.
	Limits []Limit `json:"measuredLimits,omitempty"`
	// HasToLeave is the usage that has to leave to bring the node below its evict lines;
	// absent if the node's usage is unknown.
	HasToLeave *Amounts `json:"hasToLeave,omitempty"`
	// Predicted is the usage that planning assumes; absent if unknown. Ceiling is the
	// highest usage below the node's reject lines.
	Predicted        *Amounts  `json:"predicted,omitempty"`
	PredictedPercent *Percents `json:"predictedPercent,omitempty"`
	Ceiling          Ceiling   `json:"ceiling"`
	// InFlight is the change in usage by bindings and moves since the node was observed.
	InFlight Amounts `json:"inFlight"`
	// Expected is how long the node is expected to stay hot; absent if unknown.
	Expected *Expected `json:"expected,omitempty"`
	// Closed is the reason why the node accepts no moved pods regardless of usage; empty
	// if it does.
	Closed string `json:"closed,omitempty"`
	// MovesFrom and MovesTo are the ledger's moves in flight.
	MovesFrom []RecordedMove `json:"movesFrom"`
	MovesTo   []RecordedMove `json:"movesTo"`
	// NoPlan is why there is no plan; the fields below are then empty.
	NoPlan string `json:"noPlan,omitempty"`
	// Paused describes what pauses evicting; absent if nothing does.
	Paused string `json:"paused,omitempty"`
	// LeftAlone is the reason why the node is hot but not cooled. Detail explains it.
	LeftAlone string `json:"leftAlone,omitempty"`
	Detail    string `json:"detail,omitempty"`
	// Relief is how long the moves off the node take; absent without moves.
	Relief *Relief `json:"relief,omitempty"`
	// Leave and Arrive are the moves off and to the node that a cycle would make now.
	// Declined lists the pods that it would not move.
	Leave    []ExplainedMove `json:"leave"`
	Arrive   []ExplainedMove `json:"arrive"`
	Declined []Declined      `json:"declined"`

	// byPluginsOnly is Planned.ByPluginsOnly.
	byPluginsOnly bool
}

// Expected is how long a node is expected to be hot by CPU.
type Expected struct {
	// HotMinutes is the hot time within the next WithinMinutes if nothing is moved.
	HotMinutes    float64 `json:"hotMinutes"`
	WithinMinutes float64 `json:"withinMinutes"`
	// UnservedCPUMilli is the estimated CPU demand beyond the node's capacity.
	UnservedCPUMilli int64 `json:"unservedCPUMilli,omitempty"`
	// Recurring is the recurring load that makes the node hot; absent if there is none.
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

// RecurringOf converts a recurring peak to the form in which it is reported.
func RecurringOf(a *strategies.Ahead) *Recurring {
	return &Recurring{
		HotMinutes: math.Round(a.HotMinutes), WithinMinutes: a.Within.Minutes(), PeakPercent: Round(a.PeakPercent), PeakAt: a.PeakAt.UTC(),
	}
}

// String returns e in words; empty for nil.
func (e *Expected) String() string {
	if e == nil {
		return ""
	}
	words := fmt.Sprintf("hot for %.0f of the next %.0f minutes", e.HotMinutes, e.WithinMinutes)
	if e.UnservedCPUMilli > 0 {
		words += fmt.Sprintf(", and its demand exceeds its capacity by %.1f cores", float64(e.UnservedCPUMilli)/1000)
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
