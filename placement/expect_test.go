package placement

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

// A pod that is expected on a node, or nominated for it, counts as present for every filter as long
// as it is expected. It does not count if it is what makes the node fit.
func TestExpectedPodsCountAsBoundOnes(t *testing.T) {
	o := newOracle(t)
	for seed := range uint64(40) {
		w := newRandomWalk(t, seed, o)
		var bound, waiting, nominated []*v1.Pod
		var nodes []string
		for range 3 {
			pod := w.pod()
			if pod.DeletionTimestamp != nil || pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed {
				continue
			}
			bound, nodes = append(bound, pod), append(nodes, pod.Spec.NodeName)
			expected := pod.DeepCopy()
			expected.Spec.NodeName = ""
			waiting = append(waiting, expected)
			named := expected.DeepCopy()
			named.Status.NominatedNodeName = pod.Spec.NodeName
			nominated = append(nominated, named)
		}
		want, before := answersWith(t, o, bound, nil, nil), answersWith(t, o, nil, nil, nil)
		for question, answer := range want {
			if answer.OK && !before[question].OK {
				want[question] = before[question]
			}
		}
		if diff := cmp.Diff(want, answersWith(t, o, nominated, nil, nil)); diff != "" {
			t.Fatalf("seed %d: with nominated pods (-bound +nominated):\n%s", seed, diff)
		}
		if diff := cmp.Diff(want, answersWith(t, o, waiting, waiting, nodes)); diff != "" {
			t.Fatalf("seed %d: with expected pods (-bound +expected):\n%s", seed, diff)
		}
		without := newFilters(t, o.cfg)
		syncAll(t, without, o.nodes, o.pods)
		s := without.Begin()
		for i, pod := range waiting {
			_ = s.Expect(pod, nodes[i]) // a pod on a node that is gone does not count
		}
		s.Close()
		if diff := cmp.Diff(before, allResults(without, o)); diff != "" {
			t.Fatalf("seed %d: after the session (-before +after):\n%s", seed, diff)
		}
	}
}

// answersWith returns the results for the oracle's pods when more pods exist, some of which are
// expected.
func answersWith(t *testing.T, o *oracle, more, expected []*v1.Pod, nodes []string) map[string]Result {
	t.Helper()
	f := newFilters(t, o.cfg)
	syncAll(t, f, o.nodes, append(slices.Clip(o.pods), more...))
	s := f.Begin()
	defer s.Close()
	for i, pod := range expected {
		if err := s.Expect(pod, nodes[i]); err != nil && nodes[i] != "" && f.snapshot.nodes[nodes[i]] != nil {
			t.Fatal(err)
		}
	}
	all := map[string]Result{}
	for _, pod := range o.pods {
		for _, node := range o.nodes {
			all[pod.Name+" on "+node.Name] = s.Fits(pod, node.Name)
		}
	}
	return all
}

func TestExpectRefuses(t *testing.T) {
	f := offline(t)
	bound := aPod("bound", "a")
	syncAll(t, f, []*v1.Node{aNode("a")}, []*v1.Pod{bound})
	s := f.Begin()
	for name, err := range map[string]error{
		"a pod that has a node": s.Expect(bound, "a"),
		"an unknown node":       s.Expect(aPod("new", ""), "b"),
	} {
		if err == nil {
			t.Errorf("%s is expected", name)
		}
	}
	s.Close()
	if err := s.Expect(aPod("new", ""), "a"); err == nil {
		t.Error("a closed session expects a pod")
	}
}

// A nomination ends when the pod is bound elsewhere or kube-scheduler withdraws it.
func TestNominationsEnd(t *testing.T) {
	big := func(p *v1.Pod) { cpu("3")(p) }
	nodes := []*v1.Node{aNode("a", allocatable(v1.ResourceCPU, "4")), aNode("b", allocatable(v1.ResourceCPU, "4"))}
	asked, other := aPod("asked", "b", big), aPod("other", "", big)
	nominated := other.DeepCopy()
	nominated.ResourceVersion, nominated.Status.NominatedNodeName = "2", "a"
	leaving := nominated.DeepCopy()
	leaving.ResourceVersion, leaving.DeletionTimestamp = "3", aPod("x", "", beingDeleted).DeletionTimestamp
	f := offline(t)
	for _, step := range []struct {
		name string
		pod  *v1.Pod
		want bool
	}{
		{"waiting", other, true}, {"nominated", nominated, false}, {"taken back", other, true}, {"nominated again", nominated, false},
		{"deleted", leaving, true},
	} {
		syncAll(t, f, nodes, []*v1.Pod{asked, step.pod})
		s := f.Begin()
		if got := s.Fits(asked, "a").OK; got != step.want {
			t.Errorf("%s: fits %v, want %v", step.name, got, step.want)
		}
		s.Close()
	}
}
