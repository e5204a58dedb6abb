package handshake

import (
	"slices"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// With 200 nodes, kube-scheduler considers about half of them per pod by default, so half of the
// planned nodes are missing from the request for their replacement. The replacement lands on the
// planned node or on the cool one that was reserved instead.
//
//	hot node:   14 hog × 2200m = 30.8 of 32 cores = 96.3 %; requests 14 × 250m = 3.5 cores; under 65 % takes 5 hogs off
//	other node:  2 bg × 1200m =   2.4 of 32 cores =  7.5 %; requests  2 × 8    =  16 cores
func TestSampledNodes(t *testing.T) {
	const all, burning, fewest = 200, 6, 30
	fixed := stage.New(t)
	nodes, err := fixed.AddNodes(t.Context(), all, cluster.NodeTemplate{CPU: "32", Memory: "256Gi"})
	if err != nil {
		t.Fatal(err)
	}
	hot, others := nodes[:burning], nodes[burning:]
	hog := stage.Workload("hog", cluster.Resources{CPU: "250m", Memory: "128Mi"}, cluster.Resources{CPU: "2200m", Memory: "256Mi"})
	bg := stage.Workload("bg", cluster.Resources{CPU: "8", Memory: "128Mi"}, cluster.Resources{CPU: "1200m", Memory: "256Mi"})
	err = fixed.Place(t.Context(),
		cluster.Placement{Workload: hog, On: stage.On(14, hot...)},
		cluster.Placement{Workload: bg, On: stage.On(2, others...)})
	if err != nil {
		t.Fatal(err)
	}
	serving, metrics := fixed.FreeAddress(), fixed.FreeAddress()
	f := begin(fixed, serving)
	f.Serve(f.Policy(stage.RealUsage, stage.Fast), "--listen-address", serving, "--metrics-address", metrics)
	f.waitCool(3 * time.Minute)
	f.waitSettled(serving, metrics, 2, "hog", "bg")

	moves, _ := f.Ledger(serving)
	result := f.judge(moves)
	if result.Evictions > fewest+1 {
		t.Errorf("%d evictions, the fewest possible are %d", result.Evictions, fewest)
	}
	if result.OnPlan+result.Rebooked != result.Landed {
		t.Errorf("%d on plan and %d rebooked of %d, want all", result.OnPlan, result.Rebooked, result.Landed)
	}
	if result.Rebooked == 0 {
		t.Error("every planned node was in the request: the case was not put to the test")
	}
	for _, came := range f.history.newcomers() {
		if slices.Contains(hot, came.node) {
			t.Errorf("pod %s landed on the hot node %s", came.name, came.node)
		}
	}
	f.wantBelow(rejectLine, others...)
}

// wantBelow checks that the nodes have never been above a line, by true usage, in percent of 32
// cores.
func (f *fixture) wantBelow(line float64, nodes ...string) {
	f.T.Helper()
	const coresMilli = 32_000
	peaks, highest := f.history.peaks(), 0.0
	for _, node := range nodes {
		percent := 100 * float64(peaks[node]) / coresMilli
		highest = max(highest, percent)
		if percent > line {
			f.T.Errorf("node %s was at %.1f %% of CPU, above %v %%", node, percent, line)
		}
	}
	f.T.Logf("highest usage of a destination at any time: %.1f %%", highest)
}
