package evictor

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/evictor/incoming"
	"github.com/evenkeel/evenkeel/evictor/owners"
	"github.com/evenkeel/evenkeel/evictor/quota"
	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// protected refuses a pod that must stay regardless of other moves.
func (q *question) protected(context.Context) ruling {
	reason, detail := q.e.protected(q.pod, q.ownedBy())
	return ruling{reason: reason, detail: detail}
}

func (e *Evictor) protected(pod *v1.Pod, owner *owners.Owner) (reasons.Reason, string) {
	words := safeguards.Words{Owner: owner.Annotations, Parents: owner.Parents, Namespace: e.config.Cluster.Namespace(pod.Namespace).Annotations}
	return safeguards.Protected(pod, words, e.config.Settings.Recreating, e.config.Clock.Now())
}

// Protection returns why a pod must not be moved regardless of other moves, and what
// protects it, such as the key of an annotation; empty if it is not protected.
func (e *Evictor) Protection(pod *v1.Pod) (reasons.Reason, string) {
	owner := e.config.Cluster.Owner(pod)
	return e.protected(pod, &owner)
}

// leaving refuses a pod that is already being deleted or evicted.
func (q *question) leaving(context.Context) ruling {
	if safeguards.Disrupted(q.pod) {
		return refusing(reasons.Terminating)
	}
	return ruling{}
}

// overBudget refuses a pod whose budgets forbid its eviction.
func (q *question) overBudget(context.Context) ruling {
	return refusing(refuseByBudgets(q.budgetsOf()))
}

// restless refuses a pod whose owner is rolling out, was recently scaled or is being
// deleted.
func (q *question) restless(context.Context) ruling {
	settle := q.e.config.Settings.OwnerSettle
	if q.profile != nil && q.profile.Hosted {
		settle = 0 // settling lasts until the usage of new pods is known, which descheduler plugins do not use
	}
	reason, _ := q.ownedBy().Refuses(q.e.config.Clock.Now(), settle)
	return refusing(reason)
}

// irreplaceable refuses a pod that its owner would not create again.
func (q *question) irreplaceable(context.Context) ruling {
	reason := q.ownedBy().Recreates(q.pod, q.tally())
	return ruling{reason: reason, detail: reason.Sentence()}
}

// unavailable refuses a pod that has to stay until more of the owner's other pods are
// available.
func (q *question) unavailable(context.Context) ruling {
	reason := q.e.refuseByAvailability(q.pod, q.ownedBy(), q.tally(), q.budgetsOf())
	return ruling{reason: reason, detail: reason.Sentence()}
}

// overQuota refuses a pod whose replacement would exceed a quota. During a cycle, it also
// counts the replacements that are still to come.
func (q *question) overQuota(context.Context) ruling {
	if q.at == planPhase {
		return refusing(q.e.refuseByQuota(q.pod))
	}
	return refusing(q.e.refuseByQuota(q.pod, q.e.unreplacedIn(q.pod.Namespace)...))
}

// unsettled refuses a pod whose owner, node, namespace or node pool has to rest after
// earlier moves.
func (q *question) unsettled(context.Context) ruling {
	plugin := ""
	if q.profile.Hosted {
		plugin = q.profile.Strategy
	}
	reason, _ := q.e.refuseBySafeguards(q.pod, plugin)
	return refusing(reason)
}

// Session opens a what-if session on the current cluster. Replacements of moves in flight
// count on the nodes where they will land.
func (e *Evictor) Session(ctx context.Context, supposed []strategies.Move) (*placement.Session, error) {
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
	for i := range supposed {
		m := &supposed[i]
		if _, err := session.Move(e.config.Cluster.Pod(m.Namespace, m.Name), m.To); err != nil {
			klog.FromContext(ctx).V(4).Info("Supposed replacement has no place", "pod", klog.KRef(m.Namespace, m.Name), "node", m.To, "error", err.Error())
		}
	}
	return session, nil
}

// refuseByQuota returns why quotas would reject a pod's replacement after the
// replacements of the pods in before have been created.
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

// Disruption returns the cost of moving a pod.
func (e *Evictor) Disruption(pod *v1.Pod) strategies.Disruption {
	return strategies.DisruptionOf(pod, e.config.Cluster.Owner(pod).Replicas, e.config.Clock.Now())
}
