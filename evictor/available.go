package evictor

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/evenkeel/evenkeel/evictor/owners"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/safeguards"
)

// passing are the reasons that may end within a cycle, so that moves wait for
// it: when other pods become available or are gone, or when a controller has seen
// that its owner was scaled up.
var passing = []reasons.Reason{
	reasons.PodDisruptionBudgetExhausted, reasons.OwnerPodsUnavailable, reasons.LastReadyReplica, reasons.BelowMinAvailable,
	reasons.OwnerRollingOut, reasons.ResourceQuotaExhausted,
}

func passes(reason reasons.Reason) bool { return slices.Contains(passing, reason) }

// tallyOf counts the pods of a pod's owner, the pod included.
func (e *Evictor) tallyOf(pod *v1.Pod) (n tally) {
	for _, sibling := range e.config.Cluster.Siblings(pod) {
		switch {
		case e.available(sibling):
			n.available++
		case !podutil.IsPodTerminal(sibling):
			n.missing++
		}
	}
	return n
}

// rememberedTally is tallyOf for those who ask about many pods of one owner: a
// plan, and a step of a cycle.
func (e *Evictor) rememberedTally(pod *v1.Pod) tally {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil {
		return tally{}
	}
	now, revision := e.config.Clock.Now(), e.ledger().Revision()
	e.mu.Lock()
	defer e.mu.Unlock()
	if age := now.Sub(e.talliedAt); e.tallies == nil || revision != e.talliedFor || age < 0 || age > verdictAge {
		e.tallies, e.talliedAt, e.talliedFor = map[ownerKey]tally{}, now, revision
	}
	key := ownerKey{pod.Namespace, ref.UID}
	n, ok := e.tallies[key]
	if !ok {
		n = e.tallyOf(pod)
		e.tallies[key] = n
	}
	return n
}

// available reports whether a pod is ready and, as far as is known, stays so.
func (e *Evictor) available(pod *v1.Pod) bool {
	return podutil.IsPodReady(pod) && !safeguards.Disrupted(pod) && !e.ledger().Leaving(string(pod.UID))
}

// refuseByAvailability returns why a pod has to stay until more of its owner's
// other pods are available. A budget takes the place of the owner's limit, and
// a surge makes one more pod available first.
func (e *Evictor) refuseByAvailability(pod *v1.Pod, owner *owners.Owner, n tally, budgeted, surge bool) reasons.Reason {
	if e.available(pod) {
		n.available--
	} else {
		n.missing--
	}
	replicas, away := owner.Replicas, owner.Replicas-1-n.available
	if replicas == 0 {
		replicas, away = n.available+n.missing+1, n.missing+e.inFlight(pod.Namespace, controllerUID(pod))
	}
	if surge {
		replicas, n.available = replicas+1, n.available+1
	}
	least, ok := safeguards.MinAvailable(pod, owner.Annotations, replicas)
	switch {
	case !ok:
		return reasons.MinAvailableUnreadable
	case replicas > 1 && n.available <= 0:
		return reasons.LastReadyReplica
	case n.available < least:
		return reasons.BelowMinAvailable
	case !budgeted && away >= ownerLimit(replicas, e.config.Settings.OwnerPercent):
		return reasons.OwnerPodsUnavailable
	}
	return ""
}

func controllerUID(pod *v1.Pod) string {
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		return string(ref.UID)
	}
	return ""
}

// inFlight counts an owner's moving pods: evicted but not landed, or landed but
// not ready.
func (e *Evictor) inFlight(namespace, ownerUID string) int {
	now, n := e.config.Clock.Now(), 0
	for _, m := range e.ledger().MovesOf(namespace, ownerUID) {
		if m.InFlight() && m.State != ledger.Intended || m.State == ledger.Landed && now.Sub(m.Ended) < m.TTL && !e.ready(&m) {
			n++
		}
	}
	return n
}

// ready reports whether a move's replacement is ready; one that is gone holds
// nothing up.
func (e *Evictor) ready(move *ledger.Move) bool {
	r := e.config.Cluster.Replacement(move)
	return !r.Exists || r.Ready
}
