package kubescheduler

import (
	"testing"

	v1 "k8s.io/api/core/v1"
)

// A pod goes to its nominated node, however bad that node's score is, unless the node does not
// accept the pod or is unknown.
func TestNominatedNodeComesFirst(t *testing.T) {
	nodes := []*v1.Node{newNode(0, 8, 32), newNode(1, 8, 32), newNode(2, 8, 32)}
	nodes[0].Spec.Unschedulable = true
	nodes[1].Spec.Taints = []v1.Taint{{Key: "soft", Effect: v1.TaintEffectPreferNoSchedule}}
	s, err := New(t.Context(), Config{Seed: 1}, nodes)
	if err != nil {
		t.Fatal(err)
	}
	for nominated, want := range map[string]string{"": "node-002", "node-001": "node-001", "node-000": "node-002", "nobody": "node-002"} {
		pod := newPod(1, 100, 100)
		pod.Status.NominatedNodeName = nominated
		if got, err := s.Place(pod); got != want || err != nil {
			t.Errorf("nominated for %q: placed on %q, want %q, error %v", nominated, got, want, err)
		}
	}
}
