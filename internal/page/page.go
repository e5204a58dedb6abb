// Package page is what the page of a process shows: which nodes are hot, by
// what, and what happens about it; moves, declined pods, what keeps evicting
// back, and how the process is doing.
//
// New makes the values, which are also served as JSON, and Render makes HTML of
// them, with the heat map and the time line as SVG. The package decides nothing:
// states, reasons and moves come from the rooms that decide. It does no I/O but
// write to the writer that it is given, and never asks for the time.
package page

import (
	"time"

	"github.com/evenkeel/evenkeel/internal/explain"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
)

// Kind is the kind of a Page, of the group and version of policies.
const Kind = "Page"

// Facts are what a process knows when its page is asked for.
type Facts struct {
	// Facts has no View before the first reading, and no plan: what is planned is
	// Cycle's.
	explain.Facts

	Now time.Time
	// Ready counts the ready nodes, Fresh those whose usage is known.
	Ready, Fresh int
	// Cycle is the last one of this process; nil if it has run none, or another
	// process leads.
	Cycle   *explain.Cycle
	Stops   Stops
	Sources []Source
	Process Process
}

// Stops are what keeps evicting back, each empty if it does not.
type Stops struct {
	// Usage is why usage is not good enough.
	Usage string
	// Hold is why the ledger holds evicting, until HoldUntil.
	Hold      string
	HoldUntil time.Time
	// Ledger is why the stored ledger cannot be read.
	Ledger string
	// Safeguard is the calendar's, the budget's or the breaker's reason.
	Safeguard reasons.Reason
	// Left is how many evictions the budget of an hour still allows; negative
	// without one, or where this process does not evict.
	Left int
}

// Page is what a process knows.
type Page struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Observed is when usage was last judged; absent before the first reading.
	Observed *time.Time `json:"observed,omitempty"`
	Headline Headline   `json:"headline"`
	// ReadyNodes counts the ready nodes, FreshNodes those whose usage is known.
	ReadyNodes int `json:"readyNodes"`
	FreshNodes int `json:"freshNodes"`
	// Provisional says that some nodes are shown by their newest reading alone,
	// because their windows have not filled.
	Provisional bool `json:"provisional,omitempty"`
	// Levels counts the nodes at each level, the worst first.
	Levels []LevelCount `json:"levels"`
	Lines  []Line       `json:"lines"`
	// Hot are the hottest of the hot nodes; HotNodes counts all of them.
	Hot      []HotNode `json:"hot"`
	HotNodes int       `json:"hotNodes"`
	// Moves are those in flight and then those that ended lately, newest first.
	Moves []explain.Move `json:"moves"`
	// Cycle is when the last cycle of this process planned; absent without one.
	Cycle    *time.Time `json:"cycle,omitempty"`
	Declined []Declined `json:"declined"`
	Evicting Evicting   `json:"evicting"`
	Sources  []Source   `json:"sources"`
	Process  Process    `json:"process"`
	// Nodes are in order of their names.
	Nodes []Node `json:"nodes"`

	now time.Time
}

// Evicting is whether anything may be evicted.
type Evicting struct {
	// Stopped are the reasons why nothing is, in words.
	Stopped []string `json:"stopped"`
	// BudgetLeft is how many evictions the budget of an hour still allows;
	// absent without one, or where this process does not evict.
	BudgetLeft *int `json:"budgetLeft,omitempty"`
}

// Source is the result of the last reading of a usage source.
type Source struct {
	Name string `json:"name"`
	// Asked is false if the sources before it had everything.
	Asked bool   `json:"asked"`
	Error string `json:"error,omitempty"`
	// Nodes counts the known nodes whose usage is taken from it, OldestSeconds
	// and NewestSeconds are how old the newest samples of these are.
	Nodes         int `json:"nodes"`
	NewestSeconds int `json:"newestSeconds"`
	OldestSeconds int `json:"oldestSeconds"`
	// Rejected counts the samples that were not believed.
	Rejected int `json:"rejected,omitempty"`
}

// Process is the process that answers.
type Process struct {
	Identity string `json:"identity"`
	Version  string `json:"version,omitempty"`
	Started  string `json:"started"`
	// Role says what it does beside observing, in words.
	Role string `json:"role"`
	// Leader is who holds the Lease; empty if that is not known here.
	Leader   string    `json:"leader,omitempty"`
	Replicas []Replica `json:"replicas"`
	// Asked counts the requests of kube-scheduler, LastAsked is when the newest
	// came.
	Asked     int64  `json:"asked"`
	LastAsked string `json:"lastAsked,omitempty"`
	// PolicyGeneration counts the policies that it has applied, PolicyProblem is
	// why the changed file is not in effect.
	PolicyGeneration int    `json:"policyGeneration"`
	PolicyProblem    string `json:"policyProblem,omitempty"`
	// LedgerGeneration is that of the newest stored ledger that it knows.
	LedgerGeneration int64 `json:"ledgerGeneration"`
}

// Replica is a pod of the same owner.
type Replica struct {
	Pod   string `json:"pod"`
	Node  string `json:"node"`
	Ready bool   `json:"ready"`
	// This is the process that answers.
	This bool `json:"this,omitempty"`
}

// New returns the page of facts.
func New(f *Facts) *Page {
	p := &Page{
		APIVersion: policy.GroupVersion, Kind: Kind, ReadyNodes: f.Ready, FreshNodes: f.Fresh, Sources: f.Sources, Process: f.Process,
		Hot: []HotNode{}, Moves: []explain.Move{}, Declined: []Declined{}, Nodes: []Node{}, Lines: []Line{}, now: f.Now,
		Evicting: Evicting{Stopped: f.stopped()},
	}
	if f.Stops.Left >= 0 {
		p.Evicting.BudgetLeft = new(f.Stops.Left)
	}
	if f.Cycle != nil {
		p.Cycle, p.Declined = new(f.Cycle.At.UTC()), declined(f.Cycle)
	}
	if f.View != nil {
		p.Observed = new(f.View.At.UTC())
		p.addNodes(f)
		p.Moves = f.lately()
		p.addHot(f)
	}
	p.Levels, p.Headline = p.count(), p.headline()
	return p
}

// lately returns the moves in flight and those that ended not long ago.
func (f *Facts) lately() []explain.Move {
	const most = 200
	moves := f.Moves()
	for i := range moves {
		ended := moves[i].Ended
		if i >= most || ended != nil && f.Now.Sub(*ended) > timeLine {
			return moves[:i]
		}
	}
	return moves
}
