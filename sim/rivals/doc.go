// Package rivals implements the published rules by which other load-aware projects choose
// what to evict and where to place it, for the variants of a replay. docs/simulate.md
// lists their sources, and the interpretation that was chosen where a trace cannot
// express a rule.
//
// Invariants: a rival sees what its own sources would show it, uses its own constants and
// is no weaker than its documentation says; nothing here is random: if a rule does not
// define an order, the order of the arguments applies.
package rivals

import (
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// Node is a node as a rival sees it.
type Node struct {
	Name     string
	Capacity cluster.Amounts
	// Unmeasured means that nothing is known about its usage yet.
	Unmeasured bool
	// Demand is the demand on the node, Used the part of it that the node could serve.
	Demand, Used cluster.Amounts
	// System is the part of Used that belongs to no pod.
	System cluster.Amounts
	Pods   []Pod
}

// Pod is a pod as a rival sees it.
type Pod struct {
	// ID and Owner are assigned by the caller.
	ID, Owner int
	// Used is the usage of the pod when it was last measured.
	Used, Requests cluster.Amounts
	// Bound is when it was bound, Ready when it begins, or began, to run.
	Bound, Ready time.Time
	// Fixed pods must not be evicted.
	Fixed bool
}

// Owner is what a rival knows about a pod's controller.
type Owner struct {
	// Wanted is the number of pods that it wants, Missing the number of them that are not
	// ready.
	Wanted, Missing int
}
