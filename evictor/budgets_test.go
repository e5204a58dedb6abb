package evictor

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	policylisters "k8s.io/client-go/listers/policy/v1"
	"k8s.io/client-go/tools/cache"
)

func aBudget(namespace, name string, selector *metav1.LabelSelector) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: selector},
	}
}

// The cases show which budgets select a pod labelled app=web in the namespace ns.
func TestBudgetsOf(t *testing.T) {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	web := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	for _, pdb := range []*policyv1.PodDisruptionBudget{
		aBudget("ns", "of web", web),
		aBudget("ns", "of the whole namespace", &metav1.LabelSelector{}),
		aBudget("ns", "of nothing", nil),
		aBudget("ns", "of db", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}),
		aBudget("other", "of another namespace", web),
		aBudget("ns", "of nonsense", &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Nonsense"}}}),
	} {
		if err := indexer.Add(pdb); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]bool{}
	for _, pdb := range (&Watched{budgets: policylisters.NewPodDisruptionBudgetLister(indexer)}).Budgets(aPod("a")) {
		got[pdb.Name] = true
	}
	if diff := cmp.Diff(map[string]bool{"of web": true, "of the whole namespace": true}, got); diff != "" {
		t.Errorf("budgets (-want +got):\n%s", diff)
	}
}

// If a budget allows no disruptions however many pods are available, waiting does not help. It is
// distinguished from budgets for which waiting does.
func TestNever(t *testing.T) {
	cases := map[string]struct {
		status     policyv1.PodDisruptionBudgetStatus
		generation int64
		want       bool
	}{
		"all three are required":          {status: policyv1.PodDisruptionBudgetStatus{ExpectedPods: 3, DesiredHealthy: 3}, want: true},
		"more than there are":             {status: policyv1.PodDisruptionBudgetStatus{ExpectedPods: 3, DesiredHealthy: 4}, want: true},
		"two of three are required":       {status: policyv1.PodDisruptionBudgetStatus{ExpectedPods: 3, DesiredHealthy: 2}},
		"no pods yet":                     {},
		"its controller has not seen it":  {status: policyv1.PodDisruptionBudgetStatus{ExpectedPods: 3, DesiredHealthy: 3}, generation: 1},
		"one of three is disrupted today": {status: policyv1.PodDisruptionBudgetStatus{ExpectedPods: 3, DesiredHealthy: 2, DisruptionsAllowed: 0}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pdb := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Generation: tc.generation}, Status: tc.status}
			if got := neverAllows(pdb); got != tc.want {
				t.Errorf("never: %v, want %v", got, tc.want)
			}
		})
	}
}

func TestOwnerLimit(t *testing.T) {
	cases := map[string]struct {
		replicas int
		percent  float64
		want     int
	}{
		"a tenth of thirty":             {30, 10, 3},
		"rounded down":                  {29, 10, 2},
		"at least one":                  {3, 10, 1},
		"one if the number is unknown":  {0, 10, 1},
		"one at 0 percent":              {1000, 0, 1},
		"all":                           {7, 100, 7},
		"one if the number is negative": {-5, 10, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := ownerLimit(tc.replicas, tc.percent); got != tc.want {
				t.Errorf("limit %d, want %d", got, tc.want)
			}
		})
	}
}
