package evictor

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/placement"
)

// Cluster is what evicting asks the cluster: Watched in production, the
// simulated world in a replay.
type Cluster interface {
	// Pod returns the pod as the watch has it, nil when it is gone.
	Pod(namespace, name string) *v1.Pod
	// Siblings lists the pods of a pod's owner, and perhaps others.
	Siblings(pod *v1.Pod) ([]*v1.Pod, error)
	// Owner returns what is known of a pod's controller.
	Owner(pod *v1.Pod) Owner
	// Budgets returns the PodDisruptionBudgets that select the pod.
	Budgets(pod *v1.Pod) []*policyv1.PodDisruptionBudget
	// Replacement returns how the pod is that took a move up.
	Replacement(move *ledger.Move) ledger.Replacement
	// Session opens a what-if on the cluster as it is now.
	Session(ctx context.Context) (*placement.Session, error)
}

// Owner is what is known of a pod's controller; zero for one of a kind that
// nobody watches.
type Owner struct {
	// UID is empty where the controller is not known.
	UID string
	// Missing: it is of a kind that is watched, and the watch does not have it.
	Missing bool
	// Replicas is how many pods it wants, 0 where that is not known; Ready how
	// many are, by what it has counted.
	Replicas, Ready int
	// RollingOut: it is replacing its pods, being replaced or not at its scale.
	RollingOut bool
	// Created is when it was made, or last rolled out; Scaled when its scale
	// was last seen to change, zero for never.
	Created, Scaled time.Time
	// Deployment is the one that may be scaled to have another pod beside this;
	// empty without.
	Deployment string
}

// gone reports whether a pod is not there any more as it was, or leaves.
func gone(pod *v1.Pod, uid string) bool {
	return pod == nil || string(pod.UID) != uid || pod.DeletionTimestamp != nil
}
