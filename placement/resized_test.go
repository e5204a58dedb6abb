package placement

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// If a pod was resized in place, its owner creates the replacement without the resize. The
// destination has one core left.
func TestReplacementOfAResizedPodRequestsAsItsSiblings(t *testing.T) {
	ok, full := Result{OK: true}, Result{Plugin: "NodeResourcesFit", Reason: "Insufficient cpu"}
	set, old := podLabel("controller-revision-hash", "1"), podLabel("controller-revision-hash", "0")
	cases := map[string]struct {
		pod      *v1.Pod
		siblings []*v1.Pod
		want     Result
	}{
		"resized up":   {aPod("web-0", source, changed, cpu("2")), []*v1.Pod{aPod("web-1", source, asMade, cpu("500m"))}, ok},
		"resized down": {aPod("web-0", source, changed, cpu("500m")), []*v1.Pod{aPod("web-1", source, asMade, cpu("2"))}, full},
		"of a StatefulSet": {
			aPod("db-0", source, statefulSet, set, changed, cpu("500m")),
			[]*v1.Pod{aPod("db-1", source, statefulSet, set, asMade, cpu("2")), aPod("db-2", source, statefulSet, old, asMade, cpu("100m"))}, full,
		},
		"not resized, unlike its siblings": {aPod("web-0", source, asMade, cpu("500m")), []*v1.Pod{aPod("web-1", source, asMade, cpu("2"))}, ok},
		"as its siblings were":             {aPod("web-0", source, changed, cpu("2")), []*v1.Pod{aPod("web-1", source, changed, cpu("500m"))}, full},
		"as the youngest was created": {
			aPod("web-0", source, changed, cpu("500m")),
			[]*v1.Pod{aPod("web-1", source, asMade, madeAt(1), cpu("500m")), aPod("web-2", source, asMade, madeAt(2), cpu("2"))}, full,
		},
		"a pod of another owner does not count": {
			aPod("web-0", source, changed, cpu("500m")),
			[]*v1.Pod{aPod("api-0", source, asMade, cpu("2"), func(p *v1.Pod) { p.OwnerReferences = ownedBy("ReplicaSet", "api") })}, ok,
		},
		"nor one of another kind, of a controller without revisions": {
			aPod("worker-0", source, changed, cpu("2"), ofCluster("worker")), []*v1.Pod{aPod("head-0", source, asMade, cpu("100m"), ofCluster("head"))}, full,
		},
		"nor one in another namespace": {aPod("web-0", source, changed, cpu("500m")), []*v1.Pod{aPod("x-0", source, asMade, cpu("2"), inNamespace("x"))}, ok},
		"an older Kubernetes counts no changes": {
			aPod("web-0", source, cpu("500m")), []*v1.Pod{aPod("web-1", source, cpu("2"))}, ok,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := offline(t)
			pods := append([]*v1.Pod{tc.pod, aPod("other", destination, cpu("3"), func(p *v1.Pod) { p.OwnerReferences = nil })}, tc.siblings...)
			syncAll(t, f, []*v1.Node{aNode(source), aNode(destination)}, pods)
			session := f.Begin()
			defer session.Close()
			if diff := cmp.Diff(tc.want, session.Fits(tc.pod, destination)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// ofCluster returns a pod of a controller that creates pods for several
// purposes.
func ofCluster(purpose string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.OwnerReferences = ownedBy("RayCluster", "ray")
		podLabel("ray.io/node-type", purpose)(p)
	}
}

func asMade(p *v1.Pod)  { p.Generation = 1 }
func changed(p *v1.Pod) { p.Generation = 2 }

func madeAt(second int64) func(*v1.Pod) {
	return func(p *v1.Pod) { p.CreationTimestamp = metav1.Unix(second, 0) }
}
