package evictor

import (
	"math"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	policylisters "k8s.io/client-go/listers/policy/v1"

	"github.com/evenkeel/evenkeel/reasons"
)

// Budgets reads PodDisruptionBudgets ahead, so that evictions which the API server would refuse are not tried.
type Budgets struct {
	Lister policylisters.PodDisruptionBudgetLister
}

// Of returns the PodDisruptionBudgets that select the pod.
func (b Budgets) Of(pod *v1.Pod) []*policyv1.PodDisruptionBudget {
	all, err := b.Lister.PodDisruptionBudgets(pod.Namespace).List(labels.Everything())
	if err != nil {
		return nil // the lister reads a cache and cannot fail
	}
	var selecting []*policyv1.PodDisruptionBudget
	for _, pdb := range all {
		if selects(pdb, pod) {
			selecting = append(selecting, pdb)
		}
	}
	return selecting
}

// selects follows policy/v1: an empty selector selects every pod of the namespace, none selects no pod.
func selects(pdb *policyv1.PodDisruptionBudget, pod *v1.Pod) bool {
	selector, err := labelSelector(pdb)
	return err == nil && selector.Matches(labels.Set(pod.Labels))
}

// headroom is how many of the pods that one budget selects may be unavailable beyond those that are.
func headroom(pdb *policyv1.PodDisruptionBudget) int {
	if pdb.Status.ObservedGeneration < pdb.Generation {
		return 0 // the controller has not seen the budget as it is now
	}
	return int(pdb.Status.DisruptionsAllowed)
}

// Never says that a budget leaves no room however many pods are available, so that waiting is pointless.
func Never(pdb *policyv1.PodDisruptionBudget) bool {
	return pdb.Status.ObservedGeneration >= pdb.Generation && pdb.Status.ExpectedPods > 0 &&
		pdb.Status.DesiredHealthy >= pdb.Status.ExpectedPods
}

// NeverWithSurge is Never for a pod that is joined by another one before it goes.
func NeverWithSurge(pdb *policyv1.PodDisruptionBudget) bool {
	if !Never(pdb) {
		return false
	}
	pods := int(pdb.Status.ExpectedPods) + 1
	desired := 0
	switch spec := &pdb.Spec; {
	case spec.MinAvailable != nil:
		desired = scaled(spec.MinAvailable, pods)
	case spec.MaxUnavailable != nil:
		desired = pods - scaled(spec.MaxUnavailable, pods)
	}
	return desired >= pods
}

// scaled is a number of pods or a percentage of them, rounded up as the disruption controller does; one that cannot be read
// is all.
func scaled(value *intstr.IntOrString, pods int) int {
	n, err := intstr.GetScaledValueFromIntOrPercent(value, pods, true)
	if err != nil {
		return pods
	}
	return n
}

// OwnerLimit is how many of an owner's pods may be on the move at once where no budget says it: max(1, percent of
// replicas).
func OwnerLimit(replicas int, percent float64) int {
	return max(1, int(math.Floor(float64(replicas)*percent/100)))
}

// Room says that a move has to wait, or why it is never made, for the sake of its pod's owner: its one budget decides, and
// without a budget how many of the owner's pods are on the move, out of as many as limit allows.
func Room(budgets []*policyv1.PodDisruptionBudget, moving, limit func() int) (never reasons.Reason, wait bool) {
	switch len(budgets) {
	case 0:
		return "", moving() >= limit()
	case 1:
		return "", headroom(budgets[0]) <= 0
	}
	return reasons.SeveralPodDisruptionBudgets, false
}
