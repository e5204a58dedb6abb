// Package status holds the reports about nodes, pods, moves, plans and processes, as
// values: why a node has its state, why a pod would be moved or not, what a cycle would
// do. -o json and the reports of a process contain the JSON of these values. All views
// embed the same Node, Move and Declined, and add the fields that only they show.
//
// The package makes no decisions. Facts combines the knowledge of a process at one time:
// usage, the lines by which it is judged, the plan and the ledger. All other values are
// derived from Facts. Packages text and page render them.
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

// ErrUnknown is returned for a node or pod that the process does not know.
var ErrUnknown = errors.New("not known")

// NothingByUsage explains why there is no plan by usage if a policy enables only other plugins.
const NothingByUsage = "this policy's profiles plan no moves by real usage: none enables " + policy.DefaultStrategy

// UnknownNode returns the error for a node that is not among the known ones.
func UnknownNode(name string, known int) error {
	return fmt.Errorf("node %q is %w; %s known", name, ErrUnknown, reasons.Are(known, "node"))
}

// UnknownPod returns the error for a pod that is neither on a node nor in the ledger.
func UnknownPod(namespace, name string) error {
	return fmt.Errorf("pod %q in namespace %q is %w: it runs on no node, and no move of it is remembered", name, namespace, ErrUnknown)
}

// Remembers reports whether a move moved this pod or had it as its replacement.
func Remembers(m *ledger.Move, namespace, name string) bool {
	return name != "" && m.Namespace == namespace && (m.Pod == name || m.ReplacementName == name)
}

// Facts holds the knowledge of a process at one time.
type Facts struct {
	View   *usage.View
	Board  *scorer.Board
	States map[string]thresholds.NodeState
	Lines  *thresholds.Resolved
	// Limits are the policy's limits by measured usage, if it has any.
	Limits []scorer.Limit
	// SamplesNeeded is the number of consecutive samples that make a node hot.
	SamplesNeeded int
	// InFlight and Ended are the ledger's moves, oldest first.
	InFlight, Ended []ledger.Move
	// Planned is the plan that a cycle would make now; nil if no plan could be made.
	// NoPlan then explains why.
	Planned *Planned
	NoPlan  string
	// Evictions lists what descheduler plugins would evict by themselves.
	Evictions []strategies.Eviction
	// Paused describes what pauses evicting; empty if nothing does.
	Paused string
}

// Moves states what a policy moves pods by. Neither is true if it only enables descheduler
// plugins that evict by themselves.
type Moves struct {
	// ByUsage is true if a strategy moves pods by real usage, and ByPlugins if what
	// descheduler plugins ask for is planned. These plans do not need usage.
	ByUsage, ByPlugins bool
}

// Cycle is the plan of a cycle.
type Cycle struct {
	// At is when the usage on which the plan is based was judged.
	At   time.Time
	Plan strategies.Plan
	// Closed is why nothing was planned; empty if something was.
	Closed string
}

// Planned is a plan and its input.
type Planned struct {
	// Basis returns the nodes and pods in the form that the strategies use; nil if there
	// is no plan.
	Basis strategies.Basis
	Plan  strategies.Plan
	// Closed is why nothing was planned; empty if something was.
	Closed string
	// ByPluginsOnly is true if the plan only has what descheduler plugins ask for.
	ByPluginsOnly bool
	// Pod is the explained pod in the form that the planner uses; nil if a node is
	// explained. Protection is what protects the pod: a message of the DefaultEvictor, or
	// a key. Landings judge every other node as the pod's destination.
	Pod        *strategies.Pod
	Protection string
	Landings   []strategies.Landing
}

// PlannedOf returns the result of a Study.
func PlannedOf(s *strategies.Study) *Planned {
	return &Planned{
		Basis: s.Made.Basis, Plan: s.Made.Plan, Closed: s.Made.Closed, Pod: s.Pod, Protection: s.Protection, Landings: s.Landings,
	}
}

// node returns a node in the form that the strategies use; nil if it is not part of the
// plan.
func (p *Planned) node(name string) *strategies.NodeBasis {
	if p == nil || p.Basis == nil {
		return nil
	}
	return p.Basis.Node(name)
}

// report returns the plan's report on a node; empty if there is none.
func (p *Planned) report(node string) (report strategies.NodeReport) {
	for i := range p.Plan.Nodes {
		if p.Plan.Nodes[i].Name == node {
			return p.Plan.Nodes[i]
		}
	}
	return report
}

// without explains why there is no plan; empty if there is one.
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
