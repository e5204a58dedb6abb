package slim_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/cluster/slim"
)

// A pod without the times of conditions is otherwise unchanged, and replicas with different times
// share their conditions.
func TestWithoutTransitions(t *testing.T) {
	s := slim.New().WithoutTransitions()
	early, late := replica("a", "web", "1"), replica("b", "web", "1")
	late.Status.Conditions[0].LastTransitionTime = metav1.Unix(1_900_000_000, 0)
	want := slimmed(t, slim.New(), late.DeepCopy())
	if want.Status.Conditions[0].LastTransitionTime.IsZero() {
		t.Error("a time that a plugin may be configured to use was dropped")
	}
	want.Status.Conditions[0].LastTransitionTime = metav1.Time{}
	a, b := slimmed(t, s, early), slimmed(t, s, late)
	if diff := cmp.Diff(want, b); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}
	if &a.Status.Conditions[0] != &b.Status.Conditions[0] {
		t.Error("two replicas have conditions of their own")
	}
}
