package admission

import (
	"context"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// kube-scheduler keeps the nomination of a pod that never preempts and fits nowhere, and
// autoscalers then add no node for the pod. Evenkeel therefore removes the nomination.
//
//e2e:tier all
func TestNominationInVainIsTakenBack(t *testing.T) {
	f := stage.New(t)
	f.RestoreScheduler()
	if err := f.RestartScheduler(t.Context()); err != nil {
		t.Fatal(err)
	}
	install(t, f, "admission-steering")
	nodes, err := f.AddNodes(t.Context(), 2, cluster.NodeTemplate{CPU: "4", Memory: "16Gi"})
	if err != nil {
		t.Fatal(err)
	}
	name := tooLarge(t, f)
	f.Eventually(30*time.Second, "kube-scheduler to find no node", func(ctx context.Context) bool {
		return waits(read(ctx, t, f, name))
	})
	pods := f.Client().CoreV1().Pods("default")
	nominate := []byte(`{"status":{"nominatedNodeName":"` + nodes[0] + `"}}`)
	if _, err := pods.Patch(t.Context(), name, types.StrategicMergePatchType, nominate, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	// A new node, although too small, makes kube-scheduler try the pod again.
	tried := read(t.Context(), t, f, name).ResourceVersion
	if _, err := f.AddNodes(t.Context(), 1, cluster.NodeTemplate{NamePrefix: "late", CPU: "5", Memory: "16Gi"}); err != nil {
		t.Fatal(err)
	}
	f.Eventually(30*time.Second, "kube-scheduler to try again", func(ctx context.Context) bool {
		pod := read(ctx, t, f, name)
		return waits(pod) && pod.ResourceVersion != tried
	})
	if got := read(t.Context(), t, f, name).Status.NominatedNodeName; got != nodes[0] {
		t.Fatalf("kube-scheduler itself has changed the nomination to %q: Evenkeel need not", got)
	}
	f.Serve(f.Policy(stage.RealUsage, byAPIServer))
	f.Eventually(10*time.Second, "the nomination to be taken back", func(ctx context.Context) bool {
		return read(ctx, t, f, name).Status.NominatedNodeName == ""
	})
}

// tooLarge creates a pod that was steered with the gate, never preempts and fits on no node.
func tooLarge(t *testing.T, f *stage.Fixture) (name string) {
	t.Helper()
	never := v1.PreemptNever
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "patient"}, Value: 100, PreemptionPolicy: &never}
	if _, err := f.Client().SchedulingV1().PriorityClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	large := pod("ReplicaSet", "none")
	large.Annotations = map[string]string{"evenkeel.io/steered": "gate"}
	large.OwnerReferences = nil // the garbage collector would delete it, because its controller does not exist
	large.Spec.PriorityClassName = class.Name
	large.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("64")}
	made, err := f.Client().CoreV1().Pods("default").Create(t.Context(), large, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := f.Client().CoreV1().Pods("default").Delete(ctx, made.Name, *metav1.NewDeleteOptions(0)); err != nil {
			t.Error(err)
		}
		if err := f.Client().SchedulingV1().PriorityClasses().Delete(ctx, class.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	return made.Name
}

func read(ctx context.Context, t *testing.T, f *stage.Fixture, name string) *v1.Pod {
	t.Helper()
	pod, err := f.Client().CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

// waits reports whether kube-scheduler found no node for the pod.
func waits(pod *v1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodScheduled && c.Reason == v1.PodReasonUnschedulable {
			return true
		}
	}
	return false
}
