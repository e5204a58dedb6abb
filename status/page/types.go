package page

import (
	"time"

	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/status"
)

// Kind is the kind of a Page, in the same group and version as policies.
const Kind = "Page"

// Facts holds the knowledge of a process when its page is requested.
type Facts struct {
	// Facts has no View before the first reading, and never contains a plan. The plan is
	// in Cycle.
	status.Facts

	Now time.Time
	// Ready is the number of ready nodes, and Fresh the number of those whose usage is
	// known.
	Ready, Fresh int
	// Cycle is the last cycle of this process; nil if it has run none or another process
	// leads.
	Cycle *status.Cycle
	// OtherProfiles lists the profiles whose plans are not part of Cycle.
	OtherProfiles []string
	// Moving is what the policy moves pods by.
	Moving status.Moves

	Stops   Stops
	Sources []Source
	Process Process
}

// Stops holds the causes that stop evicting. Causes that do not apply are empty.
type Stops struct {
	// Usage explains why usage is insufficient for evictions.
	Usage string
	// Hold is the reason why evictions are on hold until HoldUntil.
	Hold      string
	HoldUntil time.Time
	// Ledger explains why the stored ledger cannot be read.
	Ledger string
	// Safeguard is the reason of the calendar, the budget or the breaker.
	Safeguard reasons.Reason
	// Left is the number of evictions that the hourly budget still allows; negative
	// without a budget or if this process does not evict.
	Left int
}

// Page holds the content of the page.
type Page struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Observed is when usage was last judged; absent before the first reading.
	Observed *time.Time `json:"observed,omitempty"`
	Headline Headline   `json:"headline"`
	// ReadyNodes is the number of ready nodes, and FreshNodes the number of those whose
	// usage is known.
	ReadyNodes int `json:"readyNodes"`
	FreshNodes int `json:"freshNodes"`
	// Provisional is true if some nodes are shown by their newest reading alone, because
	// their windows are still filling.
	Provisional bool `json:"provisional,omitempty"`
	// Levels counts the nodes at each level, the worst first.
	Levels []LevelCount `json:"levels"`
	Lines  []Line       `json:"lines"`
	// Hot holds the hottest of the hot nodes. HotNodes is the number of all hot nodes.
	Hot      []HotNode `json:"hot"`
	HotNodes int       `json:"hotNodes"`
	// NotHot explains why the hottest of the nodes above an evict line are not hot.
	NotHot []NotHotNode `json:"notHot"`
	// Moves lists the moves in flight, then recently ended moves, newest first.
	Moves []status.RecordedMove `json:"moves"`
	// Cycle is when the last cycle of this process planned; absent if it has run none.
	Cycle    *time.Time             `json:"cycle,omitempty"`
	Declined []status.DeclinedGroup `json:"declined"`
	// OtherProfiles lists the policy's profiles that also move pods by real usage but
	// whose plans are not shown.
	OtherProfiles []string `json:"otherProfiles,omitempty"`
	Evicting      Evicting `json:"evicting"`
	Sources       []Source `json:"sources"`
	Process       Process  `json:"process"`
	// Nodes are sorted by name.
	Nodes []Node `json:"nodes"`

	// hottest holds the nodes sorted by heat.
	hottest []*Node
	now     time.Time
	// byPlugins describes the plan of what descheduler plugins ask for; empty if the
	// policy has no such plugin.
	byPlugins string
}

// Evicting states whether anything may be evicted.
type Evicting struct {
	// Stopped lists, in words, the reasons why nothing may be evicted.
	Stopped []string `json:"stopped"`
	// BudgetLeft is the number of evictions that the hourly budget still allows; absent
	// without a budget or if this process does not evict.
	BudgetLeft *int `json:"budgetLeft,omitempty"`
}

// Source is the result of the last reading of a usage source.
type Source struct {
	status.Source
	// Nodes is the number of nodes whose usage comes from the source. OldestSeconds is
	// the highest age of their newest samples, and NewestSeconds the lowest.
	Nodes         int `json:"nodes"`
	NewestSeconds int `json:"newestSeconds"`
	OldestSeconds int `json:"oldestSeconds"`
	// Rejected is the number of rejected samples.
	Rejected int `json:"rejected,omitempty"`
}

// Process describes the process that answers.
type Process struct {
	status.Process
	Identity string `json:"identity"`
	Version  string `json:"version,omitempty"`
	// Role describes what the process does besides observing.
	Role string `json:"role"`
	// Leader is the holder of the Lease; empty if unknown.
	Leader   string    `json:"leader,omitempty"`
	Replicas []Replica `json:"replicas"`
	// PolicyGeneration is the number of policies that the process has applied.
	// PolicyProblem is why the changed file is not in effect.
	PolicyGeneration int    `json:"policyGeneration"`
	PolicyProblem    string `json:"policyProblem,omitempty"`
	// LedgerGeneration is the generation of the newest stored ledger that the process has
	// read.
	LedgerGeneration int64 `json:"ledgerGeneration"`
}

// Replica is a pod of the same owner.
type Replica struct {
	Pod   string `json:"pod"`
	Node  string `json:"node"`
	Ready bool   `json:"ready"`
	// This is true for the process that answers.
	This bool `json:"this,omitempty"`
}

// HotNode is a hot node, with the reason and what is done about it.
type HotNode struct {
	Name string `json:"name"`
	// By describes the metrics that are above an evict line.
	By string `json:"by"`
	// Summary explains the node in a sentence. Action is the part of it that describes
	// what is done about the node.
	Summary string `json:"summary"`
	Action  string `json:"action"`
	// cooling is true if the node is no longer above its evict lines.
	cooling bool
}

// NotHotNode is a node that is above an evict line but not hot.
type NotHotNode struct {
	Name string `json:"name"`
	// Summary is a sentence that explains why the node is not hot.
	Summary string `json:"summary"`
}

// Headline is the most important message on the page.
type Headline struct {
	// Node is the hottest node; empty if no usage is known.
	Node string `json:"node,omitempty"`
	// Text contains the node's name, By describes its usage, and Action describes what is
	// done about it.
	Text   string `json:"text"`
	By     string `json:"by"`
	Action string `json:"action"`
}

// Level is the position of a node's usage among its lines.
type Level string

// The levels, the worst first.
const (
	// Hot means that the node has been above its evict line for long enough.
	Hot Level = "hot"
	// Cooling means that the node is hot and below its evict line, but not yet below its
	// leave line.
	Cooling Level = "cooling"
	// AboveEvict means that the node is above its evict line but not hot, because it has
	// not been above the line for long enough, or because part of its usage does not
	// count.
	AboveEvict Level = "above evict"
	// AboveReject means that the node is above its reject line, so that new pods are kept
	// off.
	AboveReject Level = "above reject"
	// Warm means that the node is between its low line and its reject line.
	Warm Level = "warm"
	// Cool means that the node is below its low line.
	Cool Level = "cool"
	// Unknown means that the node's usage is unknown.
	Unknown Level = "unknown"
)

// Node is one node.
type Node struct {
	status.Node
	Level Level `json:"level"`
	// Provisional is true if Level is based on the newest reading alone.
	Provisional bool `json:"provisional,omitempty"`
	// CPU and Memory are the values of the newest reading in percent of allocatable (see
	// Reserve); absent without a reading.
	CPU    *float64 `json:"cpu,omitempty"`
	Memory *float64 `json:"memory,omitempty"`
	Pods   int      `json:"pods"`

	// rank is the rank of Level. heat orders nodes of the same level.
	rank int
	heat float64
}

// LevelCount is the number of nodes at a level.
type LevelCount struct {
	Level Level  `json:"level"`
	Nodes int    `json:"nodes"`
	Means string `json:"means"`
}

// Line is a metric over a window with its levels, as written in the policy.
type Line struct {
	Pool   string `json:"pool,omitempty"`
	Metric string `json:"metric"`
	Window string `json:"window"`
	status.Lines
}
