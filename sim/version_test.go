package sim

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/cluster/informed"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/usage"
)

func kinOf(pod *v1.Pod) usage.Kin {
	record := informed.Pod(pod)
	return usage.Kin{Namespace: record.Namespace, Owner: record.Owner, TemplateHash: record.TemplateHash}
}

func familyOf(pod *v1.Pod) cluster.Family {
	kin := kinOf(pod)
	return cluster.FamilyOf(kin.Namespace, kin.Owner, kin.TemplateHash)
}

// The names of an owner's versions and of their pods look like those of ReplicaSets of one
// Deployment.
func TestVersionsLookReal(t *testing.T) {
	w, _ := settled(t, fleetOf(t, 40, 50), 0)
	recorded := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, GenerateName: "web-5d4f8c7b9", Labels: map[string]string{"pod-template-hash": "5d4f8c7b9"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web-5d4f8c7b9", UID: "web", Controller: new(true)}},
	}}
	w.replicas[39].template = recorded
	for name, i := range map[string]int{"set-0": 0, "web": 39} {
		seen := map[string]bool{}
		for range 3 {
			pod := w.newPod(i, w.start)
			w.owners[w.replicas[i].Owner].template++
			if diff := cmp.Diff(cluster.Family{Namespace: namespace, Name: name}, familyOf(pod)); diff != "" {
				t.Errorf("Deployment of pod %q (-want +got):\n%s", pod.Name, diff)
			}
			kin := kinOf(pod)
			if seen[kin.TemplateHash] || seen[kin.Owner.UID] || seen[kin.Owner.Name] {
				t.Errorf("version %+v is not one of its own", kin)
			}
			seen[kin.TemplateHash], seen[kin.Owner.UID], seen[kin.Owner.Name] = true, true, true
			if set := kin.Owner.Name; name == "set-0" && !strings.HasPrefix(pod.Name, set+"-") {
				t.Errorf("pod %q of %q is called by another version", pod.Name, set)
			}
		}
	}
	if got := recorded.OwnerReferences[0].Name; got != "web-5d4f8c7b9" {
		t.Errorf("what was recorded is called %q now", got)
	}
}

// A pod of a new version is expected to use as much as the previous version's pods.
func TestANewVersionIsExpectedToBehaveLikeThePreviousOne(t *testing.T) {
	w, e := steered(t, fleetOf(t, 40, 50), usual, 0)
	expect := func(pod *v1.Pod) cluster.Amounts {
		return e.observer.Estimate(e.observer.Latest(), &observer.Unmeasured{Kin: kinOf(pod), Requests: w.replicas[0].Requests})
	}
	want := expect(w.newPod(0, e.clock))
	w.owners[0].template++
	next := w.newPod(0, e.clock)
	if diff := cmp.Diff(want, expect(next)); diff != "" {
		t.Errorf("the new version (-want +got):\n%s", diff)
	}
	next.Labels = nil
	if diff := cmp.Diff(want, expect(next)); diff == "" {
		t.Error("a pod without a version is expected to behave the same")
	}
}
