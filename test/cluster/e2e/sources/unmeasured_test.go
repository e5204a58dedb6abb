package sources

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/exporters"
)

// After a restart, a kubelet reads 0 milli-cores for pods that it has not measured twice, though
// not for their node. Evenkeel does not take that for usage: no pod looks cheaper than it is.
//
//	each node: 5 web × 800m = 4 of 8 cores = 50 %
//
//e2e:tier all
func TestRestartedKubeletsChangeNoJudgement(t *testing.T) {
	f := stage.New(t)
	nodes, err := f.AddNodes(t.Context(), 2, cluster.NodeTemplate{CPU: "8", Memory: "64Gi", OwnAddresses: true})
	if err != nil {
		t.Fatal(err)
	}
	web := stage.Workload("web", cluster.Resources{CPU: "100m", Memory: "64Mi"}, cluster.Resources{CPU: "800m", Memory: "64Mi"})
	if err := f.Place(t.Context(), cluster.Placement{Workload: web, On: stage.On(5, nodes...)}); err != nil {
		t.Fatal(err)
	}
	f.Component("kubelet-source")
	const unmeasured = 15 * time.Second
	kubelets, err := exporters.StartKubelets(t.Context(), exporters.KubeletsConfig{Cluster: f.Cluster, Dir: t.TempDir(), Unmeasured: unmeasured})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kubelets.Stop(); err != nil {
			t.Error(err)
		}
	})
	wait(t, unmeasured) // until no pod is new to its kubelet
	mark := f.Mark()
	f.Serve(f.Policy(stage.RealUsage, "---\n"+loadPolicy(fmt.Sprintf("{type: Kubelet, kubelet: {tls: {caFile: %q}}}", kubelets.CAFile()), true)))
	believed := func() (leastMilli int64) {
		leastMilli = 1 << 40
		for _, pod := range f.Pods(t.Context(), "web") {
			var explained struct {
				Measured bool
				Usage    struct{ CPUMilli int64 }
			}
			f.Fetch(stage.Reports()+"/explain/pod/shop/"+pod.Name, &explained)
			if !explained.Measured {
				return 0
			}
			leastMilli = min(leastMilli, explained.Usage.CPUMilli)
		}
		return leastMilli
	}
	f.Eventually(time.Minute, "both nodes and all pods measured", func(context.Context) bool { return f.Measured(49, nodes...) && believed() > 790 })
	wait(t, 15*time.Second) // three more samples of each pod
	kubelets.Restart(nodes...)
	for end := time.Now().Add(unmeasured + 10*time.Second); time.Now().Before(end); wait(t, time.Second) {
		if got := believed(); got < 790 {
			t.Fatalf("after the restart of its kubelet a pod is believed to use %dm, want 800m", got)
		}
	}
	if n := f.Evictions(mark); n != 0 {
		t.Errorf("%d evictions", n)
	}
}
