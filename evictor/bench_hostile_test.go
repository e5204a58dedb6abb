package evictor

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// BenchmarkHostileNamespace measures how expensive one namespace can make each of its pods for a
// plan and for each step of a cycle, with budgets whose large selectors are parsed for each pod,
// and with many quotas.
func BenchmarkHostileNamespace(b *testing.B) {
	pod := replica("pod-1")
	values := make([]string, 10_000)
	for i := range values {
		values[i] = fmt.Sprint("value-", i)
	}
	selector := &metav1.LabelSelector{
		MatchLabels:      map[string]string{"no": "match"},
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: values}},
	}
	e := newEstate(b, pod)
	for i := range 100 {
		budget := &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: fmt.Sprint(i), UID: types.UID(fmt.Sprint(i))}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: selector},
		}
		if err := e.factory.Policy().V1().PodDisruptionBudgets().Informer().GetIndexer().Add(budget); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("100 budgets of 10000 values", func(b *testing.B) {
		for b.Loop() {
			e.watched.Budgets(pod)
		}
	})
	amounts := v1.ResourceList{"requests.cpu": resource.MustParse("9"), "pods": resource.MustParse("9")}
	for i := range 10_000 {
		quota := &v1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: fmt.Sprint(i)}, Status: v1.ResourceQuotaStatus{Hard: amounts},
		}
		if err := e.factory.Core().V1().ResourceQuotas().Informer().GetIndexer().Add(quota); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("10000 quotas", func(b *testing.B) {
		for b.Loop() {
			e.refuseByQuota(pod)
		}
	})
}
