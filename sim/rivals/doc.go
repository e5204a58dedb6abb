// Package rivals holds the rules by which other load-aware projects choose what
// to evict and where to place it, as they publish them, for the variants of a
// replay. docs/simulate.md names their sources, and says which reading was
// taken where a trace cannot express a rule.
//
// Invariants: a rival sees what its own sources would show it, decides by its
// own constants and is no weaker than its documents make it; nothing here is
// random: where a rule leaves the order open, it is that of the arguments.
package rivals

import (
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// Node is a node as a rival sees it.
type Node struct {
	Name     string
	Capacity cluster.Amounts
	// Unmeasured says that nothing is known of its usage yet.
	Unmeasured bool
	// Demand is what the node was asked for, Used what it could give of that.
	Demand, Used cluster.Amounts
	// System is the part of Used that no pod has.
	System cluster.Amounts
	Pods   []Pod
}

// Pod is a pod as a rival sees it.
type Pod struct {
	// ID and Owner are the caller's.
	ID, Owner int
	// Used is what the pod used when it was last measured.
	Used, Requests cluster.Amounts
	// Bound is when it was bound, Ready when it begins or began to run.
	Bound, Ready time.Time
	// Fixed pods must not be evicted.
	Fixed bool
}

// Owner is what a rival knows of a pod's controller.
type Owner struct {
	// Wanted is how many pods it wants, Missing how many of them are not ready.
	Wanted, Missing int
}
