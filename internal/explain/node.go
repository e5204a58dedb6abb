package explain

import (
	"time"
)

// Node is the explanation of a node.
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
	// Source is where its usage comes from, AgeSeconds how old the newest
	// sample is, WindowSeconds how long samples reach back.
	Source        string `json:"source,omitempty"`
	AgeSeconds    int    `json:"ageSeconds"`
	WindowSeconds int    `json:"windowSeconds"`
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
	// Closed is why it takes no moved pods whatever its usage; empty if it may.
	Closed string `json:"closed,omitempty"`
	// MovesFrom and MovesTo are the ledger's moves in flight.
	MovesFrom []Move `json:"movesFrom"`
	MovesTo   []Move `json:"movesTo"`
	// NoPlan is why there is no plan; what follows is empty then.
	NoPlan string `json:"noPlan,omitempty"`
	// Paused is what pauses evicting; absent if nothing does.
	Paused string `json:"paused,omitempty"`
	// LeftAlone is why it is hot and not cooled; Detail puts it into words.
	LeftAlone string `json:"leftAlone,omitempty"`
	Detail    string `json:"detail,omitempty"`
	// Leave and Arrive are the moves that a cycle would make now, Declined the
	// pods that it would not move.
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
