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

// selecting is stage.RealUsage limited to some pods, by their labels, by labels and names of their
// namespaces, and by a priority below that of a class.
const selecting = `
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: evenkeel
  pluginConfig:
  - name: DefaultEvictor
    args:
      labelSelector: {matchExpressions: [{key: stays, operator: DoesNotExist}]}
      namespaceLabelSelector: {matchExpressions: [{key: team, operator: NotIn, values: [bank]}]}
      priorityThreshold: {name: shop-spared}
  - name: RealUsageLowNodeUtilization
    args:
      evictableNamespaces: {include: [shop, bank]}
  plugins:
    balance:
      enabled: [RealUsageLowNodeUtilization]
`

// Moving any one of four pods would cool the node. The policy selects none of them, each for a
// different reason, so two others are moved.
//
//	node-0: 4 × 3000m that are not selected + 2 × 1200m = 14.4 of 20 cores = 72 %; to get under 65 % (13), one of 3000m or two of 1200m must leave
func TestSelectedPodsAloneAreMoved(t *testing.T) {
	f := newFixture(t)
	nodes, err := f.AddNodes(t.Context(), 3, cluster.NodeTemplate{CPU: "20", Memory: "64Gi"})
	if err != nil {
		t.Fatal(err)
	}
	f.placeSelected(nodes)
	mark := f.Mark()
	f.Serve(f.Policy(selecting, stage.Fast))
	f.Eventually(2*time.Minute, "no node above 65 % of CPU", func(ctx context.Context) bool { return len(f.Hot(ctx, 65)) == 0 })
	f.wantOnlyHogsTried(mark, 2)
	for workload, reason := range map[string]string{
		"shop/labelled": "ProtectedByDefaultEvictor", "shop/gold": "ProtectedByDefaultEvictor",
		"bank/teller": "PreEvictionFilter", "lab/trial": "NamespaceExcluded",
	} {
		f.checkExplained(workload, reason)
	}
	for key, node := range f.podHomes() {
		for _, workload := range []string{"shop/labelled-", "shop/gold-", "bank/teller-", "lab/trial-"} {
			if strings.HasPrefix(key, workload) && node != nodes[0] {
				t.Errorf("pod %s is on %q, want it where it was", key, node)
			}
		}
	}
}

// placeSelected sets up the cluster of TestSelectedPodsAloneAreMoved.
func (f *fixture) placeSelected(nodes []string) {
	f.T.Helper()
	f.priorityClass("shop-spared", 1000)
	of := func(namespace, name string) cluster.Workload {
		w := stage.Workload(name, cluster.Resources{CPU: "100m"}, cluster.Resources{CPU: "3", Memory: "64Mi"})
		w.Namespace = namespace
		return w
	}
	labelled, gold := of("shop", "labelled"), of("shop", "gold")
	labelled.Adjust = func(template *v1.PodTemplateSpec) { template.Labels["stays"] = "yes" }
	gold.PriorityClassName = "shop-spared"
	hog := stage.Workload("hog", cluster.Resources{CPU: "100m"}, cluster.Resources{CPU: "1200m", Memory: "64Mi"})
	on := stage.On(1, nodes[0])
	err := f.Place(f.T.Context(), agents(nodes...),
		cluster.Placement{Workload: labelled, On: on}, cluster.Placement{Workload: gold, On: on},
		cluster.Placement{Workload: of("bank", "teller"), On: on}, cluster.Placement{Workload: of("lab", "trial"), On: on},
		cluster.Placement{Workload: hog, On: stage.On(2, nodes[0])})
	if err != nil {
		f.T.Fatal(err)
	}
	team := []byte(`{"metadata":{"labels":{"team":"bank"}}}`)
	if _, err := f.Client().CoreV1().Namespaces().Patch(f.T.Context(), "bank", types.MergePatchType, team, metav1.PatchOptions{}); err != nil {
		f.T.Fatal(err)
	}
}
