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
	owner, version := plainOwner(r.Owner), w.version(r.Owner)
	uid := types.UID("pod-" + strconv.Itoa(w.made))
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: fmt.Sprintf("%s-%06d", version.set, w.made), UID: uid, ResourceVersion: strconv.Itoa(w.made),
			CreationTimestamp: metav1.NewTime(at),
			Labels:            map[string]string{"app": owner, "pod-template-hash": version.hash},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: version.set, UID: version.uid, Controller: new(true),
			}},
		},
		Spec: v1.PodSpec{
			SchedulerName: v1.DefaultSchedulerName,
			Containers: []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
				v1.ResourceCPU:    *resource.NewMilliQuantity(r.Requests[cluster.CPU], resource.DecimalSI),
				v1.ResourceMemory: *resource.NewQuantity(r.Requests[cluster.Memory], resource.BinarySI),
			}}}},
		},
		Status: v1.PodStatus{Phase: v1.PodPending},
	}
}
