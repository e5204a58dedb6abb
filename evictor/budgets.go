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

// ownerLimit is how many of an owner's pods may be moving at once if no budget
// limits them: max(1, percent of replicas).
func ownerLimit(replicas int, percent float64) int {
	return max(1, int(math.Floor(float64(replicas)*percent/100)))
}

// room reports whether a move has to wait for its owner, or why it is never
// made. The pod's one budget decides; without one, the number of the owner's
// pods that are moving does.
func room(budgets []*policyv1.PodDisruptionBudget, moving func() int, limit int) (reason reasons.Reason, wait bool) {
	switch len(budgets) {
	case 0:
		return "", moving() >= limit
	case 1:
		return "", headroom(budgets[0]) <= 0
	}
	return reasons.SeveralPodDisruptionBudgets, false
}
