package preview

import (
	"time"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/status/explain"
)

// Kind is the kind of a Report, of the group and version of policies.
const Kind = "Plan"

// Report is a plan as it is printed.
type Report struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Made is when it was planned.
	Made time.Time `json:"made"`
	// Closed is why no plan was made; absent when one was.
	Closed string `json:"closed,omitempty"`
	// Paused is what keeps the plan from being carried out now; absent if
	// nothing does.
	Paused string `json:"paused,omitempty"`
	// Provisional is what the plan lacks to be that of a cycle; absent if it
	// lacks nothing.
	Provisional string `json:"provisional,omitempty"`
	// HotLeftOut are hot nodes that the policy's nodeSelector leaves out.
	HotLeftOut []string `json:"hotLeftOut,omitempty"`
	// OtherProfiles of the policy also move pods by real usage. Their moves are not
	// shown.
	OtherProfiles []string   `json:"otherProfiles,omitempty"`
	Summary       Summary    `json:"summary"`
	Steering      Steering   `json:"steering"`
	Moves         []Move     `json:"moves"`
	Declined      []Declined `json:"declined"`
	Nodes         []Node     `json:"nodes"`
}

// Move is one planned move.
type Move struct {
	Namespace string          `json:"namespace"`
	Pod       string          `json:"pod"`
	Owner     string          `json:"owner"`
	From      string          `json:"from"`
	To        string          `json:"to"`
	Reason    string          `json:"reason"`
	Message   string          `json:"message"`
	Usage     explain.Amounts `json:"usage"`
	// Cost is what moving it costs, 1 being a plain pod.
	Cost float64 `json:"cost"`
	// FromBefore to ToAfter are the usage of source and destination, in the
	// order of the moves.
	FromBefore explain.Percents `json:"fromBefore"`
	FromAfter  explain.Percents `json:"fromAfter"`
	ToBefore   explain.Percents `json:"toBefore"`
	ToAfter    explain.Percents `json:"toAfter"`
	// HotMinutesSaved is how much less source and destination are expected to be
	// hot within four hours, absent where it is not known how long the source will
	// be hot.
	HotMinutesSaved float64 `json:"hotMinutesSaved,omitempty"`
	// Ahead is what is expected of a source that is not hot yet; absent of a hot
	// one. HotMinutesSaved is then within its withinMinutes.
	Ahead *explain.Recurring `json:"ahead,omitempty"`
}

// Declined is one pod that is not moved off a hot node.
type Declined struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Owner     string `json:"owner,omitempty"`
	Node      string `json:"node"`
	Reason    string `json:"reason"`
	Detail    string `json:"detail,omitempty"`
	// Until is when the reason ends, where that is known ahead; another may
	// follow. Passing says that it ends by itself, at a time that is not known.
	Until   *time.Time `json:"until,omitempty"`
	Passing bool       `json:"passing,omitempty"`
}

// Node is one node; its percentages are absent while its usage is unknown.
type Node struct {
	Name  string `json:"name"`
	State string `json:"state"`
	// Reason is why a hot node is not cooled; Detail puts it into words.
	Reason string `json:"reason,omitempty"`
	Detail string `json:"detail,omitempty"`
	// Relief is how long the moves off it take; absent if there are none.
	Relief *explain.Relief `json:"relief,omitempty"`
	// Exceeded are the evict lines that it is beyond.
	Exceeded []ledger.Exceeded `json:"exceeded,omitempty"`
	// CountsFrom is from when samples of a node that is beyond an evict line count;
	// absent unless it became ready too recently.
	CountsFrom *time.Time `json:"countsFrom,omitempty"`
	// NotHot is why it is not hot although it is measured or predicted above an evict
	// line, NotCool why it is not cool although it is measured under its low lines;
	// absent where that is not so.
	NotHot  *explain.Basis `json:"notHot,omitempty"`
	NotCool *explain.Basis `json:"notCool,omitempty"`
	// Measured is its usage of the last five minutes. Before and After are what the
	// plan assumes without and with the moves: of a hot node what counts of the
	// measured usage, of any other node a prediction, which estimates new pods.
	Measured *explain.Percents `json:"measured,omitempty"`
	Before   *explain.Percents `json:"before,omitempty"`
	After    *explain.Percents `json:"after,omitempty"`
}

// Summary counts what a plan would do.
type Summary struct {
	Nodes int `json:"nodes"`
	// UnknownNodes have no usage that is known well enough.
	UnknownNodes int `json:"unknownNodes"`
	HotNodes     int `json:"hotNodes"`
	// NotHotNodes are measured above an evict line and not hot.
	NotHotNodes int `json:"notHotNodes"`
	// CooledNodes are hot nodes that the moves bring under their evict lines,
	// StayHotNodes those that they do not.
	CooledNodes  int `json:"cooledNodes"`
	StayHotNodes int `json:"stayHotNodes"`
	Moves        int `json:"moves"`
	DeclinedPods int `json:"declinedPods"`
	// HighestCPU and HighestMemory are the fullest nodes, now and after the moves;
	// absent if no usage is known.
	HighestCPU    *Highest `json:"highestCPU,omitempty"`
	HighestMemory *Highest `json:"highestMemory,omitempty"`
}

// Highest is the fullest node: as measured now, and as expected after the moves.
type Highest struct {
	Before Level `json:"before"`
	After  Level `json:"after"`
}

// Level is a node and what it uses of its allocatable.
type Level struct {
	Node    string  `json:"node"`
	Percent float64 `json:"percent"`
}
