// Package status holds what is reported about nodes, pods, moves, plans and
// processes, as values: why a node has its state, why a pod would be moved or not,
// what a cycle would do. The JSON of these values is what -o json and the reports of
// a process contain. Views embed the same Node, Move and Declined and add what they
// alone show.
//
// The package decides nothing. Facts combines what a process knows at one moment:
// usage, the lines that judge it, the plan and the ledger. Everything else is made
// from Facts. Packages text and page render the values.
package status

import (
	"errors"
	"fmt"
	"time"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/scorer"
	"github.com/evenkeel/evenkeel/strategies"
)

// ErrUnknown is returned for a node or pod that is not known.
var ErrUnknown = errors.New("not known")

// NothingByUsage says why there is no plan where a policy enables other plugins only.
const NothingByUsage = "this policy's profiles plan no moves by real usage: none enables " + policy.DefaultStrategy + "; what their other plugins evict is not shown"

// UnknownNode is the error for a node that is not among the known ones.
func UnknownNode(name string, known int) error {
	return fmt.Errorf("node %q is %w; %s known", name, ErrUnknown, reasons.Are(known, "node"))
}

// UnknownPod is the error for a pod that is neither on a node nor remembered.
func UnknownPod(namespace, name string) error {
	return fmt.Errorf("pod %q in namespace %q is %w: it runs on no node, and no move of it is remembered", name, namespace, ErrUnknown)
}

// Remembers reports whether a move is that of a pod, or the pod replaces its.
func Remembers(m *ledger.Move, namespace, name string) bool {
	return name != "" && m.Namespace == namespace && (m.Pod == name || m.ReplacementName == name)
}

// Facts is what a process knows when it is asked.
type Facts struct {
	View   *usage.View
	Board  *scorer.Board
	States map[string]thresholds.NodeState
	Lines  *thresholds.Resolved
	// Limits are the policy's limits by measured usage, if it has any.
	Limits []scorer.Limit
	// SamplesNeeded is how many samples in a row make a node hot.
	SamplesNeeded int
	// InFlight and Ended are the ledger's moves, oldest first.
	InFlight, Ended []ledger.Move
	// Planned is what a cycle would do now. It is nil if no plan could be made;
	// NoPlan then says why.
	Planned *Planned
	NoPlan  string
	// Paused is what pauses evicting; empty if nothing does.
	Paused string
}

// Cycle is what a cycle planned.
type Cycle struct {
	// At is when the usage that it planned on was judged.
	At   time.Time
	Plan strategies.Plan
	// Closed is why nothing was planned; empty if something was.
	Closed string
}

// Planned is a plan and what it was made on.
type Planned struct {
	// Basis answers for nodes and pods as the strategies see them; nil if there is no
	// plan.
	Basis strategies.Basis
	Plan  strategies.Plan
	// Closed is why nothing was planned; empty if something was.
	Closed string
	// Pod is the pod asked about as the planner sees it; nil if none was.
	// Protection is what protects it: the DefaultEvictor's words, or a key.
	// Landings judge each other node as its destination.
	Pod        *strategies.Pod
	Protection string
	Landings   []strategies.Landing
}

// PlannedOf returns what a Study found.
func PlannedOf(s *strategies.Study) *Planned {
	return &Planned{
		Basis: s.Made.Basis, Plan: s.Made.Plan, Closed: s.Made.Closed, Pod: s.Pod, Protection: s.Protection, Landings: s.Landings,
	}
}

// node returns a node as the strategies see it; nil if they plan without it.
func (p *Planned) node(name string) *strategies.NodeBasis {
	if p == nil || p.Basis == nil {
		return nil
	}
	return p.Basis.Node(name)
}

// report is what the plan says of a node; empty if it says nothing.
func (p *Planned) report(node string) (report strategies.NodeReport) {
	for i := range p.Plan.Nodes {
		if p.Plan.Nodes[i].Name == node {
			return p.Plan.Nodes[i]
		}
	}
	return report
}

// without says why nothing is planned; empty if something is.
func (f *Facts) without() string {
	switch {
	case f.Planned == nil && f.NoPlan != "":
		return f.NoPlan
	case f.Planned == nil:
		return "there is no plan"
	case f.Planned.Closed != "":
		return "nothing is planned: " + f.Planned.Closed
	}
	return ""
}
