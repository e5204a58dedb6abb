package cluster

import "testing"

// The cases show how taints and a deletion affect whether pods may land on a node, and whether the
// node is relieved.
func TestTaintRule(t *testing.T) {
	rule := TaintRule{Leaving: []string{"drained", "gone.io/*"}, Closing: []string{"soft", "nth/*", "drained", "evenkeel.io/*"}, Own: []string{"evenkeel.io/hot", "gone.io/ours"}}
	cases := map[string]struct {
		taints                    []string
		deleting                  bool
		leaving, closedBy, closed string
	}{
		"none":                      {},
		"somebody else's":           {taints: []string{"dedicated", "nth", "softer", "a/soft"}},
		"closing":                   {taints: []string{"dedicated", "soft"}, closedBy: "soft", closed: "Tainted: soft"},
		"closing by its prefix":     {taints: []string{"nth/spot-itn"}, closedBy: "nth/spot-itn", closed: "Tainted: nth/spot-itn"},
		"leaving by its prefix":     {taints: []string{"gone.io/now"}, leaving: "gone.io/now", closed: "Leaving: gone.io/now"},
		"a key of both lists":       {taints: []string{"drained"}, leaving: "drained", closedBy: "drained", closed: "Leaving: drained"},
		"closing, then leaving":     {taints: []string{"soft", "gone.io/now"}, leaving: "gone.io/now", closedBy: "soft", closed: "Leaving: gone.io/now"},
		"our own, by two prefixes":  {taints: []string{"evenkeel.io/hot", "gone.io/ours"}},
		"our own, and another":      {taints: []string{"evenkeel.io/hot", "evenkeel.io/other"}, closedBy: "evenkeel.io/other", closed: "Tainted: evenkeel.io/other"},
		"being deleted":             {deleting: true, leaving: "deletionTimestamp", closed: "Leaving: deletionTimestamp"},
		"being deleted and tainted": {taints: []string{"drained"}, deleting: true, leaving: "deletionTimestamp", closedBy: "drained", closed: "Leaving: deletionTimestamp"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			n := Node{Ready: true, Schedulable: true, Taints: tc.taints, Deleting: tc.deleting, Leaving: "before", ClosedBy: "before"}
			rule.Apply(&n)
			if n.Leaving != tc.leaving || n.ClosedBy != tc.closedBy || n.Closed() != tc.closed {
				t.Errorf("leaving %q, closed by %q, closed %q; want %q, %q, %q", n.Leaving, n.ClosedBy, n.Closed(), tc.leaving, tc.closedBy, tc.closed)
			}
		})
	}
}

// Taints of nodes that are joining, leaving or being serviced are distinguished from taints that
// reserve nodes, whatever keys a policy adds.
func TestTaintsThatPass(t *testing.T) {
	rule := TaintRule{Leaving: []string{"drained"}, Closing: []string{"nth/*"}}
	for key, want := range map[string]bool{
		"node.kubernetes.io/unschedulable": true, "node.cloudprovider.kubernetes.io/uninitialized": true, "node.cluster.x-k8s.io/uninitialized": true,
		"ToBeDeletedByClusterAutoscaler": true, "karpenter.sh/disrupted": true, "karpenter.sh/disruption": true, "karpenter.sh/unregistered": true,
		"startup-taint.cluster-autoscaler.kubernetes.io/gpu": true, "aws-node-termination-handler/spot-itn": true,
		"node.cilium.io/agent-not-ready": true, "ebs.csi.aws.com/agent-not-ready": true, "drained": true, "nth/spot": true,
		"pool": false, "nvidia.com/gpu": false, "node-role.kubernetes.io/control-plane": false, "kubernetes.azure.com/scalesetpriority": false,
		"nth": false, "": false,
	} {
		if got := rule.Passes(key); got != want {
			t.Errorf("%q passes: %t, want %t", key, got, want)
		}
	}
}
