package custom

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

var cloneSet = schema.GroupKind{Group: "apps.kruise.io", Kind: "CloneSet"}

// served returns an API server with CloneSets in one of two versions, and Controllers that read it.
func served(t *testing.T, objects ...runtime.Object) (*fake.FakeDynamicClient, *Controllers) {
	t.Helper()
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		{Group: "apps.kruise.io", Version: "v1alpha1", Resource: "clonesets"}: "CloneSetList",
	}, objects...)
	kube := kubefake.NewClientset()
	kube.Resources = []*metav1.APIResourceList{
		{GroupVersion: "apps.kruise.io/v1beta1", APIResources: []metav1.APIResource{{Name: "statefulsets", Kind: "StatefulSet"}}},
		{GroupVersion: "apps.kruise.io/v1alpha1", APIResources: []metav1.APIResource{{Name: "clonesets/scale", Kind: "CloneSet"}, {Name: "clonesets", Kind: "CloneSet"}}},
	}
	return client, New(client, kube.Discovery())
}

func settle(t *testing.T, c *Controllers) {
	t.Helper()
	c.Start(t.Context())
	for deadline := time.Now().Add(10 * time.Second); !c.Settled(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not settle")
		}
	}
}

// Of a controller, its scale and Evenkeel's own annotations are kept. Of its template, which may be
// large and contain secrets, only the parts are kept that decide whether its pods can be steered.
func TestWhatIsKeptOfAController(t *testing.T) {
	_, c := served(t, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet",
		"metadata": map[string]any{
			"namespace": "shop", "name": "web", "uid": "c-1", "labels": map[string]any{"app": "web"},
			"annotations": map[string]any{"evenkeel.io/evict": "false", "team": "a"},
			"managedFields": []any{
				map[string]any{"manager": "kubectl", "operation": "Update", "time": "2026-01-01T10:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:spec": map[string]any{"f:replicas": map[string]any{}}}},
				map[string]any{"manager": "kruise", "operation": "Update", "subresource": "status", "time": "2026-01-01T11:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:status": map[string]any{}}},
			},
		},
		"spec": map[string]any{
			"replicas": int64(3), "minReadySeconds": int64(30), "template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": "web"}, "annotations": map[string]any{"team": "a", "evenkeel.io/steered": "gate"}},
				"spec": map[string]any{
					"nodeName": "n1", "schedulingGates": []any{map[string]any{"name": "x/y"}}, "containers": []any{map[string]any{"name": "secret"}},
				},
			},
			"updateStrategy": map[string]any{"type": "InPlaceIfPossible", "paused": true, "rollingUpdate": map[string]any{"partition": int64(2), "maxSurge": int64(1)}},
		},
		"status": map[string]any{"replicas": int64(3), "observedGeneration": int64(2), "updatedReplicas": int64(1), "expectedUpdatedReplicas": int64(1), "labelSelector": "app=web"},
	}})
	if err := c.Request(cloneSet); err != nil {
		t.Fatal(err)
	}
	settle(t, c)
	got, watched, listed := c.Get(cloneSet, "shop", "web")
	want := map[string]any{
		"apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet",
		"metadata": map[string]any{"namespace": "shop", "name": "web", "uid": "c-1", "annotations": map[string]any{"evenkeel.io/evict": "false"}, "managedFields": []any{map[string]any{"time": "2026-01-01T10:00:00Z"}}},
		"spec": map[string]any{
			"replicas": int64(3), "minReadySeconds": int64(30), "template": map[string]any{
				"metadata": map[string]any{"annotations": map[string]any{"evenkeel.io/steered": "gate"}},
				"spec":     map[string]any{"nodeName": "n1", "schedulingGates": []any{map[string]any{"name": "x/y"}}},
			},
			"updateStrategy": map[string]any{"type": "InPlaceIfPossible", "paused": true, "rollingUpdate": map[string]any{"partition": int64(2)}},
		},
		"status": map[string]any{"replicas": int64(3), "observedGeneration": int64(2), "updatedReplicas": int64(1), "expectedUpdatedReplicas": int64(1)},
	}
	if got == nil || !watched || !listed {
		t.Fatalf("%v, watched %v, listed %v", got, watched, listed)
	}
	if diff := cmp.Diff(want, got.Object); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if other, _, listed := c.Get(cloneSet, "shop", "another"); other != nil || !listed {
		t.Errorf("another: %v, listed %v", other, listed)
	}
}

// The process starts even if a kind is not served or it is not allowed to list the kind. In the
// latter case, the kind is known to be unreadable.
func TestKindsThatCannotBeRead(t *testing.T) {
	client, c := served(t)
	client.PrependReactor("list", "clonesets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("clonesets is forbidden")
	})
	for _, kind := range []schema.GroupKind{cloneSet, {Group: "example.com", Kind: "Thing"}, {Group: "apps.kruise.io", Kind: "Thing"}} {
		if err := c.Request(kind); err != nil {
			t.Fatal(err)
		}
	}
	settle(t, c)
	if _, watched, listed := c.Get(cloneSet, "shop", "web"); !watched || listed {
		t.Errorf("CloneSets: watched %v, listed %v", watched, listed)
	}
	if _, watched, _ := c.Get(schema.GroupKind{Group: "example.com", Kind: "Thing"}, "shop", "web"); watched {
		t.Error("a kind that is not served is watched")
	}
}

// A controller may be installed after this process started, for example if both come from one
// repository. Its kind is watched as soon as it is requested again.
func TestAKindThatIsServedLater(t *testing.T) {
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		{Group: "apps.kruise.io", Version: "v1alpha1", Resource: "clonesets"}: "CloneSetList",
	}, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet", "metadata": map[string]any{"namespace": "shop", "name": "web"},
	}})
	kube := kubefake.NewClientset()
	c := New(client, kube.Discovery())
	if err := c.Request(cloneSet); err != nil {
		t.Fatal(err)
	}
	settle(t, c)
	if _, watched, _ := c.Get(cloneSet, "shop", "web"); watched {
		t.Fatal("a kind that is not served is watched")
	}
	kube.Resources = []*metav1.APIResourceList{{GroupVersion: "apps.kruise.io/v1alpha1", APIResources: []metav1.APIResource{{Name: "clonesets", Kind: "CloneSet"}}}}
	for range 2 {
		if err := c.Request(cloneSet); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(10 * time.Second); !c.Settled() && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
	}
	if got, watched, listed := c.Get(cloneSet, "shop", "web"); got == nil || !watched || !listed {
		t.Errorf("%v, watched %v, listed %v", got, watched, listed)
	}
}
