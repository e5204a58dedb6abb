package realusage

import (
	"testing"

	v1 "k8s.io/api/core/v1"
)

// numberOfNodes counts the nodes to which a pod could be moved.
func TestNumberOfNodesCountsNodesThatAcceptPods(t *testing.T) {
	cordoned := func(y *yard) { y.observed.View.Snapshot.Nodes[2].Node.Schedulable = false }
	virtual := func(y *yard) {
		y.observed.View.Snapshot.Nodes[2].Node.Labels = map[string]string{"type": "virtual-kubelet"}
	}
	tainted := func(y *yard) {
		y.nodes[2].Spec.Taints = []v1.Taint{{Key: "soft", Effect: v1.TaintEffectPreferNoSchedule}, {Key: "hard", Effect: v1.TaintEffectNoSchedule}}
	}
	for name, tc := range map[string]struct {
		node      func(*yard)
		tolerates bool
		want      bool // whether more than one node counts
	}{
		"two take pods":         {func(*yard) {}, false, true},
		"one is cordoned":       {cordoned, false, false},
		"one is virtual":        {virtual, false, false},
		"one is for other pods": {tainted, false, false},
		"one is for these pods": {tainted, true, true},
		"one is leaving":        {func(y *yard) { y.observed.View.Snapshot.Nodes[2].Node.Leaving = "deletionTimestamp" }, false, false},
		"one has a PreferNoSchedule taint": {func(y *yard) {
			y.nodes[2].Spec.Taints = []v1.Taint{{Key: "soft", Effect: v1.TaintEffectPreferNoSchedule}}
		}, false, true},
	} {
		y := newYard(t, func(p *v1.Pod) {
			if tc.tolerates {
				p.Spec.Tolerations = []v1.Toleration{{Key: "hard", Operator: v1.TolerationOpExists}}
			}
		})
		y.args.NumberOfNodes = 1
		tc.node(y)
		if closed := y.study(t, 0, 2).Made.Closed; (closed == "") != tc.want {
			t.Errorf("%s: %q", name, closed)
		}
	}
}
