package owners_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/evenkeel/evenkeel/cluster/names"
	"github.com/evenkeel/evenkeel/cluster/slim"
	"github.com/evenkeel/evenkeel/evictor/owners"
	"github.com/evenkeel/evenkeel/reasons"
)

// Whether a template can be steered is known before any of its pods is evicted, even from the
// reduced objects in informers.
func TestTemplatesThatCannotBeSteered(t *testing.T) {
	kinds := map[string]func(template v1.PodTemplateSpec) owners.Owner{
		"ReplicaSet": func(template v1.PodTemplateSpec) owners.Owner {
			return owners.OfReplicaSet(stored(t, &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Template: template}}))
		},
		"StatefulSet": func(template v1.PodTemplateSpec) owners.Owner {
			return owners.OfStatefulSet(stored(t, &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Template: template}}), &v1.Pod{})
		},
		"Job": func(template v1.PodTemplateSpec) owners.Owner {
			job := &batchv1.Job{Spec: batchv1.JobSpec{Template: template, Completions: new(int32(2))}}
			return owners.OfJob(stored(t, job), &v1.Pod{}, time.Unix(1, 0))
		},
		"CloneSet": func(template v1.PodTemplateSpec) owners.Owner {
			fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&template)
			if err != nil {
				t.Fatal(err)
			}
			return owners.OfCustom(&unstructured.Unstructured{Object: map[string]any{"kind": "CloneSet", "spec": map[string]any{"template": fields}}}, &v1.Pod{})
		},
		"ReplicationController": func(template v1.PodTemplateSpec) owners.Owner {
			return owners.OfReplicationController(stored(t, &v1.ReplicationController{Spec: v1.ReplicationControllerSpec{Template: &template}}))
		},
	}
	for name, tc := range map[string]struct {
		change func(*v1.PodTemplateSpec)
		want   reasons.Reason
	}{
		"as usual":                   {func(*v1.PodTemplateSpec) {}, ""},
		"another annotation":         {func(s *v1.PodTemplateSpec) { s.Annotations = map[string]string{"a": "b"} }, ""},
		"it names a node":            {func(s *v1.PodTemplateSpec) { s.Spec.NodeName = "n" }, reasons.Unsteerable},
		"gates of somebody":          {func(s *v1.PodTemplateSpec) { s.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "x/y"}} }, reasons.Unsteerable},
		"a copy of our annotation":   {func(s *v1.PodTemplateSpec) { s.Annotations = map[string]string{names.Annotation: "gate"} }, reasons.Unsteerable},
		"our annotation, left empty": {func(s *v1.PodTemplateSpec) { s.Annotations = map[string]string{names.Annotation: ""} }, reasons.Unsteerable},
	} {
		for kind, of := range kinds {
			var template v1.PodTemplateSpec
			tc.change(&template)
			owner := of(template)
			owner.UID = "uid"
			if got, _ := owner.Refuses(time.Unix(1, 0), time.Minute); got != tc.want {
				t.Errorf("%s, %s: refused for %q, want %q", kind, name, got, tc.want)
			}
		}
	}
	if owner := owners.OfReplicationController(&v1.ReplicationController{}); owner.Unsteerable {
		t.Error("a ReplicationController without a template cannot be steered")
	}
}

// stored returns an object as an informer stores it.
func stored[T any](t *testing.T, object T) T {
	t.Helper()
	slimmed, err := slim.New().Transform(object)
	if err != nil {
		t.Fatal(err)
	}
	return slimmed.(T)
}
