package evictor

import (
	"math"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evenkeel/evenkeel/reasons"
)

// headroom is how many more of the pods that a budget selects may become
// unavailable.
func headroom(budget *policyv1.PodDisruptionBudget) int {
	if budget.Status.ObservedGeneration < budget.Generation {
		return 0 // the controller has not seen this version of the budget
	}
	return int(budget.Status.DisruptionsAllowed)
}

// neverAllows reports whether a budget leaves no room even if all its pods are
// available, so that waiting is pointless.
func neverAllows(budget *policyv1.PodDisruptionBudget) bool {
	return budget.Status.ObservedGeneration >= budget.Generation && budget.Status.ExpectedPods > 0 &&
		budget.Status.DesiredHealthy >= budget.Status.ExpectedPods
}

// neverAllowsWithSurge is neverAllows for a pod that gets a second one before
// it is evicted.
func neverAllowsWithSurge(budget *policyv1.PodDisruptionBudget) bool {
	if !neverAllows(budget) {
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

// scaled resolves a number or percentage of pods, rounded up as the disruption
// controller does. An unreadable value counts as all pods.
func scaled(value *intstr.IntOrString, pods int) int {
	n, err := intstr.GetScaledValueFromIntOrPercent(value, pods, true)
	if err != nil {
		return pods
	}
	return n
}

// ownerLimit is how many of an owner's pods may be unavailable at once if no
// budget limits them: max(1, percent of replicas).
func ownerLimit(replicas int, percent float64) int {
	return max(1, int(math.Floor(float64(replicas)*percent/100)))
}

// refuseByBudgets returns why the budgets of a pod forbid its eviction, now or
// for ever.
func refuseByBudgets(budgets []*policyv1.PodDisruptionBudget, surge bool) reasons.Reason {
	switch {
	case len(budgets) == 0:
		return ""
	case len(budgets) > 1:
		return reasons.SeveralPodDisruptionBudgets
	case neverAllows(budgets[0]) && (!surge || neverAllowsWithSurge(budgets[0])):
		return reasons.PodDisruptionBudgetForbids
	case headroom(budgets[0]) <= 0 && !surge:
		return reasons.PodDisruptionBudgetExhausted
	}
	return ""
}
