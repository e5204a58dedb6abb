package evictor

import (
	"math"

	policyv1 "k8s.io/api/policy/v1"

	"github.com/evenkeel/evenkeel/reasons"
)

// headroom returns the number of a budget's pods that may still become unavailable.
func headroom(budget *policyv1.PodDisruptionBudget) int {
	if budget.Status.ObservedGeneration < budget.Generation {
		return 0 // the controller has not seen this version of the budget
	}
	return int(budget.Status.DisruptionsAllowed)
}

// neverAllows reports whether a budget allows no disruptions even if all its pods are
// available, so that waiting is pointless.
func neverAllows(budget *policyv1.PodDisruptionBudget) bool {
	return budget.Status.ObservedGeneration >= budget.Generation && budget.Status.ExpectedPods > 0 &&
		budget.Status.DesiredHealthy >= budget.Status.ExpectedPods
}

// ownerLimit returns how many of an owner's pods may be unavailable at once if no budget
// limits them: max(1, percent of replicas).
func ownerLimit(replicas int, percent float64) int {
	return max(1, int(math.Floor(float64(replicas)*percent/100)))
}

// refuseByBudgets returns why the budgets of a pod forbid its eviction, for now or
// permanently.
func refuseByBudgets(budgets []*policyv1.PodDisruptionBudget) reasons.Reason {
	switch {
	case len(budgets) == 0:
		return ""
	case len(budgets) > 1:
		return reasons.SeveralPodDisruptionBudgets
	case neverAllows(budgets[0]):
		return reasons.PodDisruptionBudgetForbids
	case headroom(budgets[0]) <= 0:
		return reasons.PodDisruptionBudgetExhausted
	}
	return ""
}
