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
	"k8s.io/apimachinery/pkg/types"
)

// Selectors caches the selector of each budget for as long as an informer keeps
// the budget, across changes of its status. Parsing a large selector for each
// pod would let one namespace delay all others. The zero value is ready to use.
type Selectors struct {
	mu   sync.Mutex
	read map[key]read
}

type key struct {
	namespace, name string
	uid             types.UID
}

// read is the parsed selector of one generation of a budget.
type read struct {
	selector   labels.Selector
	generation int64
	// last is the budget object that was last parsed or queried.
	last weak.Pointer[policyv1.PodDisruptionBudget]
}

// Selecting returns those of the given budgets of a namespace that select the given pod.
// An invalid selector selects no pod, as in the API server.
func (s *Selectors) Selecting(pod *v1.Pod, budgets []*policyv1.PodDisruptionBudget) (selecting []*policyv1.PodDisruptionBudget) {
	for _, budget := range budgets {
		if s.of(budget).Matches(labels.Set(pod.Labels)) {
			selecting = append(selecting, budget)
		}
	}
	return selecting
}

func (s *Selectors) of(budget *policyv1.PodDisruptionBudget) labels.Selector {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, this := key{budget.Namespace, budget.Name, budget.UID}, weak.Make(budget)
	known, ok := s.read[at]
	if ok && known.last == this {
		return known.selector
	}
	if !ok || known.generation != budget.Generation {
		known = read{generation: budget.Generation}
		var err error
		if known.selector, err = metav1.LabelSelectorAsSelector(budget.Spec.Selector); err != nil {
			known.selector = labels.Nothing()
		}
	}
	known.last = this
	if s.read == nil {
		s.read = map[key]read{}
	}
	s.read[at] = known
	runtime.AddCleanup(budget, s.forget, gone{at, this})
	return known.selector
}

// gone is a budget that no longer exists.
type gone struct {
	at   key
	last weak.Pointer[policyv1.PodDisruptionBudget]
}

func (s *Selectors) forget(budget gone) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.read[budget.at].last == budget.last {
		delete(s.read, budget.at)
	}
}
