package cluster

import (
	"slices"
	"strings"
)

// passing holds the keys of hard taints that come and go with the state of a node,
// regardless of the policy: taints of Kubernetes, autoscalers and drain tools, and taints
// that new nodes have until their agents run.
var passing = []string{
	"node.kubernetes.io/*", "node.cloudprovider.kubernetes.io/*", "node.cluster.x-k8s.io/*",
	"ToBeDeletedByClusterAutoscaler", "DeletionCandidateOfClusterAutoscaler", "startup-taint.cluster-autoscaler.kubernetes.io/*",
	"status-taint.cluster-autoscaler.kubernetes.io/*", "ignore-taint.cluster-autoscaler.kubernetes.io/*", "karpenter.sh/*",
	"aws-node-termination-handler/*", "cloud.google.com/impending-node-termination", "medik8s.io/*", "UpdateInProgress", "weave.works/kured-node-reboot",
	"node.cilium.io/agent-not-ready", "ebs.csi.aws.com/agent-not-ready", "efs.csi.aws.com/agent-not-ready",
}

// TaintRule is a policy's view of nodes: which taint keys have a meaning, and which nodes
// are selected. A pattern that ends in * matches every key with that prefix.
type TaintRule struct {
	// Leaving taints announce that a node is being drained for removal.
	Leaving []string
	// Closing taints keep landings off a node, whatever their effect, because Evenkeel can
	// choose another node and should therefore respect soft taints, too.
	Closing []string
	// Own taints are Evenkeel's own. TaintRule ignores them, whatever pattern they match,
	// because the usage that caused them is known directly.
	Own []string
	// Selects is the policy's nodeSelector applied to a node's labels; nil selects
	// every node.
	Selects func(labels map[string]string) bool
}

// Apply determines the meaning of a node's taints, labels and deletion.
func (r *TaintRule) Apply(n *Node) {
	n.Unselected = r.Selects != nil && !r.Selects(n.Labels)
	n.Reserved = slices.ContainsFunc(n.Repelling, func(key string) bool { return !slices.Contains(r.Own, key) })
	n.Leaving, n.ClosedBy = r.firstMatch(r.Leaving, n.Taints), r.firstMatch(r.Closing, n.Taints)
	if n.Deleting {
		n.Leaving = DeletionSign
	}
}

// Passes reports whether a taint comes and goes with the state of a node. Any other hard
// taint reserves the node for certain pods.
func (r *TaintRule) Passes(key string) bool {
	return r.firstMatch(slices.Concat(passing, r.Leaving, r.Closing), []string{key}) != ""
}

// firstMatch returns the first key that matches a pattern; empty if none does.
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
