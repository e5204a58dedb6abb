package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// fixedPods places pods that use 1500m each and must not be moved.
func fixedPods(pods int, node string) cluster.Placement {
	fixed := stage.Workload("fixed", cluster.Resources{CPU: "100m"}, cluster.Resources{CPU: "1500m", Memory: "64Mi"})
	fixed.Adjust = func(template *v1.PodTemplateSpec) {
		template.Spec.Volumes = []v1.Volume{{Name: "local", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
	}
	return cluster.Placement{Workload: fixed, On: stage.On(pods, node)}
}

// One of two replicas is not ready, and the node of the other is hot. The ready replica stays. Once
// both are ready, it is moved, so nothing else kept it in place.
//
//	node-0: 5 × 1500m that must not be moved + 4000m = 11.5 of 16 cores = 72 %
func TestTheOnlyReadyReplicaStays(t *testing.T) {
	f := newFixture(t)
	nodes, err := f.AddNodes(t.Context(), 4, cluster.NodeTemplate{CPU: "16", Memory: "64Gi"})
	if err != nil {
		t.Fatal(err)
	}
	pair := stage.Workload("pair", cluster.Resources{CPU: "100m"}, cluster.Resources{CPU: "4", Memory: "64Mi"})
	err = f.Place(t.Context(), agents(nodes...), fixedPods(5, nodes[0]), cluster.Placement{Workload: pair, On: stage.On(1, nodes[0], nodes[1])})
	if err != nil {
		t.Fatal(err)
	}
	other := f.podOn(t.Context(), "pair", nodes[1]).Name
	f.setReady(other, false)

	mark, metrics := f.Mark(), f.FreeAddress()
	policy := f.Policy(stage.RealUsage, stage.Fast)
	f.Serve(policy, "--metrics-address", metrics)
	plan := f.Plan(t.Context(), policy)
	declined, _ := plan.Reasons(nodes[0], "pair")
	if _, last := declined["LastReadyReplica"]; !last || len(declined) != 1 {
		t.Errorf("the plan declines it for %v", declined)
	}
	if err := f.WaitMetrics(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.waitCycles(metrics, 3)
	if got := f.Evictions(mark); got != 0 {
		t.Errorf("%d evictions while its sibling was down", got)
	}
	f.setReady(other, true)
	f.Eventually(time.Minute, "an eviction once both are ready", func(context.Context) bool { return f.Evictions(mark) == 1 })
}

// A Deployment is scaled from ten replicas to one while its moves wait for each other. From then
// on, none of its pods is evicted.
//
//	node-0: 10 × 1200m = 12 of 16 cores = 75 %; to get under 50 % four have to go, one at a time
func TestMovesOfADeploymentThatIsScaledDownAreNotMade(t *testing.T) {
	f := newFixture(t)
	nodes, err := f.AddNodes(t.Context(), 4, cluster.NodeTemplate{CPU: "16", Memory: "64Gi"})
	if err != nil {
		t.Fatal(err)
	}
	hog := stage.Workload("hog", cluster.Resources{CPU: "100m"}, cluster.Resources{CPU: "1200m", Memory: "64Mi"})
	hog.Adjust = func(template *v1.PodTemplateSpec) { template.Annotations[cluster.ReadyAfterAnnotation] = "15s" }
	if err := f.Place(t.Context(), agents(nodes...), cluster.Placement{Workload: hog, On: stage.On(10, nodes[0])}); err != nil {
		t.Fatal(err)
	}
	mark, metrics := f.Mark(), f.FreeAddress()
	lower := strings.NewReplacer("low: 45, reject: 60, evict: 65, leave: 60", "low: 30, reject: 45, evict: 50, leave: 45").Replace(stage.Fast)
	f.Serve(f.Policy(stage.RealUsage, lower), "--metrics-address", metrics)
	f.Eventually(time.Minute, "the first eviction", func(context.Context) bool { return f.Evictions(mark) == 1 })
	_, err = f.Client().AppsV1().Deployments("shop").Patch(t.Context(), "hog", types.MergePatchType, []byte(`{"spec":{"replicas":1}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f.Eventually(30*time.Second, "one pod", func(ctx context.Context) bool { return len(f.Pods(ctx, "hog")) == 1 })
	f.waitCycles(metrics, 2)
	if got := f.Evictions(mark); got != 1 {
		t.Errorf("%d evictions, want the one before the scaling", got)
	}
}

// setReady sets a pod's condition as its kubelet would, and waits until its ReplicaSet has counted
// the pod.
func (f *fixture) setReady(name string, is bool) {
	f.T.Helper()
	pods, ctx := f.Client().CoreV1().Pods("shop"), f.T.Context()
	status, ready := v1.ConditionFalse, int32(1)
	if is {
		status, ready = v1.ConditionTrue, 2
	}
	patch := `{"status":{"conditions":[{"type":"Ready","status":"` + string(status) + `"}]}}`
	if _, err := pods.Patch(ctx, name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status"); err != nil {
		f.T.Fatal(err)
	}
	f.Eventually(30*time.Second, "the Deployment to count its ready pods", func(ctx context.Context) bool {
		deployment, err := f.Client().AppsV1().Deployments("shop").Get(ctx, "pair", metav1.GetOptions{})
		return err == nil && deployment.Status.ReadyReplicas == ready
	})
}
