package realkubelets

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// The hot Deployment is rolled out after the first eviction. Real pods start and end one
// after the other meanwhile, and old ones burn until they are gone. No pod is evicted
// until the rollout has ended; it spreads the pods well, and leaves little to do.
//
//e2e:tier all
func TestRolloutDuringRelief(t *testing.T) {
	f, nodes := stage.NewWithKubelets(t, 3)
	skew(f, nodes)
	mark := f.Mark()
	f.Serve(f.Policy(stage.RealUsage, loadPolicy))
	f.Eventually(2*time.Minute, "the first eviction", func(context.Context) bool { return f.Evictions(mark) > 0 })
	patch := []byte(`{"spec":{"template":{"metadata":{"annotations":{"revision":"2"}}}}}`)
	if _, err := f.Client().AppsV1().Deployments("shop").Patch(t.Context(), "hog", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	began := f.Evictions(mark)
	var rollout time.Time
	f.Eventually(90*time.Second, "the end of the rollout", func(ctx context.Context) bool {
		deployment, err := f.Client().AppsV1().Deployments("shop").Get(ctx, "hog", metav1.GetOptions{})
		if err != nil || !rolledOut(deployment) {
			return false
		}
		rollout = time.Now()
		return true
	})
	for _, eviction := range f.Granted(mark)[min(began, f.Evictions(mark)):] {
		if eviction.At.Before(rollout.Add(-time.Second)) {
			t.Errorf("pod %s was evicted %v before the rollout ended", eviction.Pod, rollout.Sub(eviction.At))
		}
	}
	f.Eventually(2*time.Minute, "the hot node to be cool", func(ctx context.Context) bool {
		used, err := f.MeasuredUsage(ctx)
		if err != nil {
			return false
		}
		for _, node := range nodes {
			if used[node.Name].CPUPercent >= evictLine {
				return false
			}
		}
		return true
	})
	if n := f.Evictions(mark); n > 2 {
		t.Errorf("%d evictions, want at most 2, as without the rollout", n)
	}
	t.Logf("figures: %d evictions, %d of them before the rollout", f.Evictions(mark), began)
}

func rolledOut(d *appsv1.Deployment) bool {
	s := d.Status
	return s.ObservedGeneration >= d.Generation && s.UpdatedReplicas == *d.Spec.Replicas && s.Replicas == s.UpdatedReplicas && s.AvailableReplicas == s.Replicas
}
