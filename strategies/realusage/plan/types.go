package plan

import (
	"cmp"
	"strings"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/thresholds"
)

// Node is one node as the planner sees it.
type Node struct {
	Name        string
	Allocatable cluster.Amounts
	State       thresholds.State
	// Current is the evidence for hot: what stays on the node, as measured.
	Current cluster.Amounts
	// Need is what has to leave a hot node to bring it under its evict lines; zero or less where nothing has to.
	Need cluster.Amounts
	// Predicted is what a landing has to reckon with: all pods, with estimates, and moves in flight; Ceiling the most of it
	// that keeps the node under its reject lines.
	Predicted, Ceiling cluster.Amounts
	// Closed is why the node takes no landing although it is cool (cordoned, about to be removed); empty if it may.
	Closed string
	// Pods are the candidates on a hot node; nil on others.
	Pods []Pod
}

// Pod is one pod of a hot node.
type Pod struct {
	*cluster.Pod
	// Usage is what the pod was measured at.
	Usage cluster.Amounts
	// Refused is why the pod may not be moved; empty when it may.
	Refused reasons.Reason
	// Disruption orders pods of one priority: lower is moved first.
	Disruption int64
}

// Placement answers which nodes would take a pod, moves of this plan included.
type Placement interface {
	// Fits says whether the replacement of pod could run on node, and if not, why.
	Fits(pod *cluster.Pod, node string) (ok bool, why string)
	// Move applies a move and returns its undo.
	Move(pod *cluster.Pod, to string) (undo func(), err error)
}

// Input is everything a Plan depends on.
type Input struct {
	// Nodes in the order of their names.
	Nodes []Node
	// MaxMoves bounds the plan; 0 means no bound. MaxPerNode bounds the moves from one node; 0 means no bound.
	MaxMoves, MaxPerNode int
	// MinGainPercent is the least that a move has to take off its node, of allocatable, in a resource the node is hot by.
	MinGainPercent float64
	Placement      Placement
}

// Move is one planned move.
type Move struct {
	Pod
	From, To string
	Reason   reasons.Reason
	// FromPercent and ToPercent are the source and the destination before and after this move, in the order of the plan.
	FromBefore, FromAfter, ToBefore, ToAfter cluster.Percents
}

// Declined is a pod that would have helped and is not moved.
type Declined struct {
	Pod
	Node   string
	Reason reasons.Reason
	// Detail says more for a person, such as which filter refused it where.
	Detail string
}

// NodeReport is a node before and after the plan.
type NodeReport struct {
	Name          string
	State         thresholds.State
	Before, After cluster.Percents
	// Reason is why a hot node is not cooled; empty otherwise.
	Reason reasons.Reason
}

// Plan is what to do and why, and why not more.
type Plan struct {
	Moves    []Move
	Declined []Declined
	Nodes    []NodeReport
}

func compareKey(a, b *Pod) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}
