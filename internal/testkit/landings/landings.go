// Package landings holds small clusters on which upstream's plugins ask for evictions.
// For some of them, users have reported eviction loops; in others, evicting is right.
// Tests run them in process and on a real control plane. Programs must not import this
// package.
package landings

import (
	"fmt"
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Namespace is where all workloads of a Scenario are.
const Namespace = "default"

// Scenario is a cluster and a policy for it.
type Scenario struct {
	Name string
	// Issue is the number of the descheduler issue that reports the loop; 0 for none.
	Issue int
	// About describes the cluster in one sentence for the documentation.
	About     string
	Nodes     []Node
	Workloads []Workload
	// Policy is a DeschedulerPolicy as YAML.
	Policy string
	// Packs reports whether kube-scheduler prefers full nodes (MostAllocated).
	Packs bool
	// Anywhere reports whether the plugin evicts even if no node is better for the
	// replacement.
	Anywhere bool
	// Placed is the lowest number of evictions that helps if replacements go where
	// kube-scheduler puts them, Steered the lowest number if they may go to any node that
	// accepts them. In the scenarios of Right, only Placed.Evictions is set.
	Placed, Steered Fewest
}

// Fewest is the result of an exact search.
type Fewest struct {
	// Asked is the number of evictions that the plugin asks for at the start, Least the number
	// that it still asks for after the best evictions.
	Asked, Least int
	// Evictions is the lowest number of evictions after which it asks for no more than
	// Least.
	Evictions int
}

// Node is a ready node. Its hostname label is its name.
type Node struct {
	Name, Zone string
	Labels     map[string]string
	Taints     []v1.Taint
	// MilliCPU and MiB are the allocatable amounts; 0 means 8000 and 32768.
	MilliCPU, MiB int64
}

// Workload is a Deployment whose replicas are on given nodes; several may be on one.
type Workload struct {
	Name string
	// Labels are additional labels of its pods, besides {app: NAME}.
	Labels map[string]string
	On     []string
	// MilliCPU and MiB are the requests of each replica; 0 means 100 and 128.
	MilliCPU, MiB int64
	// Spec is the pods' spec without its containers.
	Spec v1.PodSpec
	// Status is the pods' initial status; the zero value means running and ready.
	Status v1.PodStatus
	// Age is how long the pods have existed; 0 means an hour.
	Age time.Duration
	// Job makes the workload a Job, which does not replace failed pods.
	Job bool
}

func or(value, otherwise int64) int64 {
	if value == 0 {
		return otherwise
	}
	return value
}

// Object returns the API object of the node.
func (n *Node) Object() *v1.Node {
	object := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, UID: types.UID("node-" + n.Name), Labels: map[string]string{v1.LabelHostname: n.Name}},
		Spec:       v1.NodeSpec{Taints: n.Taints},
		Status:     v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}},
	}
	if n.Zone != "" {
		object.Labels[v1.LabelTopologyZone] = n.Zone
	}
	maps.Copy(object.Labels, n.Labels)
	room := resources(or(n.MilliCPU, 8000), or(n.MiB, 32768))
	room[v1.ResourcePods] = *resource.NewQuantity(110, resource.DecimalSI)
	object.Status.Allocatable, object.Status.Capacity = room, room
	return object
}

func resources(milliCPU, mebibytes int64) v1.ResourceList {
	return v1.ResourceList{
		v1.ResourceCPU: *resource.NewMilliQuantity(milliCPU, resource.DecimalSI), v1.ResourceMemory: *resource.NewQuantity(mebibytes<<20, resource.BinarySI),
	}
}

// PodLabels returns the labels of the workload's pods.
func (w *Workload) PodLabels() map[string]string {
	labels := map[string]string{"app": w.Name}
	maps.Copy(labels, w.Labels)
	return labels
}

// PodSpec returns the spec of the workload's pods.
func (w *Workload) PodSpec() v1.PodSpec {
	spec := *w.Spec.DeepCopy()
	spec.SchedulerName = v1.DefaultSchedulerName
	spec.Containers = []v1.Container{{
		Name: "main", Image: "registry.k8s.io/pause:3.10", Resources: v1.ResourceRequirements{Requests: resources(or(w.MilliCPU, 100), or(w.MiB, 128))},
	}}
	return spec
}

// hash is the value of the pod-template-hash label.
const hash = "1"

// Pod returns a pod of the workload that has no node yet.
func (w *Workload) Pod(name string, created time.Time) *v1.Pod {
	yes := true
	labels := map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: hash}
	maps.Copy(labels, w.PodLabels())
	owner := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: w.Name + "-" + hash, UID: types.UID("rs-" + w.Name), Controller: &yes}
	if w.Job {
		owner = metav1.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: w.Name, UID: types.UID("job-" + w.Name), Controller: &yes}
	}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: Namespace, Name: name, UID: types.UID(name), Labels: labels, CreationTimestamp: metav1.NewTime(created),
			OwnerReferences: []metav1.OwnerReference{owner},
		},
		Spec:   w.PodSpec(),
		Status: v1.PodStatus{Phase: v1.PodPending},
	}
}

// Start gives a pod the status of a pod that has been running since the given time.
func Start(pod *v1.Pod, since time.Time) {
	began, yes := metav1.NewTime(since), true
	pod.Status = v1.PodStatus{
		Phase: v1.PodRunning, StartTime: &began,
		Conditions: []v1.PodCondition{
			{Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: began},
			{Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: began},
		},
		ContainerStatuses: []v1.ContainerStatus{{Name: "main", Ready: true, Started: &yes, State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: began}}}},
	}
}

// Placed returns the workload's pods on their nodes.
func (w *Workload) Placed(now time.Time) []*v1.Pod {
	pods := make([]*v1.Pod, 0, len(w.On))
	age := w.Age
	if age == 0 {
		age = time.Hour
	}
	for i, node := range w.On {
		pod := w.Pod(fmt.Sprintf("%s-%d", w.Name, i), now.Add(-age))
		Start(pod, now.Add(-age))
		if w.Status.Phase != "" {
			pod.Status.Phase = w.Status.Phase
		}
		if w.Status.ContainerStatuses != nil {
			pod.Status.ContainerStatuses = w.Status.ContainerStatuses
		}
		pod.Spec.NodeName = node
		pods = append(pods, pod)
	}
	return pods
}

// Owners returns the workload's Deployment and ReplicaSet in a settled state; none for a
// Job.
func (w *Workload) Owners(now time.Time) []runtime.Object {
	if w.Job {
		return nil
	}
	yes, replicas, made := true, int32(len(w.On)), metav1.NewTime(now.Add(-2*time.Hour))
	selector := &metav1.LabelSelector{MatchLabels: w.PodLabels()}
	template := v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: w.PodLabels()}, Spec: w.PodSpec()}
	return []runtime.Object{
		&appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: Namespace, Name: w.Name, UID: types.UID("deployment-" + w.Name), CreationTimestamp: made, Generation: 1,
				Annotations: map[string]string{"deployment.kubernetes.io/revision": "1"},
			},
			Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: selector, Template: template},
			Status: appsv1.DeploymentStatus{
				ObservedGeneration: 1, Replicas: replicas, UpdatedReplicas: replicas, ReadyReplicas: replicas, AvailableReplicas: replicas,
			},
		},
		&appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: Namespace, Name: w.Name + "-" + hash, UID: types.UID("rs-" + w.Name), CreationTimestamp: made, Generation: 1,
				Annotations:     map[string]string{"deployment.kubernetes.io/revision": "1"},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: w.Name, UID: types.UID("deployment-" + w.Name), Controller: &yes}},
			},
			Spec:   appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: selector, Template: template},
			Status: appsv1.ReplicaSetStatus{ObservedGeneration: 1, Replicas: replicas, ReadyReplicas: replicas, AvailableReplicas: replicas, FullyLabeledReplicas: replicas},
		},
	}
}

// Objects returns all objects of the cluster.
func (s *Scenario) Objects(now time.Time) []runtime.Object {
	objects := []runtime.Object{&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}}}
	for i := range s.Nodes {
		objects = append(objects, s.Nodes[i].Object())
	}
	for i := range s.Workloads {
		objects = append(objects, s.Workloads[i].Owners(now)...)
		for _, pod := range s.Workloads[i].Placed(now) {
			objects = append(objects, pod)
		}
	}
	return objects
}
