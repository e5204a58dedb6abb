package evictor

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/reasons"
)

// Refuse returns why a pod may not be moved: its owner, a budget or a safeguard
// forbids it. It is empty for a pod that may.
func (e *Evictor) Refuse(pod *v1.Pod) reasons.Reason {
	owner := e.config.Cluster.Owner(pod)
	if reason := e.refuseByBudgets(pod, &owner); reason != "" {
		return reason
	}
	if reason := e.refuseByOwner(pod, &owner); reason != "" {
		return reason
	}
	if surges(pod, &owner) != "" && e.config.Scaler != nil && e.config.Scaler.Forbidden() {
		return reasons.SurgeFailed
	}
	return e.refuseBySafeguards(pod)
}

func (e *Evictor) refuseByBudgets(pod *v1.Pod, owner *Owner) reasons.Reason {
	switch budgets := e.config.Cluster.Budgets(pod); {
	case len(budgets) > 1:
		return reasons.SeveralPodDisruptionBudgets
	case len(budgets) == 1 && neverAllows(budgets[0]) && (surges(pod, owner) == "" || neverAllowsWithSurge(budgets[0])):
		return reasons.PodDisruptionBudgetForbids
	}
	return ""
}

// refuseByOwner accepts pods of unwatched controllers: only their users know
// whether the controller recreates its pods.
func (e *Evictor) refuseByOwner(pod *v1.Pod, owner *Owner) reasons.Reason {
	settling := func(since time.Time) bool {
		return !since.IsZero() && e.config.Clock.Now().Sub(since) < e.config.Settings.OwnerSettle
	}
	switch {
	case owner.Missing:
		return reasons.OwnerUnknown
	case owner.UID == "":
		return ""
	case owner.RollingOut:
		return reasons.OwnerRollingOut
	case isLastReady(pod, owner, owner.Ready):
		return reasons.LastReadyReplica
	case settling(owner.Created):
		return reasons.OwnerRollingOut
	case settling(owner.Scaled):
		return reasons.OwnerJustScaled
	}
	return ""
}

// isLastReady reports whether a pod is the last ready one of an owner that
// wants several.
func isLastReady(pod *v1.Pod, owner *Owner, ready int) bool {
	return owner.Replicas > 1 && ready <= 1 && podutil.IsPodReady(pod)
}

// lastReady reports the same, judged by the pods themselves without those
// evicted in this cycle.
func (e *Evictor) lastReady(namespace, name string) bool {
	pod := e.config.Cluster.Pod(namespace, name)
	if pod == nil {
		return false
	}
	owner := e.config.Cluster.Owner(pod)
	if owner.UID == "" || !isLastReady(pod, &owner, 1) {
		return false
	}
	others, err := e.config.Cluster.Siblings(pod)
	return err != nil || !slices.ContainsFunc(others, func(other *v1.Pod) bool {
		ref := metav1.GetControllerOfNoCopy(other)
		return other.UID != pod.UID && ref != nil && string(ref.UID) == owner.UID && other.DeletionTimestamp == nil &&
			podutil.IsPodReady(other) && !e.config.Evictions.Evicted(string(other.UID))
	})
}

// surgedReplicas is how many pods a Deployment wants before and after a surge.
const surgedReplicas = 1

// surgeAnnotation with the value "true" requests a surge: a second pod must be
// ready before this one, the only one of its Deployment, is evicted.
const surgeAnnotation = "evenkeel.io/surge"

// surges returns the Deployment to scale up before a pod is evicted; empty for
// a pod that does not request it or is not the only one.
func surges(pod *v1.Pod, owner *Owner) (deployment string) {
	if pod.Annotations[surgeAnnotation] != "true" || owner.Replicas != surgedReplicas {
		return ""
	}
	return owner.Deployment
}

// Surges reports whether a second pod becomes ready before this one is evicted.
func (e *Evictor) Surges(pod *v1.Pod) bool {
	owner := e.config.Cluster.Owner(pod)
	return surges(pod, &owner) != ""
}

// Session opens a what-if session on the current cluster.
func (e *Evictor) Session(ctx context.Context) (*placement.Session, error) {
	return e.config.Cluster.Session(ctx)
}

// Moving reports whether a pod is already being moved.
func (e *Evictor) Moving(podUID string) bool { return e.ledger().Moving(podUID) }

// preferNoEviction is upstream's annotation for pods that should be moved last.
const preferNoEviction = "descheduler.alpha.kubernetes.io/prefer-no-eviction"

// Disruption orders pods of equal priority: first those without
// preferNoEviction, then those whose budget has room, then by quality of
// service, then those whose owner has many others.
func (e *Evictor) Disruption(pod *v1.Pod) int64 {
	var cost int64
	if _, asks := pod.Annotations[preferNoEviction]; asks {
		cost += 1 << 40
	}
	for _, budget := range e.config.Cluster.Budgets(pod) {
		if budget.Status.DisruptionsAllowed <= 0 {
			cost += 1 << 32
		}
	}
	switch pod.Status.QOSClass {
	case v1.PodQOSGuaranteed:
		cost += 2 << 24
	case v1.PodQOSBurstable:
		cost += 1 << 24
	case v1.PodQOSBestEffort:
	}
	return cost + 1000/int64(max(e.config.Cluster.Owner(pod).Replicas, 1))
}
