// Package owners says what a pod's controller is doing: how many pods it wants,
// and whether it is replacing them.
package owners

import (
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/reasons"
)

// Owner is what is known of a pod's controller; zero for an unwatched kind.
type Owner struct {
	// UID is empty if the controller is not known.
	UID string
	// Missing: its kind is watched, but the watch does not have it.
	Missing bool
	// Replicas is how many pods it wants, 0 if not known.
	Replicas int
	// Annotations are its own; those of a ReplicaSet include its Deployment's.
	Annotations map[string]string
	// Deleting: it is being deleted. ScaledDown: it wants fewer pods than there
	// are.
	Deleting, ScaledDown bool
	// RollingOut: it is replacing its pods, or being replaced.
	RollingOut bool
	// Created is when it was created or last rolled out. Scaled is when its
	// scale was last seen to change, Shrunk when it was last seen to be scaled
	// down; both are zero for never.
	Created, Scaled, Shrunk time.Time
	// Deployment is the one to scale up for a surge; empty without one.
	Deployment string
}

// Refuses returns why none of its pods may be moved at a time, and when that ends;
// zero if that is not known ahead. An owner is left alone for a while after a
// rollout or scaling. Pods of unwatched controllers may be moved: that they
// recreate them is all that the policy knows.
func (o *Owner) Refuses(now time.Time, settle time.Duration) (reason reasons.Reason, until time.Time) {
	settling := func(since time.Time) bool { return !since.IsZero() && now.Sub(since) < settle }
	switch {
	case o.Missing:
		return reasons.OwnerUnknown, until
	case o.UID == "":
		return "", until
	case o.Deleting:
		return reasons.OwnerDeleting, until
	case o.ScaledDown:
		return reasons.OwnerScaledDown, until
	case o.RollingOut:
		return reasons.OwnerRollingOut, until
	case settling(o.Created):
		return reasons.OwnerRollingOut, o.Created.Add(settle)
	case settling(o.Scaled):
		return reasons.OwnerJustScaled, o.Scaled.Add(settle)
	}
	return "", until
}

// OfReplicaSet returns what a ReplicaSet says of itself and its Deployment.
func OfReplicaSet(set *appsv1.ReplicaSet) Owner {
	o := Owner{RollingOut: rollingOut(set), ScaledDown: int(set.Status.Replicas) > Wanted(set)}
	if ref := metav1.GetControllerOfNoCopy(set); ref != nil && ref.Kind == "Deployment" && (cluster.Owner{Name: ref.Name}).Possible() {
		o.Deployment = ref.Name
	}
	return o
}

// rollingOut reports whether a ReplicaSet's Deployment is replacing or scaling
// it. The Deployment controller annotates each ReplicaSet with the replicas
// that the whole Deployment wants. Pods that are missing count as unavailable:
// each eviction makes one miss for a moment.
func rollingOut(set *appsv1.ReplicaSet) bool {
	if set.Status.ObservedGeneration < set.Generation {
		return true
	}
	desired, err := strconv.Atoi(set.Annotations["deployment.kubernetes.io/desired-replicas"])
	return err == nil && desired != Wanted(set)
}

// OfReplicationController returns what a ReplicationController says of itself.
// One that is rolled out is scaled down, as old clients and OpenShift's
// DeploymentConfigs do it.
func OfReplicationController(set *v1.ReplicationController) Owner {
	s := &set.Status
	return Owner{ScaledDown: int(s.Replicas) > Wanted(set), RollingOut: s.ObservedGeneration < set.Generation}
}

// OfStatefulSet returns what a StatefulSet says of itself, for one of its pods.
func OfStatefulSet(set *appsv1.StatefulSet, pod *v1.Pod) Owner {
	return Owner{
		ScaledDown: int(set.Status.Replicas) > Wanted(set),
		RollingOut: set.Status.ObservedGeneration < set.Generation || updating(set, pod),
	}
}

// updating reports whether a StatefulSet is being updated or would update the
// pod if that were evicted. A rollout that waits at its partition is at rest;
// with OnDelete one may rest for ever.
func updating(set *appsv1.StatefulSet, pod *v1.Pod) bool {
	s, strategy := &set.Status, &set.Spec.UpdateStrategy
	if s.CurrentRevision == s.UpdateRevision {
		return false
	}
	if strategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		return pod.Labels[appsv1.ControllerRevisionHashLabelKey] != s.UpdateRevision
	}
	partition := 0
	if strategy.RollingUpdate != nil {
		partition = int(ptr.Deref(strategy.RollingUpdate.Partition, 0))
	}
	return partition == 0 || int(s.UpdatedReplicas) < Wanted(set)-partition
}

// Wanted returns how many pods a controller of a watched kind wants.
func Wanted(object any) int {
	var replicas *int32
	switch owner := object.(type) {
	case *appsv1.ReplicaSet:
		replicas = owner.Spec.Replicas
	case *appsv1.StatefulSet:
		replicas = owner.Spec.Replicas
	case *v1.ReplicationController:
		replicas = owner.Spec.Replicas
	}
	if replicas == nil {
		return 1 // the API's default
	}
	return int(*replicas)
}
