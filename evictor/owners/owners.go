// Package owners answers one question: would a pod's controller create another in
// its place now? Each kind of controller has its own rules for that.
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

	"github.com/evenkeel/evenkeel/reasons"
)

// Owner is what is known of a pod's controller; zero for an unwatched kind.
type Owner struct {
	// UID is empty if the controller is not known.
	UID string
	// Missing: its kind is watched, but the watch does not have it.
	Missing bool
	// Unreadable: its kind is served and cannot be listed, so that nobody knows
	// what its annotations say.
	Unreadable bool
	// Replicas is how many pods it wants, 0 if not known.
	Replicas int
	// Annotations are its own; those of a ReplicaSet include its Deployment's or
	// Rollout's. Parents are those of the owners above it that are known.
	Annotations map[string]string
	Parents     []map[string]string
	// Deleting: it is being deleted. ScaledDown: it wants fewer pods than there
	// are.
	Deleting, ScaledDown bool
	// RollingOut: it is replacing its pods, or being replaced.
	RollingOut bool
	// MinReady is how long a pod must have been ready to be available.
	MinReady time.Duration
	// Ordered: it creates a pod only when the pods of all lower ordinals, from
	// First on, are available. Sparse: some of those ordinals have no pod, and
	// which is known to its controller only.
	Ordered, Sparse bool
	First           int
	// Waits: it creates the next pod only when the last one has ended. Backoff is how
	// long at most it waits beyond that.
	Waits   bool
	Backoff time.Duration
	// Limited: each eviction counts as a failure, of which it survives Retries more
	// than the Failed that its status states.
	Limited         bool
	Retries, Failed int
	// Created is when it was created. RolledOut is when a rollout of it was last
	// seen to end, Scaled when its scale was last seen to change or its
	// specification is stated to have changed, Shrunk when it was last seen to be
	// scaled down; each is zero for never.
	Created, RolledOut, Scaled, Shrunk time.Time
	// Unsteerable: no pod of its template can be steered.
	Unsteerable bool
}

// steeredAnnotation is scorer/admission/names.Annotation, which marks pods that
// were steered: none with it is steered again.
const steeredAnnotation = "evenkeel.io/steered"

// unsteerable reports whether no pod of a template can be steered: it names a
// node, so kube-scheduler never sees its pods; its pods wait for somebody who
// opens their gates; or they look as if they were steered already.
func unsteerable(template *v1.PodTemplateSpec) bool {
	if template == nil {
		return false
	}
	_, steered := template.Annotations[steeredAnnotation]
	return steered || template.Spec.NodeName != "" || len(template.Spec.SchedulingGates) > 0
}

// Refuses returns why none of its pods may be moved at a time, and when that ends;
// zero if that is not known ahead. An owner is left alone for a while after a
// rollout or scaling. Pods of unwatched controllers may be moved: that they
// recreate them is all that the policy knows.
func (o *Owner) Refuses(now time.Time, settle time.Duration) (reason reasons.Reason, until time.Time) {
	settling := func(since time.Time) bool { // not by a time that a wrong clock gave
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

// The annotations by which the controllers of ReplicaSets state how many pods all
// their ReplicaSets together are to have.
const (
	desiredByDeployment = "deployment.kubernetes.io/desired-replicas"
	desiredByRollout    = "rollout.argoproj.io/desired-replicas"
)

// OfReplicaSet returns the state of a ReplicaSet, for one that belongs to a
// Deployment or an Argo Rollout as part of that.
func OfReplicaSet(set *appsv1.ReplicaSet) Owner {
	o := Owner{ScaledDown: int(set.Status.Replicas) > Wanted(set), MinReady: seconds(set.Spec.MinReadySeconds), Unsteerable: unsteerable(&set.Spec.Template)}
	desired := set.Annotations[desiredByDeployment]
	if ref := metav1.GetControllerOfNoCopy(set); ref != nil && ref.Kind == "Rollout" {
		desired = set.Annotations[desiredByRollout] // a Rollout may have adopted it from a Deployment
	}
	// Pods that are missing count as unavailable, not as a rollout: each eviction
	// makes one miss for a moment.
	total, err := strconv.Atoi(desired)
	o.RollingOut = set.Status.ObservedGeneration < set.Generation || err == nil && total != Wanted(set)
	return o
}

// deploymentPhase is the annotation in which OpenShift states how far the rollout
// of a DeploymentConfig's ReplicationController is.
const deploymentPhase = "openshift.io/deployment.phase"

// OfReplicationController returns the state of a ReplicationController. One that
// is rolled out is scaled down, as old clients and OpenShift's
// DeploymentConfigs do it.
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
		// After a change of the first ordinal the number of pods may be right while
		// this one is not among those that are wanted.
		ScaledDown: int(set.Status.Replicas) > Wanted(set) || !Wants(set, pod.Name),
	}
}

// NamesPods reports whether a controller makes its pods again under their names,
// each of which ends with an ordinal.
func NamesPods(object any) bool {
	switch owner := object.(type) {
	case *appsv1.StatefulSet:
		return true
	case *unstructured.Unstructured:
		return owner.GetKind() == "StatefulSet"
	}
	return false
}

// Wants reports whether a controller wants a pod of this name. One that does not
// name its pods wants any.
func Wants(object any, pod string) bool {
	i, known := ordinal(pod)
	return !known || !NamesPods(object) || ordinalsOf(object).has(i)
}

// ordinalsOf returns the ordinals of which a controller that names its pods wants
// some.
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

// RolledOut reports whether a rollout has ended between two states of a controller
// that updates its pods, or has come to rest at its partition or in a pause. Other
// kinds are created anew by each rollout.
func RolledOut(before, after any) bool {
	return updateOf(before).proceeds() && !updateOf(after).proceeds()
}

// update is how far a controller is with an update of its pods.
type update struct {
	from, to string // revisions
	// byEviction: it updates those pods only that somebody else deletes, because its
	// strategy is OnDelete or it is paused. It may rest so indefinitely.
	byEviction bool
	// partition is how many of the wanted pods are to stay at the old revision, updated
	// how many have the new one.
	wants, updated, partition int
	// bothWays: pods beyond the partition go back to the old revision.
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

// changes reports whether pods are being updated, or an eviction would update this
// one.
func (u update) changes(pod *v1.Pod) bool {
	return u.proceeds() || u.open() && u.byEviction && !has(pod, u.to)
}

// has reports whether a pod is of a revision. Kruise may label it by the end of the
// revision's name only.
func has(pod *v1.Pod, revision string) bool {
	hash := pod.Labels[appsv1.ControllerRevisionHashLabelKey]
	return hash == revision || hash != "" && strings.HasSuffix(revision, "-"+hash)
}

// Wanted returns how many pods a controller of a watched kind wants, 0 if a custom
// resource does not state it.
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
