package admission

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// creates measures how long dry-run creations of a controller's pods take.
func creates(t *testing.T, f *stage.Fixture, namespace, uid string) []time.Duration {
	t.Helper()
	took := make([]time.Duration, 100)
	for i := range took {
		start := time.Now()
		if _, err := f.Client().CoreV1().Pods(namespace).Create(t.Context(), pod("ReplicaSet", uid), dryRun); err != nil {
			t.Fatal(err)
		}
		took[i] = time.Since(start)
	}
	return took
}

func quantile(took []time.Duration, percent int) time.Duration {
	sorted := slices.Sorted(slices.Values(took))
	return sorted[len(sorted)*percent/100]
}

func spread(took []time.Duration) string {
	return fmt.Sprintf("p50 %v, p99 %v", quantile(took, 50).Round(10*time.Microsecond), quantile(took, 99).Round(10*time.Microsecond))
}

// crowd creates 20 namespaces with 100 keys each.
func crowd(t *testing.T, f *stage.Fixture, o ours) {
	t.Helper()
	later := time.Now().Add(10 * time.Minute)
	for i := range 20 {
		name := fmt.Sprint("crowd-", i)
		if _, err := f.Client().CoreV1().Namespaces().Create(t.Context(), &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := f.Client().CoreV1().Namespaces().Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
		targets := map[string]any{}
		for k := range 100 {
			by := []string{"Gate", "Names"}[k%2]
			targets[fmt.Sprint("key-", k)] = key(later, by, "n1", "n2", "n3", "n4", "n5")
		}
		if err := o.steer(t.Context(), name, targets); err != nil {
			t.Fatal(err)
		}
	}
}

// With 20 namespaces of 100 keys, creating other pods takes at most a millisecond longer than
// without the policy. The two measurements alternate, because the machine's speed varies.
//
//e2e:tier all
//e2e:alone
func TestCreatesStayFast(t *testing.T) {
	f := stage.New(t)
	o := install(t, f, "admission-steering")
	crowd(t, f, o)
	bindings := f.Client().AdmissionregistrationV1().MutatingAdmissionPolicyBindings()
	binding, err := bindings.Get(t.Context(), "evenkeel-steer", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	binding.ResourceVersion, binding.UID = "", ""
	steers := func(ctx context.Context) bool {
		got, err := f.Client().CoreV1().Pods("crowd-0").Create(ctx, pod("ReplicaSet", "key-1"), dryRun)
		return err == nil && got.Annotations["evenkeel.io/steered"] != ""
	}
	var without, elsewhere, beside, gated, named []time.Duration
	for range 6 {
		if err := bindings.Delete(t.Context(), binding.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		f.Eventually(30*time.Second, "no pod to be steered", func(ctx context.Context) bool { return !steers(ctx) })
		without = append(without, creates(t, f, "crowd-0", "other")...)
		if _, err := bindings.Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		f.Eventually(30*time.Second, "pods to be steered", steers)
		elsewhere = append(elsewhere, creates(t, f, "default", "other")...)
		beside = append(beside, creates(t, f, "crowd-0", "other")...)
		gated = append(gated, creates(t, f, "crowd-0", "key-0")...)
		named = append(named, creates(t, f, "crowd-0", "key-1")...)
	}
	t.Logf("figures: without the policy %s; other pods in a namespace without keys %s, among 100 keys %s; steered by gate %s, by names %s",
		spread(without), spread(elsewhere), spread(beside), spread(gated), spread(named))
	for where, took := range map[string][]time.Duration{"without keys": elsewhere, "of 100 keys": beside} {
		if slower := quantile(took, 50) - quantile(without, 50); slower > time.Millisecond {
			t.Errorf("other pods in a namespace %s: %v slower at p50, want at most 1ms", where, slower)
		}
	}
}
