package evictor

import (
	"math"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evenkeel/evenkeel/reasons"
)

// headroom is how many of the pods that one budget selects may be unavailable
// beyond those that are.
func headroom(budget *policyv1.PodDisruptionBudget) int {
	if budget.Status.ObservedGeneration < budget.Generation {
		return 0 // the controller has not seen the budget as it is now
	}
	return int(budget.Status.DisruptionsAllowed)
}

// never reports whether a budget leaves no room however many pods are
// available, so that waiting is pointless.
func never(budget *policyv1.PodDisruptionBudget) bool {
	return budget.Status.ObservedGeneration >= budget.Generation && budget.Status.ExpectedPods > 0 &&
		budget.Status.DesiredHealthy >= budget.Status.ExpectedPods
}

// neverWithSurge is never for a pod that is joined by another one before it
// goes.
func neverWithSurge(budget *policyv1.PodDisruptionBudget) bool {
	if !never(budget) {
		return false
	}
	pods := int(budget.Status.ExpectedPods) + 1
	desired := 0
	switch spec := &budget.Spec; {
	case spec.MinAvailable != nil:
		desired = scaled(spec.MinAvailable, pods)
	case spec.MaxUnavailable != nil:
		desired = pods - scaled(spec.MaxUnavailable, pods)
	}
	return desired >= pods
}

// scaled is a number of pods or a percentage of them, rounded up as the
// disruption controller does; one that cannot be read is all.
func scaled(value *intstr.IntOrString, pods int) int {
	n, err := intstr.GetScaledValueFromIntOrPercent(value, pods, true)
	if err != nil {
		return pods
	}
	return n
}

// ownerLimit is how many of an owner's pods may be on the move at once where no
// budget says it: max(1, percent of replicas).
func ownerLimit(replicas int, percent float64) int {
	return max(1, int(math.Floor(float64(replicas)*percent/100)))
}

// room reports whether a move has to wait, or why it is never made, for the
// sake of its pod's owner: its one budget decides, and without a budget how
// many of the owner's pods are on the move.
func room(budgets []*policyv1.PodDisruptionBudget, moving func() int, limit int) (reason reasons.Reason, wait bool) {
	switch len(budgets) {
	case 0:
		return "", moving() >= limit
	case 1:
		return "", headroom(budgets[0]) <= 0
	}
	return reasons.SeveralPodDisruptionBudgets, false
}
