package evictor

import (
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// The least time before an eviction that the API server refused is tried again:
// where a budget refused it, which reports itself by changing, and where
// something else did.
const (
	respiteForBudget = 10 * time.Second
	respiteForOther  = time.Second
)

// respite is for a move that the API server refused for now. It is not tried
// again before the given time, unless the budget behind the refusal has changed
// by then.
type respite struct {
	until  time.Time
	budget string // the resourceVersion that the watch knew when the move was refused; empty without a budget
}

func newRespite(refusal error, budgets []*policyv1.PodDisruptionBudget, now time.Time) respite {
	r, least := respite{}, respiteForOther
	if len(budgets) > 0 {
		r.budget, least = budgets[0].ResourceVersion, respiteForBudget
	}
	if seconds, ok := apierrors.SuggestsClientDelay(refusal); ok {
		least = max(least, time.Duration(seconds)*time.Second)
	}
	r.until = now.Add(least)
	return r
}

func (r respite) over(budgets []*policyv1.PodDisruptionBudget, now time.Time) bool {
	if !now.Before(r.until) {
		return true
	}
	return r.budget != "" && (len(budgets) == 0 || budgets[0].ResourceVersion != r.budget)
}
