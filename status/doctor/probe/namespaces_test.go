package probe_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/evenkeel/evenkeel/status/doctor/probe"
)

// Namespaces whose annotation has an unreadable value are found. Those with a readable annotation,
// however it is spelled, are not listed.
func TestInvalidAnnotations(t *testing.T) {
	client := fake.NewClientset()
	for name, value := range map[string]string{"a": "flase", "b": "never", "c": "true", "d": ""} {
		namespace := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"evenkeel.io/evict": value}}}
		if err := client.Tracker().Add(namespace); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"a", "d"}, probe.InvalidAnnotations(t.Context(), client)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	client.PrependReactor("list", "namespaces", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("forbidden")
	})
	if got := probe.InvalidAnnotations(t.Context(), client); got != nil {
		t.Errorf("where they must not be listed: %v", got)
	}
}

// The kinds above ReplicationControllers are listed, each once, except those that the policy names.
func TestUnwatched(t *testing.T) {
	client := fake.NewClientset()
	for name, kind := range map[string]string{"a-1": "DeploymentConfig", "a-2": "DeploymentConfig", "b": "Named", "c": ""} {
		rc := &v1.ReplicationController{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
		if kind != "" {
			rc.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps.openshift.io/v1", Kind: kind, Name: "x", Controller: new(true)}}
		}
		if err := client.Tracker().Add(rc); err != nil {
			t.Fatal(err)
		}
	}
	named := []string{"Named.apps.openshift.io"}
	if diff := cmp.Diff([]string{"DeploymentConfig.apps.openshift.io"}, probe.Unwatched(t.Context(), client, named)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	client.PrependReactor("list", "replicationcontrollers", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("forbidden")
	})
	if got := probe.Unwatched(t.Context(), client, nil); got != nil {
		t.Errorf("where they must not be listed: %v", got)
	}
}

// Ledgers and kill switches in other namespaces are found by name, if listing ConfigMaps is allowed.
func TestOtherNamespaces(t *testing.T) {
	client := fake.NewClientset()
	for _, at := range []struct{ namespace, name string }{
		{"kube-system", "evenkeel-pause"}, {"b", "evenkeel-ledger"}, {"b", "evenkeel-pause"}, {"a", "evenkeel-pause"}, {"c", "other"},
	} {
		if err := client.Tracker().Add(&v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: at.namespace, Name: at.name}}); err != nil {
			t.Fatal(err)
		}
	}
	find := func() []string {
		return probe.OtherNamespaces(t.Context(), client, "kube-system", "evenkeel-ledger", "evenkeel-pause")
	}
	if diff := cmp.Diff([]string{"a", "b"}, find()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	client.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("forbidden")
	})
	if got := find(); got != nil {
		t.Errorf("where they must not be listed: %v", got)
	}
}
