package evictor

import (
	"context"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/evictor/owners"
	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/placement"
)

// Cluster is the evictor's view of the cluster. It is implemented by Watched in
// production, and by the simulated world in a replay. Its methods may be called
// concurrently.
type Cluster interface {
	// Pod returns the pod as the watch shows it; nil if it no longer exists.
	Pod(namespace, name string) *v1.Pod
	// Siblings lists the pods of a pod's controller, including the pod.
	Siblings(pod *v1.Pod) []*v1.Pod
	// Owner returns what is known about a pod's controller.
	Owner(pod *v1.Pod) owners.Owner
	// Namespace returns a Namespace, or an empty one if the watch does not contain it.
	// Callers must not change it.
	Namespace(name string) *v1.Namespace
	// Budgets returns the PodDisruptionBudgets that select the pod.
	Budgets(pod *v1.Pod) []*policyv1.PodDisruptionBudget
	// Quotas returns the ResourceQuotas of a namespace.
	Quotas(namespace string) []*v1.ResourceQuota
	// Replacement returns the current state of a move's replacement.
	Replacement(move *ledger.Move) ledger.Replacement
	// Waiting lists the pods for which kube-scheduler has found no node. It leaves out
	// pods that no node could ever take.
	Waiting() []safeguards.Waiting
	// Session opens a what-if session on the current cluster.
	Session(ctx context.Context) (*placement.Session, error)
}

// ownerKey identifies an owner by namespace and UID, because pods in another namespace
// that name the same UID do not belong to this owner.
type ownerKey struct {
	namespace string
	uid       types.UID
}

// gone reports whether a pod is terminating, no longer exists, or was replaced by another
// pod of the same name.
func gone(pod *v1.Pod, uid string) bool {
	return pod == nil || string(pod.UID) != uid || pod.DeletionTimestamp != nil
}
