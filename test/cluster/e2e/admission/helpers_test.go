package admission

import (
	"context"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

const (
	probes = "evenkeel-probe"
	gate   = "evenkeel.io/steer"
)

var (
	steerings = schema.GroupVersionResource{Group: "evenkeel.io", Version: "v1alpha1", Resource: "steerings"}
	dryRun    = metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
)

// ours holds clients with the rights of the shipped ServiceAccount.
type ours struct {
	client *kubernetes.Clientset
	keys   dynamic.NamespaceableResourceInterface
}

func install(t *testing.T, f *stage.Fixture, component string) ours {
	t.Helper()
	f.Component(component)
	return asShipped(t, f)
}

// asShipped returns such clients.
func asShipped(t *testing.T, f *stage.Fixture) ours {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", f.Access.Evenkeel)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return ours{client: client, keys: keys.Resource(steerings)}
}

// key returns one entry of targets, without fields that are empty.
func key(until time.Time, by string, nodes ...any) map[string]any {
	k := map[string]any{"nodes": nodes}
	if !until.IsZero() {
		k["until"] = until.UTC().Format(time.RFC3339)
	}
	if by != "" {
		k["by"] = by
	}
	return k
}

func (o ours) steer(ctx context.Context, namespace string, targets map[string]any) error {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "evenkeel.io/v1alpha1", "kind": "Steering",
		"metadata": map[string]any{"name": "evenkeel", "namespace": namespace}, "targets": targets,
	}}
	_, err := o.keys.Namespace(namespace).Create(ctx, object, metav1.CreateOptions{})
	return err
}

// pod returns a pod of a controller that conforms to the restricted Pod Security Standard.
func pod(kind, uid string) *v1.Pod {
	yes, user := true, int64(65532)
	no := false
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "steered-", OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: kind, Name: "web", UID: types.UID(uid), Controller: &yes,
		}}},
		Spec: v1.PodSpec{
			SecurityContext: &v1.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: &user, SeccompProfile: &v1.SeccompProfile{Type: v1.SeccompProfileTypeRuntimeDefault}},
			Containers: []v1.Container{{Name: "c", Image: "none", SecurityContext: &v1.SecurityContext{
				AllowPrivilegeEscalation: &no, Capabilities: &v1.Capabilities{Drop: []v1.Capability{"ALL"}},
			}}},
		},
	}
}

// steered waits until a probe's key takes effect, which implies that all earlier keys do.
func steered(t *testing.T, f *stage.Fixture, o ours) {
	t.Helper()
	if err := o.steer(t.Context(), probes, map[string]any{"probe": key(time.Now().Add(time.Minute), "", "probed")}); err != nil {
		t.Fatal(err)
	}
	f.Eventually(30*time.Second, "a probe to be steered", func(ctx context.Context) bool {
		got, err := o.client.CoreV1().Pods(probes).Create(ctx, pod("ReplicaSet", "probe"), dryRun)
		return err == nil && got.Annotations["evenkeel.io/steered"] == "probed"
	})
}
