package slim_test

import (
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/cluster/slim"
)

// replica returns a controller's pod as it comes from the API server: it shares nothing with other
// pods.
func replica(name, owner, hash string) *v1.Pod {
	pod := full(name)
	controller := true
	pod.Labels = map[string]string{"app": "web", "pod-template-hash": hash}
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: owner, UID: types.UID(owner), Controller: &controller}}
	return pod
}

func TestReplicasShareWhatTheyHaveInCommon(t *testing.T) {
	s := slim.New()
	a, b := slimmed(t, s, replica("a", "web", "1")), slimmed(t, s, replica("b", "web", "1"))
	for name, of := range map[string]func(*v1.Pod) any{
		"labels":     func(p *v1.Pod) any { return p.Labels },
		"owners":     func(p *v1.Pod) any { return p.OwnerReferences },
		"containers": func(p *v1.Pod) any { return p.Spec.Containers },
		"volumes":    func(p *v1.Pod) any { return p.Spec.Volumes },
		"affinity":   func(p *v1.Pod) any { return p.Spec.Affinity },
		"priority":   func(p *v1.Pod) any { return p.Spec.Priority },
		"states":     func(p *v1.Pod) any { return p.Status.ContainerStatuses },
		"conditions": func(p *v1.Pod) any { return p.Status.Conditions },
	} {
		if x, y := reflect.ValueOf(of(a)), reflect.ValueOf(of(b)); x.Pointer() != y.Pointer() {
			t.Errorf("%s: two replicas have one each", name)
		}
	}
	if a.Name == b.Name {
		t.Error("two replicas have one name")
	}
}

// Fields in which a pod differs from others are not shared, and the shared fields of the other pods
// do not change.
func TestPodsKeepWhatSetsThemApart(t *testing.T) {
	cases := map[string]func(*v1.Pod){
		"another owner":            func(p *v1.Pod) { p.OwnerReferences[0].UID = "other"; p.Spec.Containers[0].Image = "v2" },
		"another revision":         func(p *v1.Pod) { p.Labels["pod-template-hash"] = "2"; p.Spec.Containers[0].Image = "v2" },
		"a separate label":         func(p *v1.Pod) { p.Labels["statefulset.kubernetes.io/pod-name"] = "web-1" },
		"a node to run on":         func(p *v1.Pod) { p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{}} },
		"no affinity":              func(p *v1.Pod) { p.Spec.Affinity = nil },
		"a separate claim":         func(p *v1.Pod) { p.Spec.Volumes[0].PersistentVolumeClaim.ClaimName = "data-1" },
		"requests after a resize":  func(p *v1.Pod) { p.Spec.Containers[0].Resources.Requests["cpu"] = resource.MustParse("9") },
		"what was granted of them": func(p *v1.Pod) { p.Status.ContainerStatuses[0].Resources.Requests["cpu"] = resource.MustParse("8") },
		"restarts":                 func(p *v1.Pod) { p.Status.ContainerStatuses[0].RestartCount = 7 },
		"a crash":                  func(p *v1.Pod) { p.Status.ContainerStatuses[0].State.Waiting.Reason = "CrashLoopBackOff" },
		"a priority":               func(p *v1.Pod) { p.Spec.Priority = new(int32(5)) },
		"an annotation":            func(p *v1.Pod) { p.Annotations = map[string]string{"evenkeel.io/surge": "true"} },
		"another condition":        func(p *v1.Pod) { p.Status.Conditions[0].Status = v1.ConditionFalse },
		"a later transition":       func(p *v1.Pod) { p.Status.Conditions[0].LastTransitionTime = metav1.Unix(1_900_000_000, 0) },
		"no owner":                 func(p *v1.Pod) { p.OwnerReferences = nil },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			other := replica("b", "web", "1")
			change(other)
			want := slimmed(t, slim.New(), other.DeepCopy()) // without another pod to share with
			s := slim.New()
			first := slimmed(t, s, replica("a", "web", "1"))
			before := first.DeepCopy()
			if diff := cmp.Diff(want, slimmed(t, s, other)); diff != "" {
				t.Errorf("a pod after another one (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, first); diff != "" {
				t.Errorf("the pod before it has changed (-want +got):\n%s", diff)
			}
			third := replica("c", "web", "1")
			want = slimmed(t, slim.New(), third.DeepCopy())
			if diff := cmp.Diff(want, slimmed(t, s, third)); diff != "" {
				t.Errorf("a pod after both (-want +got):\n%s", diff)
			}
		})
	}
}

// Objects of other kinds lose the parts that are known to be large and keep those that are read.
func TestOtherKinds(t *testing.T) {
	meta := func(change func(*metav1.ObjectMeta)) metav1.ObjectMeta {
		controller := true
		m := metav1.ObjectMeta{
			Name: "a", UID: "1", Generation: 2,
			Annotations:     map[string]string{"cpu_usage_avg_5m": "0.5", "deployment.kubernetes.io/desired-replicas": "3"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "Deployment", Name: "web", Controller: &controller}},
		}
		change(&m)
		return m
	}
	whole := meta(func(m *metav1.ObjectMeta) {
		m.Labels = map[string]string{"zone": "a"}
		m.Annotations[v1.LastAppliedConfigAnnotation] = "{}"
		m.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}
	})
	labelled := meta(func(m *metav1.ObjectMeta) { m.Labels = map[string]string{"zone": "a"} })
	bare := meta(func(*metav1.ObjectMeta) {})
	selector, template := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, v1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"evenkeel.io/steered": "gate", "a": "b"}},
		Spec:       v1.PodSpec{NodeName: "n", HostNetwork: true, SchedulingGates: []v1.PodSchedulingGate{{Name: "x/y"}}},
	}
	// The parts that decide whether its pods can be steered are kept.
	steering := v1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"evenkeel.io/steered": "gate"}},
		Spec:       v1.PodSpec{NodeName: "n", SchedulingGates: []v1.PodSchedulingGate{{Name: "x/y"}}},
	}
	three := new(int32(3))
	cases := map[string]struct{ whole, want runtime.Object }{
		"a node": {
			&v1.Node{ObjectMeta: *whole.DeepCopy(), Spec: v1.NodeSpec{Unschedulable: true}, Status: v1.NodeStatus{Images: []v1.ContainerImage{{}}, Phase: "x"}},
			&v1.Node{ObjectMeta: labelled, Spec: v1.NodeSpec{Unschedulable: true}, Status: v1.NodeStatus{Phase: "x"}},
		},
		"a ReplicaSet": {
			&appsv1.ReplicaSet{
				ObjectMeta: *whole.DeepCopy(), Spec: appsv1.ReplicaSetSpec{Replicas: three, Selector: selector, Template: template},
				Status: appsv1.ReplicaSetStatus{Replicas: 3, ObservedGeneration: 2},
			},
			&appsv1.ReplicaSet{
				ObjectMeta: bare, Spec: appsv1.ReplicaSetSpec{Replicas: three, Template: steering}, Status: appsv1.ReplicaSetStatus{Replicas: 3, ObservedGeneration: 2},
			},
		},
		"a StatefulSet": {
			&appsv1.StatefulSet{
				ObjectMeta: *whole.DeepCopy(), Status: appsv1.StatefulSetStatus{CurrentRevision: "a", UpdateRevision: "b"},
				Spec: appsv1.StatefulSetSpec{Replicas: three, Selector: selector, Template: template, VolumeClaimTemplates: []v1.PersistentVolumeClaim{{}}},
			},
			&appsv1.StatefulSet{
				ObjectMeta: bare, Spec: appsv1.StatefulSetSpec{Replicas: three, Template: steering}, Status: appsv1.StatefulSetStatus{CurrentRevision: "a", UpdateRevision: "b"},
			},
		},
		"a budget": {
			&policyv1.PodDisruptionBudget{ObjectMeta: *whole.DeepCopy(), Spec: policyv1.PodDisruptionBudgetSpec{Selector: selector}},
			&policyv1.PodDisruptionBudget{ObjectMeta: labelled, Spec: policyv1.PodDisruptionBudgetSpec{Selector: selector}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := slim.New().Transform(tc.whole)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Informers of several kinds transform concurrently.
func TestSeveralTransformAtOnce(t *testing.T) {
	s := slim.New()
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			for k := range 200 {
				pod := replica(fmt.Sprintf("p-%d-%d", i, k), fmt.Sprintf("owner-%d", k%7), "1")
				pod.Spec.NodeName = fmt.Sprintf("node-%d", k%5)
				out, err := s.Transform(pod)
				if err != nil || out.(*v1.Pod).Spec.NodeName != fmt.Sprintf("node-%d", k%5) { //nolint:forcetypeassert // it is what was given
					t.Errorf("got %v, error %v", out, err)
				}
			}
		})
	}
	group.Wait()
}

// The time of the last change of an owner's spec is kept, because a process
// that starts later has not seen the change.
func TestWhenOwnersChangedIsKept(t *testing.T) {
	start := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	entry := func(at time.Duration, subresource, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: "m", Time: &metav1.Time{Time: start.Add(at)}, Subresource: subresource, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	fields := []metav1.ManagedFieldsEntry{
		entry(time.Minute, "", `{"f:metadata":{},"f:spec":{"f:template":{}}}`), entry(2*time.Minute, "scale", `{"f:spec":{"f:replicas":{}}}`),
		entry(3*time.Minute, "status", `{"f:status":{"f:spec":{}},"f:spec":{}}`), entry(4*time.Minute, "", `{"f:metadata":{"f:annotations":{}}}`),
	}
	for _, object := range []metav1.Object{&appsv1.ReplicaSet{}, &appsv1.StatefulSet{}, &v1.ReplicationController{}} {
		object.SetManagedFields(fields)
		for range 2 { // an object may pass through twice
			if _, err := slim.New().Transform(object); err != nil {
				t.Fatal(err)
			}
			if kept := object.GetManagedFields(); len(kept) != 1 || !kept[0].Time.Time.Equal(start.Add(2*time.Minute)) || kept[0].FieldsV1 != nil {
				t.Errorf("%T: %v", object, kept)
			}
		}
	}
}
