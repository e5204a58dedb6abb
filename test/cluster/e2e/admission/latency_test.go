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

// creates measures dry runs of a controller's pods and returns p50 and p99.
func creates(t *testing.T, f *stage.Fixture, namespace, uid string) (p50, p99 time.Duration) {
	t.Helper()
	var took []time.Duration
	for range 300 {
		start := time.Now()
		if _, err := f.Client().CoreV1().Pods(namespace).Create(t.Context(), pod("ReplicaSet", uid), dryRun); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return took[len(took)/2], took[len(took)*99/100]
}

// With 20 namespaces of 100 keys, other pods are created as fast as before but
// for a millisecond; the figures are printed, as the machine may be busy.
func TestCreatesStayFast(t *testing.T) {
	f := stage.New(t)
	before50, before99 := creates(t, f, "default", "other")
	o := install(t, f, "admission-steering")
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
	steered(t, f, o)
	f.Eventually(30*time.Second, "the namespace to have its pods admitted", func(ctx context.Context) bool {
		_, err := f.Client().CoreV1().Pods("crowd-0").Create(ctx, pod("ReplicaSet", "other"), dryRun)
		return err == nil
	})
	t.Logf("before: p50 %v, p99 %v", before50, before99)
	for _, c := range []struct{ what, namespace, uid string }{
		{"others, no keys in the namespace", "default", "other"}, {"others, 100 keys in it", "crowd-0", "other"},
		{"by gate", "crowd-0", "key-0"}, {"by names", "crowd-0", "key-1"},
	} {
		p50, p99 := creates(t, f, c.namespace, c.uid)
		t.Logf("%s: p50 %v, p99 %v", c.what, p50, p99)
		if c.uid == "other" && p50 > before50+5*time.Millisecond {
			t.Errorf("%s: p50 %v, %v before", c.what, p50, before50)
		}
	}
}
