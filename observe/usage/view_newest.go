package usage

import (
	"math"
	"slices"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/reasons"
)

// Newest returns the View as if every window held only the newest sample, as it was
// measured. Users see it before windows have filled. Evictions are never based on it.
func (v *View) Newest() *View {
	newest := *v
	newest.Nodes = slices.Clone(v.Nodes)
	for i := range newest.Nodes {
		newest.Nodes[i].holdNewest(len(v.Windows))
	}
	return &newest
}

// HasSample reports whether the node has a fresh sample, even if its windows are not
// filled yet.
func (n *NodeUsage) HasSample() bool {
	return !n.Sampled.IsZero() && (n.Known() || n.Unknown == reasons.WindowTooShort)
}

// Reports reports whether a source reported a resource over any window. A node
// may be known without a resource that no line judges.
func (n *NodeUsage) Reports(resource cluster.Resource) bool {
	if n.Measured[AtLast][resource] > 0 {
		return true
	}
	for w := range n.Reported {
		if !math.IsNaN(n.Reported[w][resource]) {
			return true
		}
	}
	return false
}

func (n *NodeUsage) holdNewest(windows int) {
	if !n.HasSample() {
		return
	}
	n.Unknown, n.Rise = "", Rise{}
	n.Measured = slices.Repeat([]cluster.Amounts{n.Measured[AtLast]}, windows)
	if len(n.Reserved) > 0 {
		n.Reserved = slices.Repeat([]cluster.Amounts{n.Reserved[AtLast]}, windows)
	}
	n.Current, n.Predicted = n.Measured, n.Measured
	n.Signals = slices.Clone(n.Signals)
	for k, row := range n.Signals {
		n.Signals[k] = slices.Repeat(row[AtLast:AtLast+1], windows)
	}
}
