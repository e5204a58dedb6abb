// Package budgets finds the PodDisruptionBudgets that select a pod.
package budgets

import (
	"runtime"
	"sync"
	"weak"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Selectors keeps the selector of each budget for as long as an informer keeps
// the budget. Reading a large one for each pod would let a namespace hold up
// all others.
type Selectors struct {
	read sync.Map // by weak.Pointer[policyv1.PodDisruptionBudget]
}

// Selecting returns those of a namespace's budgets that select a pod of it. A
// selector that is not valid selects no pod, as for the API server.
func (s *Selectors) Selecting(pod *v1.Pod, budgets []*policyv1.PodDisruptionBudget) (selecting []*policyv1.PodDisruptionBudget) {
	for _, budget := range budgets {
		if s.of(budget).Matches(labels.Set(pod.Labels)) {
			selecting = append(selecting, budget)
		}
	}
	return selecting
}

func (s *Selectors) of(budget *policyv1.PodDisruptionBudget) labels.Selector {
	key := weak.Make(budget)
	if read, ok := s.read.Load(key); ok {
		return read.(labels.Selector) //nolint:forcetypeassert // nothing else is stored
	}
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	if err != nil {
		selector = labels.Nothing()
	}
	if _, again := s.read.LoadOrStore(key, selector); !again {
		runtime.AddCleanup(budget, func(gone weak.Pointer[policyv1.PodDisruptionBudget]) { s.read.Delete(gone) }, key)
	}
	return selector
}
