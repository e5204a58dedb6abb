package sim

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/cluster"
)

// newPod makes the next pod of a replica, without a node.
func (w *world) newPod(i int, at time.Time) *v1.Pod {
	r := &w.replicas[i]
	w.made++
	if r.template != nil {
		return w.versioned(w.podOf(i, at), r.Owner)
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

// containersOf returns the container list shared by pods with the same
// requests.
func (w *world) containersOf(requests cluster.Amounts) []v1.Container {
	containers := w.containers[requests]
	if containers == nil {
		containers = []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: listOf(requests)}}}
		w.containers[requests] = containers
	}
	return containers
}

// podOf makes a pod from its replica's template. In a StatefulSet, a replacement has the
// name of its predecessor.
func (w *world) podOf(i int, at time.Time) *v1.Pod {
	pod, number := w.replicas[i].template.DeepCopy(), w.made
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil && owner.Kind == "StatefulSet" {
		number = i + 1
	}
	pod.Name = fmt.Sprintf("%s-%06d", pod.GenerateName, number)
	pod.UID, pod.ResourceVersion = types.UID("pod-"+strconv.Itoa(w.made)), strconv.Itoa(w.made)
	pod.CreationTimestamp = metav1.NewTime(at)
	return pod
}

// version returns the newest version of an owner with plain pods.
func (w *world) version(owner int) *plain {
	o := &w.owners[owner]
	if o.plain == nil || o.plainAs != o.template {
		name := plainOwner(owner)
		v := newVersion(name, types.UID(name), o.template)
		o.plainAs, o.plain = o.template, &plain{
			version: v,
			labels:  map[string]string{"app": name, "pod-template-hash": v.hash},
			owners:  []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: v.set, UID: v.uid, Controller: new(true)}},
		}
	}
	return o.plain
}

// versioned turns a recorded pod into a pod of its owner's newest version. A pod of the
// recorded version is not changed.
func (w *world) versioned(pod *v1.Pod, owner int) *v1.Pod {
	number := w.owners[owner].template
	if number == 0 || len(pod.OwnerReferences) == 0 {
		return pod
	}
	set := &pod.OwnerReferences[0]
	name := strings.TrimSuffix(set.Name, "-"+pod.Labels["pod-template-hash"])
	next := newVersion(name, set.UID, number)
	set.Name, set.UID = next.set, next.uid
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	pod.Labels["pod-template-hash"] = next.hash
	return pod
}
