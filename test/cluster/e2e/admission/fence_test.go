package admission

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

func kindFile(t *testing.T) string {
	t.Helper()
	root, err := evenkeel.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "deploy", "components", "admission-steering-base", "crd.yaml")
}

func removeKind(t *testing.T, f *stage.Fixture) {
	t.Helper()
	if err := evenkeel.Delete(t.Context(), f.Cluster, kindFile(t)); err != nil {
		t.Fatal(err)
	}
}

// applyAgain applies the components again once the old kind is gone.
func applyAgain(t *testing.T, f *stage.Fixture) {
	t.Helper()
	f.Eventually(30*time.Second, "the kind to be applied again", func(ctx context.Context) bool {
		return evenkeel.Apply(ctx, f.Cluster, kindFile(t), false) == nil
	})
}

// Evenkeel may nominate a node and remove its gate. RBAC would allow any other
// change of a pod, but the fence does not.
//
//e2e:tier all
func TestSteeringIsFenced(t *testing.T) {
	f := stage.New(t)
	o := install(t, f, "admission-steering")
	steered(t, f, o)
	subject := pod("ReplicaSet", "nobody")
	subject.GenerateName, subject.Name, subject.OwnerReferences = "", "fenced", nil
	subject.Labels = map[string]string{"app": "x"}
	subject.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "x/y"}, {Name: gate}}
	pods := f.Client().CoreV1().Pods("default")
	if _, err := pods.Create(t.Context(), subject, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	patch := func(ctx context.Context, text string, sub ...string) error {
		_, err := o.client.CoreV1().Pods("default").Patch(ctx, "fenced", types.MergePatchType, []byte(text), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}, sub...)
		return err
	}
	f.Eventually(30*time.Second, "the API server to keep the fence", func(ctx context.Context) bool {
		return apierrors.IsForbidden(patch(ctx, `{"metadata": {"labels": {"app": "y"}}}`))
	})
	if err := patch(t.Context(), `{"spec": {"schedulingGates": [{"name": "x/y"}]}}`); err != nil {
		t.Errorf("taking its gate off: %v", err)
	}
	if err := patch(t.Context(), `{"status": {"nominatedNodeName": "n1"}}`, "status"); err != nil {
		t.Errorf("nominating a node: %v", err)
	}
	for what, text := range map[string]string{
		"all gates": `{"spec": {"schedulingGates": []}}`, "the other's gate": `{"spec": {"schedulingGates": [{"name": "evenkeel.io/steer"}]}}`,
		"a label": `{"metadata": {"labels": {"app": "y"}}}`, "an annotation": `{"metadata": {"annotations": {"a": "b"}}}`,
		"a finalizer": `{"metadata": {"finalizers": ["evenkeel.io/x"]}}`,
		"a deadline":  `{"spec": {"activeDeadlineSeconds": 1}}`, "a selector": `{"spec": {"nodeSelector": {"a": "b"}}}`,
	} {
		if err := patch(t.Context(), text); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "Evenkeel may") {
			t.Errorf("%s: %v, want it refused by the fence", what, err)
		}
	}
	for what, text := range map[string]string{
		"a phase": `{"status": {"phase": "Failed"}}`, "an address": `{"status": {"podIP": "10.0.0.1"}}`, "a label by status": `{"metadata": {"labels": {"app": "y"}}}`,
	} {
		if err := patch(t.Context(), text, "status"); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "Evenkeel may") {
			t.Errorf("%s: %v, want it refused by the fence", what, err)
		}
	}
	image := []byte(`[{"op": "replace", "path": "/spec/containers/0/image", "value": "evil"}]`)
	if _, err := o.client.CoreV1().Pods("default").Patch(t.Context(), "fenced", types.JSONPatchType, image, metav1.PatchOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("an image: %v, want it refused by the fence", err)
	}
	if _, err := o.client.CoreV1().Pods(probes).Create(t.Context(), pod("ReplicaSet", "x"), metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a probe that is not a dry run: %v, want it refused", err)
	}
	if _, err := o.client.CoreV1().Pods("default").Create(t.Context(), pod("ReplicaSet", "x"), dryRun); !apierrors.IsForbidden(err) {
		t.Errorf("a dry run elsewhere: %v, want it refused", err)
	}
	if _, err := pods.Patch(t.Context(), "fenced", types.MergePatchType, []byte(`{"metadata": {"labels": {"app": "y"}}}`), metav1.PatchOptions{}); err != nil {
		t.Errorf("somebody else's change: %v", err)
	}
}

// With steering by names alone, Evenkeel's only permission on pods is for dry runs.
//
//e2e:tier all
func TestSteeringWithNamesAlone(t *testing.T) {
	f := stage.New(t)
	o := install(t, f, "admission-steering-names")
	steered(t, f, o)
	for _, sub := range [][]string{nil, {"status"}} {
		_, err := o.client.CoreV1().Pods("default").Patch(t.Context(), "nobody", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{}, sub...)
		if !apierrors.IsForbidden(err) {
			t.Errorf("patching a pod %v: %v, want it forbidden", sub, err)
		}
	}
	if _, err := o.client.CoreV1().Pods(probes).Create(t.Context(), pod("ReplicaSet", "x"), metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a probe that is not a dry run: %v, want it refused", err)
	}
}
