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

// cluster-autoscaler's soft taint for deletion candidates is on nodes that look empty by requests:
// both hot nodes and the coolest one. The hot nodes are still relieved, and nothing lands on the
// coolest one.
func TestCandidatesForDeletionAreRelieved(t *testing.T) {
	f := newFixture(t)
	skewed := f.Skew()
	spare := f.nodes("spare-", 1, "for", "anything")[0]
	if err := f.Place(t.Context(), agents(spare)); err != nil {
		t.Fatal(err)
	}
	for _, node := range append([]string{spare}, skewed.Hot...) {
		f.taint(node, v1.Taint{Key: "DeletionCandidateOfClusterAutoscaler", Value: "1795500000", Effect: v1.TaintEffectPreferNoSchedule})
	}
	if err := f.WaitMetrics(t.Context()); err != nil {
		t.Fatal(err)
	}
	mark := f.Mark()
	f.Serve(f.Policy(stage.RealUsage, stage.Fast))
	f.Eventually(2*time.Minute, "no node above 65 % of CPU", func(ctx context.Context) bool { return len(f.Hot(ctx, 65)) == 0 })
	f.Eventually(20*time.Second, "every replacement bound and ready", func(ctx context.Context) bool {
		return f.WaitReady(ctx, "shop", "hog") == nil
	})
	if got := f.Evictions(mark); got < skewed.Fewest || got > skewed.Fewest+1 {
		t.Errorf("%d evictions, the fewest possible are %d", got, skewed.Fewest)
	}
	for _, pod := range f.Pods(t.Context(), "hog") {
		if pod.Spec.NodeName == spare {
			t.Errorf("pod %s landed on the candidate %s", pod.Name, spare)
		}
	}
}

// Moving any one of these pods would cool the node, so the smallest plan would move one of them.
// All are protected, each in a different way, so two others are moved.
//
//	node-0: 7 × 1750m that are protected + 2 × 1200m = 14.65 of 20 cores = 73 %; to get under 65 % (13), one of 1750m or two of 1200m must leave
func TestProtectedPodsAreNeverEvicted(t *testing.T) {
	f := newFixture(t)
	nodes, err := f.AddNodes(t.Context(), 3, cluster.NodeTemplate{CPU: "20", Memory: "64Gi"})
	if err != nil {
		t.Fatal(err)
	}
	f.placeProtected(nodes)
	mark := f.Mark()
	f.Serve(f.Policy(stage.RealUsage, stage.Fast))
	f.Eventually(2*time.Minute, "no node above 65 % of CPU", func(ctx context.Context) bool { return len(f.Hot(ctx, 65)) == 0 })
	f.wantOnlyHogsTried(mark, 2)
	for workload, reason := range map[string]string{
		"shop/safe": "DisruptionDeclined", "shop/disrupt": "DisruptionDeclined", "shop/mine": "EvictionDeclined", "shop/owner": "EvictionDeclined",
		"quiet/quiet": "EvictionDeclined", "shop/gang": "PodGroupMember", "shop/custom": "ControllerUnknown",
	} {
		f.checkExplained(workload, reason)
	}
}

// wantOnlyHogsTried checks that the given number of evictions was attempted, and only of pods of
// the Deployment hog.
func (f *fixture) wantOnlyHogsTried(since cluster.AuditMark, want int) {
	f.T.Helper()
	requests, err := f.Audit(since)
	if err != nil {
		f.T.Fatal(err)
	}
	evictions := requests.To("create", "pods/eviction")
	if len(evictions) != want {
		f.T.Errorf("%d evictions, want %d", len(evictions), want)
	}
	for _, r := range evictions {
		if !strings.HasPrefix(r.Name, "hog-") {
			f.T.Errorf("an eviction of pod %s was tried", r.Name)
		}
	}
}

// checkExplained checks that every pod of a workload stays for the given reason.
func (f *fixture) checkExplained(workload, reason string) {
	f.T.Helper()
	found := 0
	for key := range f.podHomes() {
		if key != workload && !strings.HasPrefix(key, workload+"-") {
			continue
		}
		found++
		// For a moment, the reason may be that the pod has not been measured yet.
		f.Eventually(30*time.Second, "pod "+key+" stays for "+reason, func(context.Context) bool {
			return f.explained(key).Reason == reason
		})
	}
	if found != 1 {
		f.T.Errorf("%d pods of %s, want 1", found, workload)
	}
}

// placeProtected sets up the cluster of TestProtectedPodsAreNeverEvicted.
func (f *fixture) placeProtected(nodes []string) {
	f.T.Helper()
	annotated := func(name, key, value string) cluster.Placement {
		w := stage.Workload(name, cluster.Resources{CPU: "100m"}, cluster.Resources{CPU: "1750m", Memory: "64Mi"})
		w.Adjust = func(template *v1.PodTemplateSpec) {
			if key != "" {
				template.Annotations[key] = value
			}
		}
		return cluster.Placement{Workload: w, On: stage.On(1, nodes[0])}
	}
	gang := annotated("gang", "", "")
	gang.Workload.Adjust = func(template *v1.PodTemplateSpec) { template.Labels["leaderworkerset.sigs.k8s.io/name"] = "gang" }
	quiet := annotated("quiet", "", "")
	quiet.Workload.Namespace = "quiet"
	hog := stage.Workload("hog", cluster.Resources{CPU: "100m"}, cluster.Resources{CPU: "1200m", Memory: "64Mi"})
	if err := f.EnsureNamespace(f.T.Context(), "shop"); err != nil {
		f.T.Fatal(err)
	}
	f.ofConfigMap("custom", nodes[0], "1750m") // first, so that it is measured together with the others
	err := f.Place(f.T.Context(), agents(nodes...),
		annotated("safe", "cluster-autoscaler.kubernetes.io/safe-to-evict", "false"),
		annotated("disrupt", "karpenter.sh/do-not-disrupt", "4h"),
		annotated("mine", "evenkeel.io/evict", "false"),
		annotated("owner", "", ""), gang, quiet,
		cluster.Placement{Workload: hog, On: stage.On(2, nodes[0])})
	if err != nil {
		f.T.Fatal(err)
	}
	f.forbid()
}

// forbid annotates the Deployment "owner" and the Namespace "quiet".
func (f *fixture) forbid() {
	f.T.Helper()
	no := []byte(`{"metadata":{"annotations":{"evenkeel.io/evict":"false"}}}`)
	if _, err := f.Client().CoreV1().Namespaces().Patch(f.T.Context(), "quiet", types.MergePatchType, no, metav1.PatchOptions{}); err != nil {
		f.T.Fatal(err)
	}
	if _, err := f.Client().AppsV1().Deployments("shop").Patch(f.T.Context(), "owner", types.MergePatchType, no, metav1.PatchOptions{}); err != nil {
		f.T.Fatal(err)
	}
	f.Eventually(20*time.Second, "the Deployment's word on its ReplicaSet", func(ctx context.Context) bool {
		sets, err := f.Client().AppsV1().ReplicaSets("shop").List(ctx, metav1.ListOptions{LabelSelector: "app=owner"})
		return err == nil && len(sets.Items) == 1 && sets.Items[0].Annotations["evenkeel.io/evict"] == "false"
	})
}

// ofConfigMap runs a pod whose controller is a ConfigMap: an object that exists but whose kind
// creates no pods.
func (f *fixture) ofConfigMap(name, node, cpu string) {
	f.T.Helper()
	owner, err := f.Client().CoreV1().ConfigMaps("shop").Create(f.T.Context(), &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		f.T.Fatal(err)
	}
	pods := f.Client().CoreV1().Pods("shop")
	_, err = pods.Create(f.T.Context(), &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Annotations: usingCPU(cpu),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: name, UID: owner.UID, Controller: new(true)}},
		},
		Spec: v1.PodSpec{NodeName: node, Containers: []v1.Container{{Name: "main", Image: "registry.example/" + name}}},
	}, metav1.CreateOptions{})
	if err != nil {
		f.T.Fatal(err)
	}
	f.Eventually(20*time.Second, "the pod of a ConfigMap", func(ctx context.Context) bool {
		pod, err := pods.Get(ctx, name, metav1.GetOptions{})
		return err == nil && ready(pod)
	})
}
