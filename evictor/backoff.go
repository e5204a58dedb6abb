package evictor

import (
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// The minimum time before a refused eviction is retried. A change of a
// PodDisruptionBudget indicates that a retry may succeed. There is no such indication for
// other causes.
const (
	backoffForBudget = 10 * time.Second
	backoffForOther  = time.Second
)

// backoff delays a move that the API server refused for now. The move is
// retried at the given time, or earlier if the refusing budget has changed.
type backoff struct {
	until  time.Time
	budget string // resourceVersion of the budget in the watch when the move was refused; empty without a budget
}

func newBackoff(refusal error, budgets []*policyv1.PodDisruptionBudget, now time.Time) backoff {
	r, delay := backoff{}, backoffForOther
	if len(budgets) > 0 {
		r.budget, delay = budgets[0].ResourceVersion, backoffForBudget
	}
	if seconds, ok := apierrors.SuggestsClientDelay(refusal); ok {
		delay = max(delay, time.Duration(seconds)*time.Second)
	}
	r.until = now.Add(delay)
	return r
}

func (r backoff) over(budgets []*policyv1.PodDisruptionBudget, now time.Time) bool {
	if !now.Before(r.until) {
		return true
	}
	return r.budget != "" && (len(budgets) == 0 || budgets[0].ResourceVersion != r.budget)
}
