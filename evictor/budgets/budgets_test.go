package budgets

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func budget(name string, selector *metav1.LabelSelector) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: selector},
	}
}

func TestSelecting(t *testing.T) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}}
	all := []*policyv1.PodDisruptionBudget{
		budget("of the app", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}),
		budget("of another", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}),
		budget("of all", &metav1.LabelSelector{}),
		budget("of none", nil),
		budget("not valid", &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}}}),
	}
	s := &Selectors{}
	for range 2 { // once parsed, once cached
		var got []string
		for _, b := range s.Selecting(pod, all) {
			got = append(got, b.Name)
		}
		if diff := cmp.Diff([]string{"of the app", "of all"}, got); diff != "" {
			t.Errorf("selecting budgets (-want +got):\n%s", diff)
		}
	}
	runtime.KeepAlive(all)
}

// A selector is parsed again only when it changes.
func TestSelectorsFollowTheSpec(t *testing.T) {
	s, pod := &Selectors{}, &v1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}}
	web, db := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}
	for i, tc := range []struct {
		generation int64
		selector   *metav1.LabelSelector
		want       int
	}{{1, web, 1}, {1, db, 1}, {2, db, 0}, {3, web, 1}} { // the second step cannot occur in reality; it shows that nothing is parsed again
		b := budget("b", tc.selector)
		b.Generation = tc.generation
		if got := len(s.Selecting(pod, []*policyv1.PodDisruptionBudget{b})); got != tc.want {
			t.Errorf("budget %d selects %d pods, want %d", i, got, tc.want)
		}
	}
}

// Selectors of deleted budgets are not kept.
func TestSelectorsOfDeletedBudgetsAreDropped(t *testing.T) {
	s, pod := &Selectors{}, &v1.Pod{}
	kept := budget("kept", nil)
	for i := range 1000 {
		s.Selecting(pod, []*policyv1.PodDisruptionBudget{kept, budget(fmt.Sprint("replaced ", i), nil)})
	}
	count := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.read)
	}
	for deadline := time.Now().Add(10 * time.Second); count() > 1 && time.Now().Before(deadline); {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	if n := count(); n != 1 {
		t.Errorf("%d selectors are kept, want 1", n)
	}
	runtime.KeepAlive(kept)
}
