package kubescheduler

import (
	"testing"

	v1 "k8s.io/api/core/v1"
)

// Pods avoid nodes with soft taints, more so the more taints there are, until the taints are
// removed. The caller's node is not changed.
func TestSoftTaints(t *testing.T) {
	nodes := []*v1.Node{newNode(0, 8, 32), newNode(1, 8, 32), newNode(2, 8, 32)}
	s, err := New(t.Context(), Config{Seed: 1}, nodes)
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	place := func() string {
		made++
		node, err := s.Place(newPod(made, 100, 100))
		if err != nil {
			t.Fatal(err)
		}
		return node
	}
	soft := func(n int) (taints []v1.Taint) {
		for _, key := range []string{"a", "b"}[:n] {
			taints = append(taints, v1.Taint{Key: key, Value: "true", Effect: v1.TaintEffectPreferNoSchedule})
		}
		return taints
	}
	for _, n := range [][3]int{{2, 1, 0}, {0, 2, 1}, {2, 0, 2}} {
		for i, taints := range n {
			if err := s.Taint(nodes[i].Name, soft(taints)); err != nil {
				t.Fatal(err)
			}
		}
		for range 20 {
			if got := place(); got != nodes[index(n, 0)].Name {
				t.Errorf("with %v taints a pod goes to %s", n, got)
			}
		}
	}
	for _, node := range nodes {
		if err := s.Taint(node.Name, nil); err != nil {
			t.Fatal(err)
		}
		if len(node.Spec.Taints) > 0 {
			t.Errorf("the caller's %s got %v", node.Name, node.Spec.Taints)
		}
	}
	seen := map[string]bool{}
	for range 50 {
		seen[place()] = true
	}
	if len(seen) != 3 {
		t.Errorf("without taints pods go to %v alone", seen)
	}
	if err := s.Taint("nobody", nil); err == nil {
		t.Error("an unknown node was tainted")
	}
}

func index(taints [3]int, n int) int {
	for i := range taints {
		if taints[i] == n {
			return i
		}
	}
	return -1
}
