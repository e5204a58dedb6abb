package placement

import (
	"testing"

	v1 "k8s.io/api/core/v1"
)

// kube-scheduler lets a pod follow another one only once the other is bound, because it runs the
// filters both with and without nominated pods. Therefore a pod that is nominated for a node, or
// expected there, must not turn the node into a destination.
func TestNominatedPodsAttractNobody(t *testing.T) {
	db := func(p *v1.Pod) { podLabel("app", "db")(p) }
	web := aPod("web-0", source, podsAffinity(v1.LabelHostname, selecting("app", "db")))
	first, there := aPod("db-0", source, db), aPod("db-1", "", db)
	nominated := there.DeepCopy()
	nominated.Status.NominatedNodeName = destination
	bound := there.DeepCopy()
	bound.Spec.NodeName = destination
	for name, tc := range map[string]struct {
		pod      *v1.Pod
		expected bool
		want     bool
	}{
		"bound": {bound, false, true}, "waiting": {there, false, false}, "nominated": {nominated, false, false}, "expected": {there, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := offline(t)
			host := func(name string) *v1.Node { return aNode(name, nodeLabel(v1.LabelHostname, name)) }
			syncAll(t, f, []*v1.Node{host(source), host(destination)}, []*v1.Pod{web, first, tc.pod})
			s := f.Begin()
			defer s.Close()
			if tc.expected {
				if err := s.Expect(tc.pod, destination); err != nil {
					t.Fatal(err)
				}
			}
			if got := s.Fits(web, destination); got.OK != tc.want {
				t.Errorf("fits: %+v, want %v", got, tc.want)
			}
		})
	}
}
