package e2e

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// sparing is stage.RealUsage with the shipped protection of single pods.
const sparing = `
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: evenkeel
  pluginConfig:
  - name: DefaultEvictor
    args: {minReplicas: 2}
  - name: RealUsageLowNodeUtilization
    args: {}
  plugins:
    balance:
      enabled: [RealUsageLowNodeUtilization]
`

// The only pod that can cool a node is the only one of its Deployment, and its
// budget wants one to be there. It asks for a surge, so it goes to the planned
// node, and at no time is there none.
//
//	node-0: 5 × 1500m that nobody may move + 4000m = 11.5 of 16 cores = 72 %; without the 4000m 47 %
func TestSinglePodIsMovedWithoutAGap(t *testing.T) {
	f := newFixture(t)
	nodes, err := f.AddNodes(t.Context(), 4, cluster.NodeTemplate{CPU: "16", Memory: "64Gi"})
	if err != nil {
		t.Fatal(err)
	}
	fixed := stage.Workload("fixed", cluster.Resources{CPU: "100m"}, cluster.Resources{CPU: "1500m", Memory: "64Mi"})
	fixed.Adjust = func(template *v1.PodTemplateSpec) {
		template.Spec.Volumes = []v1.Volume{{Name: "local", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
	}
	single := stage.Workload("single", cluster.Resources{CPU: "100m"}, cluster.Resources{CPU: "4", Memory: "64Mi"})
	single.Grace = 3 * time.Second
	single.Adjust = func(template *v1.PodTemplateSpec) {
		template.Annotations["evenkeel.io/surge"] = "true"
		template.Annotations[cluster.ReadyAfterAnnotation] = "2s"
	}
	err = f.Place(t.Context(), agents(nodes...), cluster.Placement{Workload: fixed, On: stage.On(5, nodes[0])},
		cluster.Placement{Workload: single, On: stage.On(1, nodes[0])})
	if err != nil {
		t.Fatal(err)
	}
	f.wantOne("single")
	f.grant("surge")

	fewest, most := f.countReady("single")
	mark := f.Mark()
	f.Serve(f.Policy(sparing, stage.Fast))
	f.Eventually(2*time.Minute, "no node above 65 % of CPU", func(ctx context.Context) bool { return len(f.Hot(ctx, 65)) == 0 })
	f.Eventually(30*time.Second, "one pod, ready, of a Deployment that wants one", func(ctx context.Context) bool {
		pods := f.Pods(ctx, "single")
		deployment, err := f.Client().AppsV1().Deployments("shop").Get(ctx, "single", metav1.GetOptions{})
		return err == nil && *deployment.Spec.Replicas == 1 && len(pods) == 1 && ready(&pods[0])
	})

	if got := f.Evictions(mark); got != 1 {
		t.Errorf("%d evictions, want 1", got)
	}
	moves := f.Moves()
	if len(moves) != 1 {
		t.Fatalf("moves %+v, want one", moves)
	}
	pod := f.Pods(t.Context(), "single")[0]
	if move := moves[0]; move.State != "Landed" || !move.Asked || move.Replacement != string(pod.UID) || pod.Spec.NodeName != move.To {
		t.Errorf("move %+v, its pod is %s on %s", move, pod.UID, pod.Spec.NodeName)
	}
	if fewest.Load() < 1 {
		t.Errorf("at times there were %d pods that were ready and stayed, want 1", fewest.Load())
	}
	t.Logf("pods that were ready and stayed: %d to %d", fewest.Load(), most.Load())
	f.checkRights(mark)
}

// wantOne gives a Deployment's pods a PodDisruptionBudget that wants one of
// them, and waits until its controller knows.
func (f *fixture) wantOne(name string) {
	f.T.Helper()
	one := intstr.FromInt32(1)
	budgets := f.Client().PolicyV1().PodDisruptionBudgets("shop")
	_, err := budgets.Create(f.T.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		f.T.Fatal(err)
	}
	f.Eventually(30*time.Second, "the budget to be reckoned with", func(ctx context.Context) bool {
		budget, err := budgets.Get(ctx, name, metav1.GetOptions{})
		return err == nil && budget.Status.CurrentHealthy == 1
	})
}

// grant gives Evenkeel the rights of a shipped component for the time of the
// case.
func (f *fixture) grant(component string) {
	f.T.Helper()
	root, err := evenkeel.Root(f.T.Context())
	if err != nil {
		f.T.Fatal(err)
	}
	if err := evenkeel.Apply(f.T.Context(), f.Cluster, filepath.Join(root, "deploy", "components", component, "rbac.yaml"), false); err != nil {
		f.T.Fatal(err)
	}
	ctx := context.WithoutCancel(f.T.Context())
	f.T.Cleanup(func() {
		if err := f.Client().RbacV1().ClusterRoleBindings().Delete(ctx, "evenkeel-"+component, metav1.DeleteOptions{}); err != nil {
			f.T.Error(err)
		}
	})
}

// countReady watches how many pods of a Deployment are ready and not about to
// go: the fewest and the most at any time.
func (f *fixture) countReady(deployment string) (fewest, most *atomic.Int64) {
	f.T.Helper()
	fewest, most = new(atomic.Int64), new(atomic.Int64)
	fewest.Store(1 << 32)
	f.watchPods(deployment, func(pods map[types.UID]*v1.Pod) {
		var n int64
		for _, pod := range pods {
			if ready(pod) && pod.DeletionTimestamp == nil {
				n++
			}
		}
		fewest.Store(min(fewest.Load(), n))
		most.Store(max(most.Load(), n))
	})
	return fewest, most
}
