package sim

import (
	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/reasons"
)

var _ watcher = (*evenkeel)(nil)

// SetPod implements watcher.
func (e *evenkeel) SetPod(pod *v1.Pod) { e.observer.Store().SetPod(pod) }

// DeletePod implements watcher.
func (e *evenkeel) DeletePod(pod *v1.Pod) { e.observer.Store().DeletePod(pod.Namespace, pod.Name) }

// ScaledDown implements watcher: an owner that wants fewer pods replaces as many fewer of those that were evicted.
func (e *evenkeel) ScaledDown(ownerUID string, by int) {
	e.observer.Ledger().CancelOwner(ownerUID, by, e.clock)
}

// disturbs says why a pod may not be moved, as far as its owner and its budget go.
func (e *evenkeel) disturbs(pod *v1.Pod) reasons.Reason {
	i, ok := e.world.replicaOf(string(pod.UID))
	if !ok {
		return reasons.OwnerUnknown
	}
	owner := e.world.replicas[i].Owner
	if budgets := e.world.budget(owner, e.clock); len(budgets) > 0 && evictor.Never(budgets[0]) {
		return reasons.PodDisruptionBudgetForbids
	}
	o := &e.world.owners[owner]
	if o.rolling || !o.rolled.IsZero() && e.clock.Sub(o.rolled) < e.policy.OwnerSettle {
		return reasons.OwnerRollingOut
	}
	return ""
}

// disruption puts pods last whose budget has no room now.
func (e *evenkeel) disruption(pod *v1.Pod) int64 {
	if i, ok := e.world.replicaOf(string(pod.UID)); ok && e.world.spent(e.world.replicas[i].Owner, e.clock) {
		return 1
	}
	return 0
}
