package custom

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/evenkeel/evenkeel/evictor/owners"
)

// FuzzController verifies that every object that an API server can store is readable, and that the
// reduced object gives the same results as the whole one.
func FuzzController(f *testing.F) {
	for _, text := range []string{
		`{"apiVersion":"apps.kruise.io/v1alpha1","kind":"CloneSet","metadata":{"uid":"u","generation":2,"annotations":{"evenkeel.io/evict":"false","a":"b"}},` +
			`"spec":{"replicas":3,"minReadySeconds":30,"updateStrategy":{"rollingUpdate":{"partition":2,"minReadySeconds":9}}},` +
			`"status":{"replicas":4,"observedGeneration":1,"currentRevision":"a","updateRevision":"b","updatedReplicas":1,"expectedUpdatedReplicas":1}}`,
		`{"apiVersion":"apps.kruise.io/v1beta1","kind":"StatefulSet","metadata":{"creationTimestamp":"2026-01-02T03:04:05Z","deletionTimestamp":"x"},` +
			`"spec":{"podManagementPolicy":"Parallel","reserveOrdinals":["1-3",7],"ordinals":{"start":5},"template":{"spec":{"nodeName":"n","schedulingGates":[{}]}}}}`,
		`{"apiVersion":"a/v1","kind":"A","metadata":{"uid":"u"},"spec":{"replicas":9,"paused":true},"status":{"currentRevision":"a","updateRevision":"b"}}`,
		`{"apiVersion":"a/v1","kind":"A","metadata":{"uid":"u"},"spec":{"replicas":9,"updateStrategy":{"type":"OnDelete"}},` +
			`"status":{"currentRevision":"a","updateRevision":"b"}}`,
		`{"apiVersion":"a/v1","kind":"A","metadata":{"uid":"u"},"spec":{"replicas":9,"updateStrategy":{"paused":true}},` +
			`"status":{"currentRevision":"a","updateRevision":"b"}}`,
		`{"apiVersion":"a/v1","kind":"A","metadata":{"uid":"u"},"spec":{"replicas":9,"updateStrategy":{"rollingUpdate":{"partition":2}}},` +
			`"status":{"currentRevision":"a","updateRevision":"b","updatedReplicas":7}}`,
		`{"apiVersion":"a/v1","kind":"A","metadata":{},"spec":{"minReadySeconds":9223372037,"replicas":9223372036854775807,"template":[]},"status":{"replicas":-1}}`,
		`{"apiVersion":"a/v1","kind":"A","metadata":{"annotations":null},"spec":null,"status":[]}`,
		`{"apiVersion":"a/v1","kind":"A","spec":{"updateStrategy":"OnDelete","replicas":1.5,"template":{"metadata":{"annotations":{"evenkeel.io/steered":null}}}}}`,
	} {
		f.Add(text, "web-3", "b")
	}
	f.Fuzz(func(t *testing.T, text, name, revision string) {
		var whole, copied unstructured.Unstructured
		if whole.UnmarshalJSON([]byte(text)) != nil || copied.UnmarshalJSON([]byte(text)) != nil {
			return // an API server never sends this
		}
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{appsv1.ControllerRevisionHashLabelKey: revision}}}
		want := owners.OfCustom(&whole, pod)
		reduced, err := reduce(&copied)
		if err != nil {
			t.Fatal(err)
		}
		small, ok := reduced.(*unstructured.Unstructured)
		if !ok {
			t.Fatalf("it is reduced to a %T", reduced)
		}
		got := owners.OfCustom(small, pod)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-whole +kept)\n%s", diff)
		}
		seconds, _, _ := unstructured.NestedInt64(whole.Object, "spec", "minReadySeconds")
		if got.MinReady < 0 || seconds > 0 && got.MinReady.Seconds() < float64(min(seconds, math.MaxInt32)) {
			t.Errorf("minReadySeconds %d is read as %v", seconds, got.MinReady)
		}
	})
}
