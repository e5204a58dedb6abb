package evictor

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/evenkeel/evenkeel/evictor/owners"
	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// passing holds the reasons that may end within a cycle, so that moves wait instead of
// being given up. They end when other pods become available or no longer exist, or when a
// controller has noticed that the owner was scaled up.
var passing = []reasons.Reason{
	reasons.PodDisruptionBudgetExhausted, reasons.OwnerPodsUnavailable, reasons.LastReadyReplica, reasons.BelowMinAvailable,
	reasons.OwnerRollingOut, reasons.OwnerCreatesInOrder, reasons.ResourceQuotaExhausted,
}

func passes(reason reasons.Reason) bool { return slices.Contains(passing, reason) }

// tallyOf counts the pods of a pod's owner, including the pod.
func (e *Evictor) tallyOf(pod *v1.Pod) owners.Tally {
	owner := e.config.Cluster.Owner(pod)
	return owner.Count(e.config.Cluster.Siblings(pod), e.ledger().Leaving, e.config.Clock.Now())
}

// rememberedTally is a cached tallyOf, for callers that ask about many pods of one owner:
// a plan, and a step of a cycle.
func (e *Evictor) rememberedTally(pod *v1.Pod) owners.Tally {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil {
		return owners.Tally{}
	}
	now, revision := e.config.Clock.Now(), e.ledger().Revision()
	e.mu.Lock()
	defer e.mu.Unlock()
	if age := now.Sub(e.talliedAt); e.tallies == nil || revision != e.talliedFor || age < 0 || age > verdictAge {
		e.tallies, e.talliedAt, e.talliedFor = map[ownerKey]owners.Tally{}, now, revision
	}
	key := ownerKey{pod.Namespace, ref.UID}
	n, ok := e.tallies[key]
	if !ok {
		n = e.tallyOf(pod)
		e.tallies[key] = n
	}
	return n
}

// refuseByAvailability returns why a pod has to stay until more of its owner's other pods
// are available. A PodDisruptionBudget replaces the owner's limit. Its headroom is
// reduced by the pods that it already counts as healthy but that are not yet available
// according to their owner.
func (e *Evictor) refuseByAvailability(pod *v1.Pod, owner *owners.Owner, n owners.Tally, budgets []*policyv1.PodDisruptionBudget) reasons.Reason {
	switch leaves := safeguards.Disrupted(pod) || e.ledger().Leaving(string(pod.UID)); {
	case !leaves && owner.Available(pod, e.config.Clock.Now()):
		n.Available--
	case !leaves && podutil.IsPodReady(pod):
		n.Missing, n.Young = n.Missing-1, n.Young-1
	default:
		n.Missing--
	}
	replicas, away := owner.Replicas, owner.Replicas-1-n.Available
	if replicas == 0 {
		replicas, away = n.Available+n.Missing+1, n.Missing+e.inFlight(pod.Namespace, controllerUID(pod))
	}
	least, ok := safeguards.MinAvailable(pod, owner.Annotations, replicas, owner.Parents...)
	switch {
	case !ok:
		return reasons.MinAvailableUnreadable
	case replicas > 1 && n.Available <= 0:
		return reasons.LastReadyReplica
	case n.Available < least:
		return reasons.BelowMinAvailable
	case len(budgets) == 0 && away >= ownerLimit(replicas, e.config.Settings.OwnerPercent),
		len(budgets) > 0 && n.Young > 0 && headroom(budgets[0]) <= n.Young:
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

// inFlight counts an owner's moving pods.
func (e *Evictor) inFlight(namespace, ownerUID string) (n int) {
	for _, m := range e.ledger().MovesOf(namespace, ownerUID) {
		if e.underWay(&m) {
			n++
		}
	}
	return n
}

// underWay reports whether the pod of a move has been evicted, but its replacement has
// not landed or is not ready.
func (e *Evictor) underWay(move *ledger.Move) bool {
	if move.InFlight() {
		return move.State != ledger.Intended
	}
	return move.State == ledger.Landed && e.config.Clock.Now().Sub(move.Ended) < move.TTL && !e.ready(move)
}

// comesSoon reports whether one of an owner's replacements may soon be ready. A
// replacement that does not exist yet does not count while the evicted pod still has much
// of its grace period left, because many owners create a replacement only after that pod
// has ended.
func (e *Evictor) comesSoon(namespace, ownerUID string) bool {
	return slices.ContainsFunc(e.ledger().MovesOf(namespace, ownerUID), func(m ledger.Move) bool {
		pod := e.config.Cluster.Pod(m.Namespace, m.Pod)
		lingers := pod != nil && string(pod.UID) == m.PodUID && pod.DeletionTimestamp != nil && pod.DeletionTimestamp.Sub(e.config.Clock.Now()) > waitLimit
		return e.underWay(&m) && (m.Replacement != "" || !lingers)
	})
}

// ready reports whether a move's replacement is ready. A replacement that no longer
// exists delays nothing.
func (e *Evictor) ready(move *ledger.Move) bool {
	r := e.config.Cluster.Replacement(move)
	return !r.Exists || r.Ready
}
