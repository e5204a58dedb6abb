package e2e

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// Two of six nodes are cordoned, as for a drain. Evenkeel stops evicting and gives the reason. Once
// the nodes are schedulable again, the hot node is relieved.
//
//	node-0: 5 × 2.8 of 20 cores = 70 %; under 65 % takes one
//
//e2e:tier all
func TestStandsBackWhileNodesAreDrained(t *testing.T) {
	f := newFixture(t)
	nodes, err := f.AddNodes(t.Context(), 6, cluster.NodeTemplate{CPU: "20", Memory: "64Gi"})
	if err != nil {
		t.Fatal(err)
	}
	hog := stage.Workload("hog", cluster.Resources{CPU: "100m"}, cluster.Resources{CPU: "2800m", Memory: "64Mi"})
	if err := f.Place(t.Context(), agents(nodes...), cluster.Placement{Workload: hog, On: stage.On(5, nodes[0])}); err != nil {
		t.Fatal(err)
	}
	f.cordon(true, nodes[4:]...)
	mark, metrics := f.Mark(), f.FreeAddress()
	f.Serve(f.Policy(stage.RealUsage, stage.Fast), "--metrics-address", metrics)
	f.waitCycles(metrics, 1)
	f.Eventually(time.Minute, "a pod that stays because nodes are drained", func(ctx context.Context) bool {
		return f.explained("shop/" + f.podsOn(ctx, "hog", nodes[0])[0].Name).because("NodesDraining")
	})
	f.waitCycles(metrics, 3)
	if got := f.Evictions(mark); got != 0 {
		t.Errorf("%d evictions while two of six nodes were being drained", got)
	}
	f.cordon(false, nodes[4:]...)
	f.Eventually(time.Minute, "the hot node relieved", func(ctx context.Context) bool { return len(f.Hot(ctx, 65)) == 0 })
	if got := f.Evictions(mark); got != 1 {
		t.Errorf("%d evictions, want 1", got)
	}
}

// A ReplicaSet creates a replacement while the old pod still counts against its namespace's quota.
// If the quota is exhausted, nothing is evicted in that namespace, and the node of the other
// namespace is relieved. Once the quota has space, evictions continue.
//
//	node-0: 5 × 2.8 of namespace vault, node-1: 5 × 2.8 of shop, of 20 cores each = 70 %; under 65 % takes one of each
//
//e2e:tier all
func TestFullQuotaKeepsPods(t *testing.T) {
	f := newFixture(t)
	nodes, err := f.AddNodes(t.Context(), 4, cluster.NodeTemplate{CPU: "20", Memory: "64Gi"})
	if err != nil {
		t.Fatal(err)
	}
	uses := cluster.Resources{CPU: "2800m", Memory: "64Mi"}
	vault := stage.Workload("vault", cluster.Resources{CPU: "100m"}, uses)
	vault.Namespace = "vault"
	hog := stage.Workload("hog", cluster.Resources{CPU: "100m"}, uses)
	err = f.Place(t.Context(), agents(nodes...),
		cluster.Placement{Workload: vault, On: stage.On(5, nodes[0])}, cluster.Placement{Workload: hog, On: stage.On(5, nodes[1])})
	if err != nil {
		t.Fatal(err)
	}
	f.quota("vault", "5", "5")
	mark, metrics := f.Mark(), f.FreeAddress()
	f.Serve(f.Policy(stage.RealUsage, stage.Fast), "--metrics-address", metrics)
	f.Eventually(time.Minute, "the node of shop below 65 % of CPU", func(ctx context.Context) bool {
		hot := f.Hot(ctx, 65)
		return len(hot) == 1 && strings.HasPrefix(hot[0], nodes[0])
	})
	f.waitCycles(metrics, 3)
	if got := f.Evictions(mark); got != 1 {
		t.Errorf("%d evictions, want the one of shop", got)
	}
	for key := range f.podHomes() {
		if !strings.HasPrefix(key, "vault/") {
			continue
		}
		if why := f.explained(key); why.Reason != "ResourceQuotaExhausted" {
			t.Errorf("pod %s stays for %+v, want ResourceQuotaExhausted", key, why)
		}
	}
	f.quota("vault", "6", "5")
	f.Eventually(time.Minute, "both nodes relieved", func(ctx context.Context) bool { return len(f.Hot(ctx, 65)) == 0 })
	if got := f.Evictions(mark); got != 2 {
		t.Errorf("%d evictions, want 2", got)
	}
}

func (f *fixture) cordon(closed bool, nodes ...string) {
	f.T.Helper()
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"unschedulable": closed}})
	if err != nil {
		f.T.Fatal(err)
	}
	for _, node := range nodes {
		if _, err := f.Client().CoreV1().Nodes().Patch(f.T.Context(), node, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			f.T.Fatal(err)
		}
	}
}

// quota limits a namespace to the given number of pods, and waits until its existing pods are
// counted.
func (f *fixture) quota(namespace, pods, counted string) {
	f.T.Helper()
	quotas := f.Client().CoreV1().ResourceQuotas(namespace)
	q := &v1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "pods"},
		Spec:       v1.ResourceQuotaSpec{Hard: v1.ResourceList{v1.ResourcePods: resource.MustParse(pods)}},
	}
	if _, err := quotas.Update(f.T.Context(), q, metav1.UpdateOptions{}); err != nil {
		if _, err := quotas.Create(f.T.Context(), q, metav1.CreateOptions{}); err != nil {
			f.T.Fatal(err)
		}
	}
	f.Eventually(30*time.Second, "a counted quota", func(ctx context.Context) bool {
		q, err := quotas.Get(ctx, "pods", metav1.GetOptions{})
		return err == nil && q.Status.Hard.Pods().Equal(resource.MustParse(pods)) && q.Status.Used.Pods().Equal(resource.MustParse(counted))
	})
}
