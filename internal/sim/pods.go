package sim

import (
	"fmt"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/cluster"
)

// newPod makes the next pod of a replica, without a node.
func (w *world) newPod(i int, at time.Time) *v1.Pod {
	r := &w.replicas[i]
	w.made++
	if r.template != nil {
		return w.versioned(w.podOf(r, at), r.Owner)
	}
	version := w.version(r.Owner)
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: fmt.Sprintf("%s-%06d", version.set, w.made),
			UID: types.UID("pod-" + strconv.Itoa(w.made)), ResourceVersion: strconv.Itoa(w.made),
			CreationTimestamp: metav1.NewTime(at), Labels: version.labels, OwnerReferences: version.owners,
		},
		Spec:   v1.PodSpec{SchedulerName: v1.DefaultSchedulerName, Containers: w.containersOf(r.Requests)},
		Status: v1.PodStatus{Phase: v1.PodPending},
	}
}

// containersOf returns the container of pods that request the same, which they share.
func (w *world) containersOf(requests cluster.Amounts) []v1.Container {
	containers := w.containers[requests]
	if containers == nil {
		containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
			v1.ResourceCPU:    *resource.NewMilliQuantity(requests[cluster.CPU], resource.DecimalSI),
			v1.ResourceMemory: *resource.NewQuantity(requests[cluster.Memory], resource.BinarySI),
		}}}}
		w.containers[requests] = containers
	}
	return containers
}
