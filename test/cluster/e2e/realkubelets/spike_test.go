package realkubelets

import (
	"strings"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/kubelets"
)

// spikePolicy is Fast with the shipped windows and number of samples, by which a spike is
// told from lasting load.
var spikePolicy = strings.NewReplacer(
	"windows: [avg_5m]", "windows: [avg_5m, p50_5m, avg_15m]", "consecutiveSamples: 2", "consecutiveSamples: 3", "minWindow: 15s", "minWindow: 60s",
	"observationPeriod: 25s", "observationPeriod: 60s",
).Replace(stage.Fast)

// A spike of real CPU use that takes the whole node evicts nothing.
//
//	node 1: 3 burst × 70m = 210 of 500m = 42 %; during the spike of 40 s they want 570m
//	node 2: 1 calm × 30m
//
//e2e:tier all
func TestRealSpikeEvictsNothing(t *testing.T) {
	f, nodes := stage.NewWithKubelets(t, 2)
	const spikeAfter, spikeLasts = 110 * time.Second, 40 * time.Second
	burst := burning("burst", cluster.Resources{CPU: "20m", Memory: "32Mi"}, kubelets.Burn{
		MilliCPU: 70, MemoryMiB: 30, SpikeMilliCPU: 120, SpikeAfter: spikeAfter, SpikeLasts: spikeLasts,
	})
	calm := burning("calm", cluster.Resources{CPU: "30m", Memory: "32Mi"}, kubelets.Burn{MilliCPU: 30, MemoryMiB: 30})
	began := time.Now()
	err := f.Place(t.Context(), cluster.Placement{Workload: burst, On: stage.On(3, nodes[0].Name)}, cluster.Placement{Workload: calm, On: stage.On(1, nodes[1].Name)})
	if err != nil {
		t.Fatal(err)
	}
	mark := f.Mark()
	f.Serve(f.Policy(stage.RealUsage, spikePolicy))
	var highest, mean float64
	for end := began.Add(spikeAfter + spikeLasts + 30*time.Second); time.Now().Before(end); {
		var all []struct {
			Name, State string
			Used        map[string]struct{ CPU float64 }
		}
		fetch(f, "/nodes", &all)
		for _, node := range all {
			if node.State == "hot" {
				t.Fatalf("%s is hot: %v", node.Name, node.Used)
			}
			highest, mean = max(highest, node.Used["last"].CPU), max(mean, node.Used["avg_5m"].CPU)
		}
		pause(t, time.Second)
	}
	if n := f.Evictions(mark); n != 0 {
		t.Errorf("%d evictions for a spike of %v", n, spikeLasts)
	}
	if highest < evictLine {
		t.Errorf("the highest sample was %.0f %%: no spike", highest)
	}
	t.Logf("figures: highest sample %.0f %%, highest mean of five minutes %.0f %%", highest, mean)
}

// pause lets the cluster work on its own for a while.
func pause(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-t.Context().Done():
		t.Fatal("the case was stopped")
	case <-timer.C:
	}
}
