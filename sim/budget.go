package sim

import (
	"strconv"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// missing counts the wanted pods of an owner that are not ready.
func (w *world) missing(owner int, now time.Time) (n int) {
	for _, i := range w.owners[owner].replicas {
		if r := &w.replicas[i]; r.Lives(w.step) && (r.node < 0 || r.ready.After(now)) {
			n++
		}
	}
	return n
}

// budget returns an owner's PodDisruptionBudget as the disruption controller maintains
// it, or an empty list if it has none. Each call returns a new one, because a plan asks
// about several pods concurrently.
func (w *world) budget(owner int, now time.Time) []*policyv1.PodDisruptionBudget {
	if w.maxUnavailable >= noBudget {
		return nil
	}
	share, expected := intstr.FromString(strconv.Itoa(w.maxUnavailable)+"%"), w.wanted(owner)
	away, err := intstr.GetScaledValueFromIntOrPercent(&share, expected, true) // rounded up, as in the controller
	if err != nil {
		away = 0 // impossible: Config.Validate has checked the range
	}
	budget := &policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &share}}
	s := &budget.Status
	s.ExpectedPods, s.DesiredHealthy = int32(expected), int32(expected-away) // a fleet has fewer than 2^31 pods
	s.CurrentHealthy = int32(expected - w.missing(owner, now))
	s.DisruptionsAllowed = max(0, s.CurrentHealthy-s.DesiredHealthy)
	return []*policyv1.PodDisruptionBudget{budget}
}

// exhausted reports whether the API server refuses to evict an owner's pod.
func (w *world) exhausted(owner int, now time.Time) bool {
	budgets := w.budget(owner, now)
	return len(budgets) > 0 && budgets[0].Status.DisruptionsAllowed <= 0
}

// nextReady returns when the next starting pod of an owner becomes ready; false
// if none is starting.
func (w *world) nextReady(owner int, now time.Time) (next time.Time, ok bool) {
	for _, i := range w.owners[owner].replicas {
		r := &w.replicas[i]
		if r.node >= 0 && r.ready.After(now) && (!ok || r.ready.Before(next)) {
			next, ok = r.ready, true
		}
	}
	return next, ok
}
