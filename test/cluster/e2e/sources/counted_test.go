package sources

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/exporters"
	"github.com/evenkeel/evenkeel/test/cluster/prometheus"
)

// explainedNode is the part of GET /explain/node/NAME that describes the usage counted for a node.
type explainedNode struct {
	State            string
	StolenMilliCores int64
	Reserve          struct{ PercentOf string }
	Metrics          []struct {
		Name    string
		Windows []struct {
			Window  string
			Current float64
		}
	}
}

// explain returns false if usage has not been read yet, or if another plan for an explanation is in
// progress.
func explain(ctx context.Context, node string) (said explainedNode, ok bool) {
	status, body, err := evenkeel.Get(ctx, stage.Reports()+"/explain/node/"+node)
	if err != nil || status != http.StatusOK || json.Unmarshal([]byte(body), &said) != nil {
		return said, false
	}
	return said, true
}

// cpu returns the five-minute mean of CPU that decides whether the node is hot.
func (n *explainedNode) cpu() float64 {
	for _, metric := range n.Metrics {
		for _, window := range metric.Windows {
			if metric.Name == "cpu" && window.Window == "avg_5m" {
				return window.Current
			}
		}
	}
	return math.NaN()
}

// A kubelet omits five running pods, whose usage is still part of the node's. The node is as hot as
// it is measured to be, and is cooled by moving pods that are measured.
//
//	node-0: 6 hog × 2600m + 5 hidden × 2500m = 28.1 of 32 cores = 87.8 %; under 65 % (20.8) takes 3 hogs off.
//	        Without the estimate for the hidden pods, 85 % of their requests, it would count as 55 %.
//
//e2e:tier all
func TestHiddenPodsStayCounted(t *testing.T) {
	f := stage.New(t)
	nodes, err := f.AddNodes(t.Context(), 3, cluster.NodeTemplate{CPU: "32", Memory: "256Gi", OwnAddresses: true})
	if err != nil {
		t.Fatal(err)
	}
	hot := nodes[0]
	hidden := stage.Workload("hidden", cluster.Resources{CPU: "2500m", Memory: "128Mi"}, cluster.Resources{CPU: "2500m", Memory: "256Mi"})
	hog := stage.Workload("hog", cluster.Resources{CPU: "250m", Memory: "128Mi"}, cluster.Resources{CPU: "2600m", Memory: "256Mi"})
	calm := stage.Workload("calm", cluster.Resources{CPU: "2", Memory: "128Mi"}, cluster.Resources{CPU: "300m", Memory: "256Mi"})
	err = f.Cluster.Place(t.Context(), // metrics-server is not asked
		cluster.Placement{Workload: hidden, On: stage.On(5, hot)},
		cluster.Placement{Workload: hog, On: stage.On(6, hot)},
		cluster.Placement{Workload: calm, On: stage.On(8, nodes[1:]...)})
	if err != nil {
		t.Fatal(err)
	}
	setting := startKubelets(t, f, exporters.KubeletsConfig{
		Hidden: func(pod cluster.PodTruth) bool { return strings.HasPrefix(pod.Name, "hidden-") },
	})
	mark := f.Mark()
	f.Serve(f.Policy(loadPolicy("{type: Kubelet"+setting+"}", true)))
	f.Eventually(time.Minute, "the node that is measured at 87.8 % counts as that", func(ctx context.Context) bool {
		said, ok := explain(ctx, hot)
		return ok && math.Abs(said.cpu()-87.8) < 0.5
	})
	f.Eventually(time.Minute, "no node above its line", func(ctx context.Context) bool { return len(f.Hot(ctx, 65)) == 0 })
	const fewest = 3
	if got := f.Evictions(mark); got > fewest+1 {
		t.Errorf("%d evictions, the fewest possible are %d", got, fewest)
	}
	for _, eviction := range f.Granted(mark) {
		if !strings.HasPrefix(eviction.Pod, "hog-") {
			t.Errorf("%s was moved although its usage was not measured", eviction.Pod)
		}
	}
	t.Logf("evictions %d, fewest %d", f.Evictions(mark), fewest)
}

// On a small machine, system usage that is covered by the reserve does not count against the pods'
// share. Nothing is evicted, and explain reports how full the pods make the node.
//
//	node-0: 5 web × 90m = 450 of 940m = 47.9 %; with the system's 189m 639 of 2000m = 32 %, and 68 % of 940m, above the evict line
//
//e2e:tier all
func TestReserveCountsOnce(t *testing.T) {
	f := stage.New(t)
	nodes, err := f.AddNodes(t.Context(), 3, cluster.NodeTemplate{
		CPU: "2", Memory: "4Gi", Allocatable: cluster.Resources{CPU: "940m", Memory: "3Gi"}, OwnAddresses: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	full, others := nodes[0], nodes[1:]
	web := stage.Workload("web", cluster.Resources{CPU: "50m", Memory: "64Mi"}, cluster.Resources{CPU: "90m", Memory: "128Mi"})
	calm := stage.Workload("calm", cluster.Resources{CPU: "50m", Memory: "64Mi"}, cluster.Resources{CPU: "90m", Memory: "128Mi"})
	err = f.Cluster.Place(t.Context(), // metrics-server is not asked
		cluster.Placement{Workload: web, On: stage.On(5, full)},
		cluster.Placement{Workload: calm, On: stage.On(1, others...)})
	if err != nil {
		t.Fatal(err)
	}
	system := map[string]cluster.Amounts{}
	for _, node := range nodes {
		system[node] = cluster.Amounts{CPUMilli: 189, MemoryBytes: 600 << 20}
	}
	setting := startKubelets(t, f, exporters.KubeletsConfig{System: system})
	mark := f.Mark()
	f.Serve(f.Policy(loadPolicy("{type: Kubelet"+setting+"}", true)))
	f.Eventually(2*time.Minute, "nodes that could take pods", func(context.Context) bool { return f.Are("cool", others...) })
	wait(t, 25*time.Second) // longer than a hot node would remain untouched
	f.Eventually(10*time.Second, "the node explained as warm at 47.9 % of allocatable", func(ctx context.Context) bool {
		said, ok := explain(ctx, full)
		return ok && said.State == "warm" && math.Abs(said.cpu()-47.9) < 0.5 && said.Reserve.PercentOf == "allocatable"
	})
	if n := f.Evictions(mark); n != 0 {
		t.Errorf("%d evictions from a machine that is used for 32 %%", n)
	}
}

// A machine whose CPU is stolen by others gets no pods, however idle it looks.
//
//	node-0:         12 hog × 500m = 6 of 8 cores = 75 %; under 65 % (5.2) takes 2 off
//	node-1:          4 low × 400m = 1.6 of 8 cores = 20 %, the emptiest of all; 6.4 are stolen
//	node-2, node-3:  6 mid × 400m = 2.4 of 8 cores = 30 %
//
//e2e:tier all
func TestStolenCPUIsNotThere(t *testing.T) {
	f := stage.New(t)
	nodes, err := f.AddNodes(t.Context(), 4, cluster.NodeTemplate{CPU: "8", Memory: "32Gi", OwnAddresses: true})
	if err != nil {
		t.Fatal(err)
	}
	denied := nodes[1]
	if err := f.StealCPU(t.Context(), denied, "6400m"); err != nil {
		t.Fatal(err)
	}
	use := func(name, cpu string) cluster.Workload {
		return stage.Workload(name, cluster.Resources{CPU: "250m", Memory: "128Mi"}, cluster.Resources{CPU: cpu, Memory: "256Mi"})
	}
	err = f.Cluster.Place(t.Context(), // metrics-server is not asked
		cluster.Placement{Workload: use("hog", "500m"), On: stage.On(12, nodes[0])},
		cluster.Placement{Workload: use("low", "400m"), On: stage.On(4, denied)},
		cluster.Placement{Workload: use("mid", "400m"), On: stage.On(6, nodes[2:]...)})
	if err != nil {
		t.Fatal(err)
	}
	server := f.Prometheus(prometheus.Config{NodeExporter: true})
	mark := f.Mark()
	f.Serve(f.Policy(loadPolicy(prometheusSource(server.URL()), false)))
	f.Eventually(time.Minute, "the CPU that the machine is denied", func(ctx context.Context) bool {
		said, ok := explain(ctx, denied)
		return ok && math.Abs(float64(said.StolenMilliCores)-6400) < 200
	})
	f.Eventually(2*time.Minute, "no node above its line", func(ctx context.Context) bool { return len(f.Hot(ctx, 65)) == 0 })
	f.Eventually(20*time.Second, "every replacement ready", func(ctx context.Context) bool {
		return f.WaitReady(ctx, "shop", "hog") == nil && f.WaitReady(ctx, "shop", "low") == nil
	})
	for _, pod := range f.Pods(t.Context(), "hog") {
		if pod.Spec.NodeName == denied {
			t.Errorf("%s was moved to the machine that is denied its CPU", pod.Name)
		}
	}
	for _, move := range f.Moves() {
		if move.To == denied {
			t.Errorf("%s was to go to the machine that is denied its CPU", move.Pod)
		}
	}
	t.Logf("evictions %d", f.Evictions(mark))
}
