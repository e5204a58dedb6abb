package evictor

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/placement"
)

// Cluster is what the evictor reads of the cluster: Watched in production, the
// simulated world in a replay.
type Cluster interface {
	// Pod returns the pod as the watch has it, nil when it is gone.
	Pod(namespace, name string) *v1.Pod
	// Siblings lists the pods of a pod's controller, the pod included.
	Siblings(pod *v1.Pod) []*v1.Pod
	// Owner returns what is known of a pod's controller.
	Owner(pod *v1.Pod) Owner
	// Namespace returns the annotations of a Namespace.
	Namespace(name string) map[string]string
	// Budgets returns the PodDisruptionBudgets that select the pod.
	Budgets(pod *v1.Pod) []*policyv1.PodDisruptionBudget
	// Replacement returns the state of a move's replacement.
	Replacement(move *ledger.Move) ledger.Replacement
	// Unschedulable counts the pods for which kube-scheduler has found no node.
	Unschedulable() int
	// Session opens a what-if session on the current cluster.
	Session(ctx context.Context) (*placement.Session, error)
}

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

// tally is how many pods of an owner are available and how many are not,
// whoever caused it. Finished pods are neither.
type tally struct{ available, missing int }

// gone reports whether a pod is terminating, gone or replaced under its name.
func gone(pod *v1.Pod, uid string) bool {
	return pod == nil || string(pod.UID) != uid || pod.DeletionTimestamp != nil
}
