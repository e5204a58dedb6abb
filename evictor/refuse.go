package evictor

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/evictor/incoming"
	"github.com/evenkeel/evenkeel/evictor/owners"
	"github.com/evenkeel/evenkeel/evictor/quota"
	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/safeguards"
	"github.com/evenkeel/evenkeel/strategies"
)

// Refuse returns why a pod may not be moved: it is protected, or its owner, a
// budget or a safeguard forbids it. It is empty for a pod that may.
func (e *Evictor) Refuse(pod *v1.Pod) reasons.Reason {
	owner := e.config.Cluster.Owner(pod)
	surge := surges(pod, &owner) != ""
	if reason := e.refuseNow(pod, &owner, e.rememberedTally(pod), surge); reason != "" {
		return reason
	}
	if surge && e.config.Scaler != nil && e.config.Scaler.Forbidden() {
		return reasons.SurgeFailed
	}
	if reason := e.refuseByQuota(pod); reason != "" {
		return reason
	}
	reason, _ := e.refuseBySafeguards(pod)
	return reason
}

func (e *Evictor) protected(pod *v1.Pod, owner *owners.Owner) (reasons.Reason, string) {
	if safeguards.AnswerOf(pod.Annotations, surgeAnnotation) == safeguards.Unreadable {
		return reasons.SurgeUnreadable, fmt.Sprintf("%.40q is neither true nor false", pod.Annotations[surgeAnnotation])
	}
	words := safeguards.Words{Owner: owner.Annotations, Parents: owner.Parents, Namespace: e.config.Cluster.Namespace(pod.Namespace)}
	return safeguards.Protected(pod, words, e.config.Settings.Recreating, e.config.Clock.Now())
}

// Protection returns why a pod must not be moved whatever else is moved, and
// what says so, such as the key of an annotation; empty if nothing does.
func (e *Evictor) Protection(pod *v1.Pod) (reasons.Reason, string) {
	owner := e.config.Cluster.Owner(pod)
	return e.protected(pod, &owner)
}

// refuseNow returns why a pod may not be moved, by the cluster as it is now.
func (e *Evictor) refuseNow(pod *v1.Pod, owner *owners.Owner, n owners.Tally, surge bool) reasons.Reason {
	if safeguards.Disrupted(pod) {
		return reasons.Terminating
	}
	if reason, _ := e.protected(pod, owner); reason != "" {
		return reason
	}
	budgets := e.config.Cluster.Budgets(pod)
	if reason := refuseByBudgets(budgets, surge); reason != "" {
		return reason
	}
	if reason, _ := owner.Refuses(e.config.Clock.Now(), e.config.Settings.OwnerSettle); reason != "" {
		return reason
	}
	if reason := owner.Recreates(pod, n); reason != "" {
		return reason
	}
	return e.refuseByAvailability(pod, owner, n, budgets, surge)
}

// surgedReplicas is how many pods a Deployment wants before and after a surge.
const surgedReplicas = 1

// surgeAnnotation, if it is true, requests a surge: a second pod must be ready
// before this one, the only one of its Deployment, is evicted.
const surgeAnnotation = "evenkeel.io/surge"

// surges returns the Deployment to scale up before a pod is evicted; empty for
// a pod that does not request it or is not the only one.
func surges(pod *v1.Pod, owner *owners.Owner) (deployment string) {
	if safeguards.AnswerOf(pod.Annotations, surgeAnnotation) != safeguards.Yes || owner.Replicas != surgedReplicas {
		return ""
	}
	return owner.Deployment
}

// Surges reports whether a second pod becomes ready before this one is evicted.
func (e *Evictor) Surges(pod *v1.Pod) bool {
	owner := e.config.Cluster.Owner(pod)
	return surges(pod, &owner) != ""
}

// Session opens a what-if session on the current cluster. Moves in flight count
// where they will land.
func (e *Evictor) Session(ctx context.Context) (*placement.Session, error) {
	session, err := e.config.Cluster.Session(ctx)
	if err != nil {
		return nil, err
	}
	moves := e.ledger().InFlight()
	for i := range moves {
		if err := incoming.Expect(session, e.config.Cluster, &moves[i]); err != nil {
			klog.FromContext(ctx).V(4).Info("Replacement has no place", "pod", klog.KRef(moves[i].Namespace, moves[i].Pod), "node", moves[i].Node, "error", err.Error())
		}
	}
	return session, nil
}

// refuseByQuota returns why a pod's replacement could not be created, after
// others that are coming.
func (e *Evictor) refuseByQuota(pod *v1.Pod, before ...*v1.Pod) reasons.Reason {
	quotas := e.config.Cluster.Quotas(pod.Namespace)
	if len(quotas) == 0 {
		return ""
	}
	var replaced []quota.Replaced
	for _, p := range append(before, pod) {
		replaced = append(replaced, quota.Replaced{
			Pod: placement.BeforeResize(p, e.config.Cluster.Siblings), Ends: e.config.Cluster.Owner(p).Waits,
		})
	}
	if !quota.Allow(quotas, replaced...) {
		return reasons.ResourceQuotaExhausted
	}
	return ""
}

// Moving reports whether a pod is already being moved.
func (e *Evictor) Moving(podUID string) bool { return e.ledger().Moving(podUID) }

// Disruption returns what moving a pod costs.
func (e *Evictor) Disruption(pod *v1.Pod) strategies.Disruption {
	return strategies.DisruptionOf(pod, e.config.Cluster.Owner(pod).Replicas, e.config.Clock.Now())
}
