package cluster

import (
	"slices"
	"strings"
)

// TaintRule is what a policy says of nodes: which taints announce what, by their
// keys, and which nodes are selected. A pattern that ends in * matches every key
// that begins so.
type TaintRule struct {
	// Leaving taints announce that a node is being drained for removal.
	Leaving []string
	// Closing taints keep landings off a node, whatever their effect: the soft
	// ones are there to be obeyed by whoever has a choice.
	Closing []string
	// Own taints are Evenkeel's: they announce nothing, whatever pattern they
	// match. The usage that they were set by is known.
	Own []string
	// Selects is the policy's nodeSelector, by the labels of a node; nil selects
	// every node.
	Selects func(labels map[string]string) bool
}

// Apply sets what a node's taints, labels and deletion mean.
func (r *TaintRule) Apply(n *Node) {
	n.Unselected = r.Selects != nil && !r.Selects(n.Labels)
	n.Reserved = slices.ContainsFunc(n.Repelling, func(key string) bool { return !slices.Contains(r.Own, key) })
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
