package cluster

import "strings"

// TaintRule says which taints announce what, by their keys. A pattern that ends
// in * matches every key that begins so.
type TaintRule struct {
	// Leaving taints announce that a node is being drained for removal.
	Leaving []string
	// Closing taints keep landings off a node, whatever their effect: the soft
	// ones are there to be obeyed by whoever has a choice.
	Closing []string
}

// Apply sets what a node's taints and its deletion mean.
func (r *TaintRule) Apply(n *Node) {
	n.Leaving, n.ClosedBy = firstMatch(r.Leaving, n.Taints), firstMatch(r.Closing, n.Taints)
	if n.Deleting {
		n.Leaving = "deletionTimestamp"
	}
}

// firstMatch returns the first key that a pattern matches; empty if none is.
func firstMatch(patterns, keys []string) string {
	for _, key := range keys {
		for _, pattern := range patterns {
			prefix, open := strings.CutSuffix(pattern, "*")
			if key == pattern || open && strings.HasPrefix(key, prefix) {
				return key
			}
		}
	}
	return ""
}
