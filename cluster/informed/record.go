package informed

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	nodeutil "k8s.io/component-helpers/node/util"
	resourcehelper "k8s.io/component-helpers/resource"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/utils/ptr"

	"github.com/evenkeel/evenkeel/cluster"
)

// Node returns the record of a Node. The meaning of its taints is determined by
// a TaintRule.
func Node(object *v1.Node) cluster.Node {
	_, ready := nodeutil.GetNodeCondition(&object.Status, v1.NodeReady)
	node := cluster.Node{
		Name:        object.Name,
		Allocatable: Amounts(object.Status.Allocatable),
		Capacity:    Amounts(object.Status.Capacity),
		HugePages:   hugePages(object.Status.Capacity),
		Ready:       ready != nil && ready.Status == v1.ConditionTrue,
		Schedulable: !object.Spec.Unschedulable,
		KubeletPort: object.Status.DaemonEndpoints.KubeletEndpoint.Port,
		Labels:      object.Labels,
		Deleting:    object.DeletionTimestamp != nil,

		UsageAnnotations: usageAnnotations(object.Annotations),
	}
	if node.Ready {
		node.ReadySince = ready.LastTransitionTime.Time
		if created := object.CreationTimestamp.Time; node.ReadySince.Before(created) {
			node.ReadySince = created // the node's clock is slow
		}
	}
	for _, address := range object.Status.Addresses {
		switch {
		case address.Type == v1.NodeInternalIP && node.InternalIP == "":
			node.InternalIP = address.Address
		case address.Type == v1.NodeHostName && node.Hostname == "":
			node.Hostname = address.Address
		}
	}
	for i := range object.Spec.Taints {
		taint := &object.Spec.Taints[i]
		node.Taints = append(node.Taints, taint.Key)
		if taint.Effect == v1.TaintEffectNoSchedule || taint.Effect == v1.TaintEffectNoExecute {
			node.Repelling = append(node.Repelling, taint.Key)
		}
	}
	node.Since = signTimes(object)
	return node
}

// hugePages returns the total of huge pages of all sizes, capped at the node's memory.
func hugePages(capacity v1.ResourceList) (bytes int64) {
	whole := capacity.Memory().Value()
	for name, quantity := range capacity {
		if strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix) {
			bytes += min(max(quantity.Value(), 0), whole-bytes)
		}
	}
	return bytes
}

// removalTaint is the taint that cluster-autoscaler adds to a node that it is about to
// remove. Its value is the time in seconds.
const removalTaint = "ToBeDeletedByClusterAutoscaler"

// signTimes returns when a node's taints were added and when the node was deleted, if
// stated; nil if no time is.
func signTimes(object *v1.Node) map[string]time.Time {
	times := map[string]time.Time{}
	for i := range object.Spec.Taints {
		taint := &object.Spec.Taints[i]
		seconds, err := strconv.ParseInt(taint.Value, 10, 64)
		switch {
		case taint.TimeAdded != nil:
			times[taint.Key] = taint.TimeAdded.Time
		case taint.Key == removalTaint && err == nil:
			times[taint.Key] = time.Unix(seconds, 0)
		}
	}
	if object.DeletionTimestamp != nil {
		times[cluster.DeletionSign] = object.DeletionTimestamp.Time
	}
	if len(times) == 0 {
		return nil
	}
	return times
}

// usageAnnotations keeps the annotations that usage sources read: Crane's
// values, and metrics-server's path.
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
func Pod(object *v1.Pod) *cluster.Pod { return record(object, sizeOf(object)) }

// size is what a pod requests and may use, according to its spec.
type size struct {
	requests, limits cluster.Amounts
	cpuLimits        cluster.CPULimits
}

func sizeOf(object *v1.Pod) size {
	return size{
		requests:  Amounts(resourcehelper.PodRequests(object, resourcehelper.PodResourcesOptions{})),
		limits:    Amounts(resourcehelper.PodLimits(object, resourcehelper.PodResourcesOptions{})),
		cpuLimits: cpuLimits(&object.Spec),
	}
}

func record(object *v1.Pod, of size) *cluster.Pod {
	pod := &cluster.Pod{
		UID:         string(object.UID),
		Namespace:   object.Namespace,
		Name:        object.Name,
		Node:        object.Spec.NodeName,
		Requests:    of.requests,
		Limits:      of.limits,
		CPULimits:   of.cpuLimits,
		Priority:    ptr.Deref(object.Spec.Priority, 0),
		Created:     object.CreationTimestamp.Time,
		Terminating: object.DeletionTimestamp != nil,
		Ready:       podutil.IsPodReady(object),
		HasClaims:   slices.ContainsFunc(object.Spec.Volumes, claimed),
		Scheduled:   scheduled(&object.Status),
	}
	if object.Status.StartTime != nil {
		pod.Started = object.Status.StartTime.Time
		pod.RunningAfter = runningAfter(&object.Status)
	}
	if pod.Owner = ownerOf(object); pod.Owner.UID != "" {
		pod.TemplateHash = templateHash(object.Labels, pod.Owner.Kind)
	}
	return pod
}

func scheduled(status *v1.PodStatus) bool {
	_, condition := podutil.GetPodCondition(status, v1.PodScheduled)
	return condition != nil && condition.Status == v1.ConditionTrue
}

// ownerOf returns an object's controller; the zero value if it has none or its controller
// cannot exist.
func ownerOf(object metav1.Object) cluster.Owner {
	ref := metav1.GetControllerOfNoCopy(object)
	if ref == nil {
		return cluster.Owner{}
	}
	owner := cluster.Owner{UID: string(ref.UID), Kind: ref.Kind, Name: ref.Name}
	if !owner.Possible() {
		return cluster.Owner{}
	}
	return owner
}

// cpuLimits returns the limits at which the kernel throttles a pod and its
// containers, including sidecars.
func cpuLimits(spec *v1.PodSpec) (limits cluster.CPULimits) {
	if spec.Resources != nil {
		limits = limits.With("", spec.Resources.Limits.Cpu().MilliValue())
	}
	for _, containers := range [][]v1.Container{spec.Containers, spec.InitContainers} {
		for i := range containers {
			limits = limits.With(containers[i].Name, containers[i].Resources.Limits.Cpu().MilliValue())
		}
	}
	return limits
}

func claimed(v v1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil }

// habitual is how many restarts a pod's containers may have in total before a further
// restart no longer resets the pod's startup. Otherwise one container that restarts
// every few minutes, or many in turn, would hide the pod's usage indefinitely.
const habitual = 3

// runningAfter returns how many seconds after its pod the newest running container
// started. The result is at least cluster.PromptStart, because stored pods lack the start
// time of a container that started sooner.
func runningAfter(status *v1.PodStatus) int32 {
	containers := [...][]v1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses}
	restarts := int64(0)
	for _, statuses := range containers {
		for i := range statuses {
			restarts += int64(statuses[i].RestartCount)
		}
	}
	after := time.Duration(0)
	for _, statuses := range containers {
		for i := range statuses {
			if running := statuses[i].State.Running; running != nil && (statuses[i].RestartCount == 0 || restarts < habitual) {
				after = max(after, cluster.PromptStart, running.StartedAt.Sub(status.StartTime.Time))
			}
		}
	}
	return int32(min(after/time.Second, math.MaxInt32))
}

// templateHash returns the label value by which controllers of this kind distinguish
// their templates.
func templateHash(labels map[string]string, ownerKind string) string {
	if ownerKind == "StatefulSet" || ownerKind == "DaemonSet" {
		return labels["controller-revision-hash"]
	}
	return labels["pod-template-hash"]
}

// Amounts converts quantities to milli-cores and bytes.
func Amounts(list v1.ResourceList) cluster.Amounts {
	return cluster.Amounts{cluster.CPU: list.Cpu().MilliValue(), cluster.Memory: list.Memory().Value()}
}
