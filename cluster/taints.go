package cluster

import (
	"slices"
	"strings"
)

// TaintRule says which taints announce what, by their keys. A pattern that ends
// in * matches every key that begins so.
type TaintRule struct {
	// Leaving taints announce that a node is being drained for removal.
	Leaving []string
	// Closing taints keep landings off a node, whatever their effect: the soft
	// ones are there to be obeyed by whoever has a choice.
	Closing []string
	// Own taints are Evenkeel's: they announce nothing, whatever pattern they
	// match. The usage that they were set by is known.
	Own []string
}

// Apply sets what a node's taints and its deletion mean.
func (r *TaintRule) Apply(n *Node) {
	n.Leaving, n.ClosedBy = r.firstMatch(r.Leaving, n.Taints), r.firstMatch(r.Closing, n.Taints)
	if n.Deleting {
		n.Leaving = DeletionSign
	}
}

// firstMatch returns the first key that a pattern matches; empty if none is.
func (r *TaintRule) firstMatch(patterns, keys []string) string {
	for _, key := range keys {
		if slices.Contains(r.Own, key) {
			continue
		}
		for _, pattern := range patterns {
			prefix, open := strings.CutSuffix(pattern, "*")
			if key == pattern || open && strings.HasPrefix(key, prefix) {
				return key
			}
		}
	}
	return ""
}
