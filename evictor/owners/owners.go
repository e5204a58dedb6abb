// Package owners answers one question: would a pod's controller create another
// pod in its place now? Each kind of controller has its own rules.
package owners

import (
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/evenkeel/evenkeel/cluster/names"
	"github.com/evenkeel/evenkeel/reasons"
)

// Owner holds the known state of a pod's controller; zero for an unwatched kind.
type Owner struct {
	// UID is empty if the controller is unknown.
	UID string
	// Missing reports whether the owner's kind is watched, but the watch does not contain
	// the owner.
	Missing bool
	// Unreadable reports whether the owner's kind is served but cannot be listed, so that
	// its annotations are unknown.
	Unreadable bool
	// Replicas is the number of pods that the owner wants; 0 if unknown.
	Replicas int
	// Annotations are the owner's annotations. Those of a ReplicaSet include the ones of
	// its Deployment or Rollout. Parents are the annotations of known owners above it.
	Annotations map[string]string
	Parents     []map[string]string
	// Deleting reports whether the owner is being deleted, and ScaledDown whether it
	// wants fewer pods than it has.
	Deleting, ScaledDown bool
	// RollingOut reports whether the owner is replacing its pods or is being replaced
	// itself.
	RollingOut bool
	// MinReady is how long a pod must have been ready to be available.
	MinReady time.Duration
	// Ordered reports whether the owner creates a pod only when the pods of all lower
	// ordinals, from First on, are available. Sparse reports whether some of those
	// ordinals have no pod, and only the controller knows which.
	Ordered, Sparse bool
	First           int
	// Waits reports whether the owner creates the next pod only after the previous one
	// has ended. Backoff is the maximum time that it waits beyond that.
	Waits   bool
	Backoff time.Duration
	// Limited reports whether each eviction counts as a failure. The owner then survives
	// Retries more failures than Failed, the number in its status.
	Limited         bool
	Retries, Failed int
	// Created is when the owner was created. RolledOut is when one of its rollouts was
	// last seen to end. Scaled is when its scale was last seen to change or, if the
	// object states it, when its spec last changed. Shrunk is when it was last seen to be
	// scaled down. Zero means never.
	Created, RolledOut, Scaled, Shrunk time.Time
	// Unsteerable reports whether pods of the owner's template cannot be steered.
	Unsteerable bool
}

// unsteerable reports whether pods of a template cannot be steered. There are three
// causes: the template names a node, so kube-scheduler never sees the pods; the pods wait
// for someone to remove their gates; or the pods look as if they had already been
// steered.
func unsteerable(template *v1.PodTemplateSpec) bool {
	if template == nil {
		return false
	}
	_, steered := template.Annotations[names.Annotation]
	return steered || template.Spec.NodeName != "" || len(template.Spec.SchedulingGates) > 0
}

// Refuses returns why none of the owner's pods may be moved at the given time, and when
// this reason ends; zero if unknown. An owner is left alone for the duration settle after
// a rollout or scaling. Pods of unwatched controllers may be moved, because the policy
// states that these controllers recreate pods, and nothing else is known about them.
func (o *Owner) Refuses(now time.Time, settle time.Duration) (reason reasons.Reason, until time.Time) {
	settling := func(since time.Time) bool { // times from a wrong clock do not count
		age := now.Sub(since)
		return !since.IsZero() && age >= -time.Hour && age < settle
	}
	switch {
	case o.Missing:
		return reasons.OwnerUnknown, until
	case o.Unreadable:
		return reasons.OwnerUnreadable, until
	case o.UID == "":
		return "", until
	case o.Deleting:
		return reasons.OwnerDeleting, until
	case o.Unsteerable:
		return reasons.Unsteerable, until
	case o.ScaledDown:
		return reasons.OwnerScaledDown, until
	case o.RollingOut:
		return reasons.OwnerRollingOut, until
	case settling(o.Created):
		return reasons.OwnerRollingOut, o.Created.Add(settle)
	case settling(o.RolledOut):
		return reasons.OwnerRollingOut, o.RolledOut.Add(settle)
	case settling(o.Scaled):
		return reasons.OwnerJustScaled, o.Scaled.Add(settle)
	}
	return "", until
}

// The annotations in which the controllers of ReplicaSets state how many pods
// all their ReplicaSets should have together.
const (
	desiredByDeployment = "deployment.kubernetes.io/desired-replicas"
	desiredByRollout    = "rollout.argoproj.io/desired-replicas"
)

// OfReplicaSet returns the state of a ReplicaSet. A ReplicaSet that belongs to a
// Deployment or an Argo Rollout is treated as a part of it.
func OfReplicaSet(set *appsv1.ReplicaSet) Owner {
	o := Owner{ScaledDown: int(set.Status.Replicas) > Wanted(set), MinReady: seconds(set.Spec.MinReadySeconds), Unsteerable: unsteerable(&set.Spec.Template)}
	desired := set.Annotations[desiredByDeployment]
	if ref := metav1.GetControllerOfNoCopy(set); ref != nil && ref.Kind == "Rollout" {
		desired = set.Annotations[desiredByRollout] // a Rollout may have adopted it from a Deployment
	}
	// Missing pods count as unavailable rather than as a sign of a rollout, because a pod
	// is missing for a moment after each eviction.
	total, err := strconv.Atoi(desired)
	o.RollingOut = set.Status.ObservedGeneration < set.Generation || err == nil && total != Wanted(set)
	return o
}

// deploymentPhase is the annotation in which OpenShift states the progress of the rollout
// of a DeploymentConfig's ReplicationController.
const deploymentPhase = "openshift.io/deployment.phase"

// OfReplicationController returns the state of a ReplicationController. Old clients and
// OpenShift's DeploymentConfigs scale down a ReplicationController that is being replaced
// in a rollout.
func OfReplicationController(set *v1.ReplicationController) Owner {
	s, phase := &set.Status, set.Annotations[deploymentPhase]
	return Owner{
		ScaledDown: int(s.Replicas) > Wanted(set), MinReady: seconds(set.Spec.MinReadySeconds), Unsteerable: unsteerable(set.Spec.Template),
		RollingOut: s.ObservedGeneration < set.Generation || phase == "New" || phase == "Pending" || phase == "Running",
	}
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }

// OfStatefulSet returns the state of a StatefulSet, for one of its pods.
func OfStatefulSet(set *appsv1.StatefulSet, pod *v1.Pod) Owner {
	return Owner{
		MinReady:    seconds(set.Spec.MinReadySeconds),
		Unsteerable: unsteerable(&set.Spec.Template),
		Waits:       true,
		Ordered:     set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement,
		First:       ordinalsOf(set).first,
		RollingOut:  set.Status.ObservedGeneration < set.Generation || updateOf(set).changes(pod),
		// After the first ordinal has changed, the number of pods may be right while
		// this pod is not among the wanted ones.
		ScaledDown: int(set.Status.Replicas) > Wanted(set) || !Wants(set, pod.Name),
	}
}

// NamesPods reports whether a controller recreates its pods under the same names, each of
// which ends with an ordinal.
func NamesPods(object any) bool {
	switch owner := object.(type) {
	case *appsv1.StatefulSet:
		return true
	case *unstructured.Unstructured:
		return owner.GetKind() == "StatefulSet"
	}
	return false
}

// Wants reports whether a controller wants a pod with this name. It returns true for a
// controller that does not name its pods.
func Wants(object any, pod string) bool {
	i, known := ordinal(pod)
	return !known || !NamesPods(object) || ordinalsOf(object).has(i)
}

// ordinalsOf returns the ordinals of the pods that a controller wants if it
// names its pods.
func ordinalsOf(object any) ordinals {
	switch owner := object.(type) {
	case *appsv1.StatefulSet:
		first := 0
		if owner.Spec.Ordinals != nil {
			first = int(owner.Spec.Ordinals.Start)
		}
		return ordinals{first: first, wants: Wanted(owner)}
	case *unstructured.Unstructured:
		return resource{owner}.ordinals()
	}
	return ordinals{}
}

// RolledOut reports whether a rollout ended, or stopped at its partition or in a pause,
// between two states of a controller that updates its pods. Objects of other kinds are
// replaced by new objects in each rollout.
func RolledOut(before, after any) bool {
	return updateOf(before).proceeds() && !updateOf(after).proceeds()
}

// update is the progress of a controller in updating its pods.
type update struct {
	from, to string // revisions
	// byEviction reports whether the controller updates only pods that someone else
	// deletes, because its strategy is OnDelete or it is paused. This may last
	// indefinitely.
	byEviction bool
	// partition is the number of wanted pods that stay at the old revision, and updated
	// the number of pods that have the new one.
	wants, updated, partition int
	// bothWays reports whether pods beyond the partition are reset to the old revision.
	bothWays bool
}

// updateOf returns the update of a controller; zero for one that never updates its
// pods.
func updateOf(object any) update {
	switch owner := object.(type) {
	case *appsv1.StatefulSet:
		u := update{
			from: owner.Status.CurrentRevision, to: owner.Status.UpdateRevision,
			byEviction: owner.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType,
			wants:      Wanted(owner), updated: int(owner.Status.UpdatedReplicas),
		}
		if rolling := owner.Spec.UpdateStrategy.RollingUpdate; rolling != nil {
			u.partition = int(ptr.Deref(rolling.Partition, 0))
		}
		return u
	case *unstructured.Unstructured:
		return resource{owner}.update()
	}
	return update{}
}

// open reports whether there are two revisions.
func (u update) open() bool { return u.from != u.to }

// proceeds reports whether pods are being updated.
func (u update) proceeds() bool {
	over := u.updated - (u.wants - u.partition)
	rests := u.partition > 0 && (over == 0 || over > 0 && !u.bothWays)
	return u.open() && !u.byEviction && !rests
}

// changes reports whether pods are being updated, or an eviction would update this pod.
func (u update) changes(pod *v1.Pod) bool {
	return u.proceeds() || u.open() && u.byEviction && !has(pod, u.to)
}

// has reports whether a pod has a revision. Kruise may label pods with only the
// end of the revision's name.
func has(pod *v1.Pod, revision string) bool {
	hash := pod.Labels[appsv1.ControllerRevisionHashLabelKey]
	return hash == revision || hash != "" && strings.HasSuffix(revision, "-"+hash)
}

// Wanted returns the number of pods that a controller of a watched kind wants; 0 if a
// custom resource does not state it.
func Wanted(object any) int {
	var replicas *int32
	switch owner := object.(type) {
	case *appsv1.ReplicaSet:
		replicas = owner.Spec.Replicas
	case *appsv1.StatefulSet:
		replicas = owner.Spec.Replicas
	case *v1.ReplicationController:
		replicas = owner.Spec.Replicas
	case *batchv1.Job:
		if replicas = owner.Spec.Parallelism; ptr.Deref(owner.Spec.Suspend, false) {
			return 0
		}
	case *unstructured.Unstructured:
		wants, _ := resource{owner}.number("spec", "replicas")
		return wants
	}
	if replicas == nil {
		return 1 // the API's default
	}
	return int(*replicas)
}
