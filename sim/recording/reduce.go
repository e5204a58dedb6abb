package recording

import (
	"cmp"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/utils/ptr"

	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/reasons"
)

// NodeOf reduces a Node to what a replay needs.
func NodeOf(object *v1.Node) Node {
	node := Node{
		Name: object.Name, Labels: object.Labels, Unschedulable: object.Spec.Unschedulable,
		Allocatable: object.Status.Allocatable, Capacity: object.Status.Capacity,
	}
	for _, taint := range object.Spec.Taints {
		taint.TimeAdded = nil
		node.Taints = append(node.Taints, taint)
	}
	for _, condition := range object.Status.Conditions {
		if condition.Type == v1.NodeReady {
			node.Ready = condition.Status == v1.ConditionTrue
		}
	}
	return node
}

func local(volume *v1.Volume) bool { return volume.HostPath != nil || volume.EmptyDir != nil }

// Object restores the Node.
func (n *Node) Object() *v1.Node {
	ready := v1.ConditionFalse
	if n.Ready {
		ready = v1.ConditionTrue
	}
	capacity := n.Capacity
	if len(capacity) == 0 {
		capacity = n.Allocatable
	}
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, UID: types.UID(n.Name), Labels: n.Labels},
		Spec:       v1.NodeSpec{Taints: n.Taints, Unschedulable: n.Unschedulable},
		Status: v1.NodeStatus{
			Allocatable: n.Allocatable, Capacity: capacity,
			Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: ready}},
		},
	}
}

// ownLabels holds the labels that distinguish pods of one owner.
var ownLabels = []string{
	"statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index", "batch.kubernetes.io/job-completion-index",
}

// TemplateOf reduces a Pod to the parts that it shares with similar pods.
func TemplateOf(object *v1.Pod) Template {
	spec := &object.Spec
	t := Template{
		Namespace: object.Namespace, Stays: stays(object), Labels: maps.Clone(object.Labels),
		Requests: positive(resourcehelper.PodRequests(object, resourcehelper.PodResourcesOptions{})),
		Limits:   positive(resourcehelper.PodLimits(object, resourcehelper.PodResourcesOptions{})),
		Ports:    hostPorts(spec.Containers), Priority: ptr.Deref(spec.Priority, 0),
		NodeSelector: spec.NodeSelector, Affinity: spec.Affinity, Tolerations: spec.Tolerations, Spread: spec.TopologySpreadConstraints,
	}
	if spec.SchedulerName != v1.DefaultSchedulerName {
		t.SchedulerName = spec.SchedulerName
	}
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil && t.Stays != Mirror {
		t.OwnerKind, t.OwnerName = owner.Kind, owner.Name
		if owner.APIVersion != apiVersion(owner.Kind) {
			t.OwnerAPIVersion = owner.APIVersion
		}
	}
	if t.Stays.Pinned() {
		t.Affinity = nil // it only names the node, which is recorded with the pod
	}
	maps.DeleteFunc(t.Labels, func(key, _ string) bool { return slices.Contains(ownLabels, key) })
	return t
}

// criticalPriority is the priority at or above which a pod is system-critical:
// scheduling.SystemCriticalPriority.
const criticalPriority = 2_000_000_000

func stays(pod *v1.Pod) Stays {
	owner := metav1.GetControllerOfNoCopy(pod)
	_, mirror := pod.Annotations[v1.MirrorPodAnnotationKey]
	switch {
	case mirror || owner != nil && owner.Kind == "Node":
		return Mirror
	case owner != nil && owner.Kind == "DaemonSet":
		return DaemonSet
	case ptr.Deref(pod.Spec.Priority, 0) >= criticalPriority:
		return Critical
	case owner == nil:
		return NoOwner
	case slices.ContainsFunc(pod.Spec.Volumes, func(v v1.Volume) bool { return local(&v) }):
		return LocalStorage
	case protected(pod):
		return Protected
	}
	return ""
}

// protected reports whether a pod's own annotations or kind protect it. Whether its
// controller is known to recreate it depends on the replay's policy. A protection that
// ends some time after the start is recorded as lasting.
func protected(pod *v1.Pod) bool {
	reason, _ := safeguards.Protected(pod, safeguards.Words{}, nil, time.Time{})
	return reason != "" && reason != reasons.NoController && reason != reasons.ControllerUnknown
}

// apiVersion returns the apiVersion that Kubernetes uses for a kind of owner.
func apiVersion(kind string) string {
	switch kind {
	case "ReplicaSet", "StatefulSet", "DaemonSet":
		return "apps/v1"
	case "Job":
		return "batch/v1"
	}
	return "v1"
}

// positive removes resources whose amount is not positive. It returns nil if none is
// left.
func positive(list v1.ResourceList) v1.ResourceList {
	maps.DeleteFunc(list, func(_ v1.ResourceName, amount resource.Quantity) bool { return amount.Sign() <= 0 })
	if len(list) == 0 {
		return nil
	}
	return list
}

func hostPorts(containers []v1.Container) []v1.ContainerPort {
	var ports []v1.ContainerPort
	for i := range containers {
		for _, port := range containers[i].Ports {
			if port.HostPort > 0 {
				ports = append(ports, v1.ContainerPort{HostPort: port.HostPort, HostIP: port.HostIP, Protocol: port.Protocol})
			}
		}
	}
	return ports
}

// Pod makes a pod from the template, without a name or a node. The caller provides the
// owner's UID.
func (t *Template) Pod(ownerUID string) *v1.Pod {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.Namespace, GenerateName: cmp.Or(t.OwnerName, "pod"), Labels: t.Labels},
		Spec: v1.PodSpec{
			SchedulerName: cmp.Or(t.SchedulerName, v1.DefaultSchedulerName), Priority: &t.Priority,
			NodeSelector: t.NodeSelector, Affinity: t.Affinity, Tolerations: t.Tolerations, TopologySpreadConstraints: t.Spread,
			Containers: []v1.Container{{
				Name: "c", Ports: t.Ports, Resources: v1.ResourceRequirements{Requests: t.Requests, Limits: t.Limits},
			}},
		},
		Status: v1.PodStatus{Phase: v1.PodPending},
	}
	if t.OwnerName != "" {
		pod.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: cmp.Or(t.OwnerAPIVersion, apiVersion(t.OwnerKind)), Kind: t.OwnerKind, Name: t.OwnerName, UID: types.UID(ownerUID), Controller: new(true),
		}}
	}
	return pod
}
