package sources

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/exporters"
)

// The lines of CPU are far above what any node uses, so a node becomes hot only because its
// containers wait.
const contentionPolicy = `apiVersion: evenkeel.io/v1alpha1
kind: LoadPolicy
lines:
  cpu: {low: 30, reject: 80, evict: 95, leave: 90}
  memory: {}
  cpu.contention: {reject: 15, evict: 25, leave: 15}
usage: {sampleInterval: 5s, maxAge: 35s, observationPeriod: 25s, sources: [{type: Kubelet%s}]}
eviction: {maxMovesPerHourOfOwner: 0, ownerSettle: 0s, cycleDeadline: 3m, interval: 1s}
hot: {consecutiveSamples: 2, minWindow: 15s, startup: 0s}
`

// Containers that wait for each other make their node hot, although its CPU usage is low.
// Containers that wait because of their own limits do not, however long they wait.
//
//	node-00:  20 web × 1100m = 22 of 32 cores = 69 %; the time waited is twice what exceeds 50 %: 37.5 %
//	node-01:  20 capped × 200m, each at its limit, waiting 90 % of the time; 4 of 32 cores = 12.5 %
//	node-02, node-03: 10 calm × 500m = 16 %
//
//e2e:tier all
func TestContentionIsRelieved(t *testing.T) {
	f := stage.New(t)
	nodes, err := f.AddNodes(t.Context(), 4, cluster.NodeTemplate{CPU: "32", Memory: "256Gi", OwnAddresses: true})
	if err != nil {
		t.Fatal(err)
	}
	memory := "64Mi"
	web := stage.Workload("web", cluster.Resources{CPU: "200m", Memory: memory}, cluster.Resources{CPU: "1100m", Memory: memory})
	capped := stage.Workload("capped", cluster.Resources{CPU: "100m", Memory: memory}, cluster.Resources{CPU: "200m", Memory: memory})
	capped.Adjust = func(template *v1.PodTemplateSpec) {
		template.Spec.Containers[0].Resources.Limits = v1.ResourceList{v1.ResourceCPU: resource.MustParse("200m")}
	}
	calm := stage.Workload("calm", cluster.Resources{CPU: "500m", Memory: memory}, cluster.Resources{CPU: "500m", Memory: memory})
	err = f.Place(t.Context(),
		cluster.Placement{Workload: web, On: stage.On(20, nodes[0])},
		cluster.Placement{Workload: capped, On: stage.On(20, nodes[1])},
		cluster.Placement{Workload: calm, On: stage.On(10, nodes[2:]...)})
	if err != nil {
		t.Fatal(err)
	}
	waits := func(node cluster.NodeTruth, pod cluster.PodTruth) float64 {
		if strings.HasPrefix(pod.Name, "capped-") {
			return 90
		}
		return max(0, 2*(100*float64(node.Used.CPUMilli)/float64(node.Capacity.CPUMilli)-50))
	}
	setting := startKubelets(t, f, exporters.KubeletsConfig{Waits: waits})
	mark := f.Mark()
	f.Serve(f.Policy(stage.RealUsage, "---\n"+fmt.Sprintf(contentionPolicy, setting)))
	f.Eventually(2*time.Minute, "the node to be judged hot", func(ctx context.Context) bool { return f.States(ctx)[nodes[0]] == "hot" })
	if state := f.States(t.Context())[nodes[1]]; state != "cool" {
		t.Errorf("%s, whose containers wait for their own limits, is %s", nodes[1], state)
	}
	f.Eventually(2*time.Minute, "the node to be no longer hot", func(ctx context.Context) bool {
		return f.Evictions(mark) > 0 && f.States(ctx)[nodes[0]] != "hot" && f.WaitReady(ctx, "shop", "web") == nil
	})
	wait(t, 20*time.Second) // several more cycles
	wantContentionRelieved(t, f, mark, waits)
}

// wantContentionRelieved checks that only pods that made others wait were moved, that no more were
// moved than a linear model requires, and that their Events give the reason.
func wantContentionRelieved(t *testing.T, f *stage.Fixture, mark cluster.AuditMark, waits func(cluster.NodeTruth, cluster.PodTruth) float64) {
	t.Helper()
	truth, err := f.Truth(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	web, moved := 0, f.Evictions(mark)
	for _, pod := range truth[0].Pods {
		if strings.HasPrefix(pod.Name, "web-") {
			web++
		}
		if left := waits(truth[0], pod); left > 15 {
			t.Errorf("pod %s of %s still waits for %.1f %% of the time", pod.Name, truth[0].Name, left)
			break
		}
	}
	// Waiting falls below 15 % at a CPU usage of 57.5 %, which takes four moves. A straight line
	// from 30 % to 69 % of CPU would predict seven.
	if moved < 4 || moved > 8 || web != 20-moved {
		t.Errorf("%d evictions, and %d of 20 pods are left", moved, web)
	}
	events, err := f.Client().CoreV1().Events("shop").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	why := 0
	for i := range events.Items {
		if message := events.Items[i].Message; strings.Contains(message, "is hot: cpu.contention") {
			if why++; why == 1 {
				t.Log("figures:", message)
			}
		}
	}
	if why == 0 {
		t.Error("no Event says that a node is hot by cpu.contention")
	}
	t.Logf("figures: %d evictions", moved)
}
