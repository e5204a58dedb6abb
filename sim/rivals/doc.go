// Package rivals implements the published rules by which other load-aware projects choose
// what to evict and where to place it, for the variants of a replay. docs/simulate.md
// lists their sources, and how rules are interpreted that a trace cannot express.
//
// Invariants: a rival sees what its own sources would report, uses its own constants and
// is no weaker than its documentation claims. Nothing here is random: if a rule does not
// define an order, the order of the arguments is used.
package rivals

import (
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// Node is a node as a rival sees it.
type Node struct {
	Name     string
	Capacity cluster.Amounts
	// Unmeasured reports whether the node's usage is still unknown.
	Unmeasured bool
	// Demand is the demand on the node, Used the part of it that the node could serve.
	Demand, Used cluster.Amounts
	// System is the part of Used that does not belong to any pod.
	System cluster.Amounts
	Pods   []Pod
}

// Pod is a pod as a rival sees it.
type Pod struct {
	// ID and Owner are assigned by the caller.
	ID, Owner int
	// Used is the pod's usage when it was last measured.
	Used, Requests cluster.Amounts
	// Bound is when the pod was bound, Ready when it begins or began to run.
	Bound, Ready time.Time
	// Fixed pods must not be evicted.
	Fixed bool
}

// Owner is what a rival knows about a pod's controller.
type Owner struct {
	// Wanted is the desired number of pods, Missing the number of them that are not ready.
	Wanted, Missing int
}
