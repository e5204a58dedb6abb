package informed

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	qoshelper "k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"

	"github.com/evenkeel/evenkeel/cluster"
)

// leavingTaints announce that an autoscaler is about to remove a node. The
// first two are cluster-autoscaler's, the others Karpenter's.
var leavingTaints = map[string]bool{
	"ToBeDeletedByClusterAutoscaler":       true,
	"DeletionCandidateOfClusterAutoscaler": true,
	"karpenter.sh/disruption":              true,
	"karpenter.sh/disrupted":               true,
}

// Node returns the record of a Node.
func Node(object *v1.Node) cluster.Node {
	node := cluster.Node{
		Name:        object.Name,
		Allocatable: Amounts(object.Status.Allocatable),
		Capacity:    Amounts(object.Status.Capacity),
		Schedulable: !object.Spec.Unschedulable,
		KubeletPort: object.Status.DaemonEndpoints.KubeletEndpoint.Port,
		Labels:      object.Labels,

		UsageAnnotations: usageAnnotations(object.Annotations),
	}
	for _, address := range object.Status.Addresses {
		switch {
		case address.Type == v1.NodeInternalIP && node.InternalIP == "":
			node.InternalIP = address.Address
		case address.Type == v1.NodeHostName && node.Hostname == "":
			node.Hostname = address.Address
		}
	}
	for _, condition := range object.Status.Conditions {
		if condition.Type == v1.NodeReady {
			node.Ready = condition.Status == v1.ConditionTrue
		}
	}
	for _, taint := range object.Spec.Taints {
		if leavingTaints[taint.Key] {
			node.Leaving = taint.Key
		}
	}
	if object.DeletionTimestamp != nil {
		node.Leaving = "deletionTimestamp"
	}
	return node
}

// usageAnnotations keeps what usage sources read of a node's annotations:
// Crane's figures, and metrics-server's path.
func usageAnnotations(all map[string]string) map[string]string {
	var kept map[string]string
	for key, value := range all {
		if !strings.HasPrefix(key, "cpu_usage_") && !strings.HasPrefix(key, "mem_usage_") && key != cluster.ResourceMetricsPath {
			continue
		}
		if kept == nil {
			kept = map[string]string{}
		}
		kept[key] = value
	}
	return kept
}

// Pod returns the record of a Pod.
func Pod(object *v1.Pod) *cluster.Pod {
	pod := &cluster.Pod{
		UID:         string(object.UID),
		Namespace:   object.Namespace,
		Name:        object.Name,
		Node:        object.Spec.NodeName,
		Requests:    Amounts(resourcehelper.PodRequests(object, resourcehelper.PodResourcesOptions{})),
		Limits:      Amounts(resourcehelper.PodLimits(object, resourcehelper.PodResourcesOptions{})),
		QoS:         qos(object),
		Created:     object.CreationTimestamp.Time,
		Terminating: object.DeletionTimestamp != nil,
	}
	if object.Spec.Priority != nil {
		pod.Priority = *object.Spec.Priority
	}
	if object.Status.StartTime != nil {
		pod.Started = object.Status.StartTime.Time
	}
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil {
		pod.Owner = cluster.Owner{UID: string(owner.UID), Kind: owner.Kind, Name: owner.Name}
		pod.TemplateHash = templateHash(object.Labels, owner.Kind)
	}
	for _, condition := range object.Status.Conditions {
		if condition.Type == v1.PodReady {
			pod.Ready = condition.Status == v1.ConditionTrue
		}
	}
	return pod
}

// templateHash returns the label by which a controller of this kind tells its
// templates apart.
func templateHash(labels map[string]string, ownerKind string) string {
	if ownerKind == "StatefulSet" || ownerKind == "DaemonSet" {
		return labels["controller-revision-hash"]
	}
	return labels["pod-template-hash"]
}

// Amounts converts quantities at the edge: milli-cores and bytes.
func Amounts(list v1.ResourceList) cluster.Amounts {
	return cluster.Amounts{
		cluster.CPU:    quantity(list, v1.ResourceCPU, (*resource.Quantity).MilliValue),
		cluster.Memory: quantity(list, v1.ResourceMemory, (*resource.Quantity).Value),
	}
}

func quantity(list v1.ResourceList, name v1.ResourceName, value func(*resource.Quantity) int64) int64 {
	q, ok := list[name]
	if !ok {
		return 0
	}
	return value(&q)
}

func qos(object *v1.Pod) cluster.QoS {
	class := object.Status.QOSClass
	if class == "" {
		class = qoshelper.GetPodQOS(object)
	}
	switch class {
	case v1.PodQOSGuaranteed:
		return cluster.Guaranteed
	case v1.PodQOSBurstable:
		return cluster.Burstable
	case v1.PodQOSBestEffort:
	}
	return cluster.BestEffort
}

func ended(object *v1.Pod) bool {
	return object.Status.Phase == v1.PodSucceeded || object.Status.Phase == v1.PodFailed
}
