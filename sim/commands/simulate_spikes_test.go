package commands

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/evenkeel/evenkeel/sim"
)

// spiking replays three days of pods that use the same all the time but for spikes of
// five minutes, each pod on its own about every four hours.
func spiking(t *testing.T, nodes int, meanCPU float64, seed uint64) sim.Result {
	t.Helper()
	const perNode, days, every, times, sigma = 20, 3, 48, 8, 0.3
	var table strings.Builder
	table.WriteString("id")
	for step := range days * stepsADay {
		fmt.Fprintf(&table, ",%d", step)
	}
	random := rand.New(rand.NewPCG(seed, uint64(nodes))) // reproducible on purpose
	for i := range nodes * perNode {
		fmt.Fprintf(&table, "\np%d", i)
		size, noise := 20*math.Exp(sigma*random.NormFloat64()), 0.0
		for range days * stepsADay {
			noise = 0.7*noise + 0.02*random.NormFloat64()
			used := size * (1 + noise)
			if random.IntN(every) == 0 {
				used *= times
			}
			table.WriteString("," + strconv.FormatFloat(used, 'f', 2, 64))
		}
	}
	file := filepath.Join(t.TempDir(), "spikes.cpu.csv")
	if err := os.WriteFile(file, []byte(table.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return simulated(t, func(o *SimulateOptions) {
		o.Trace, o.Compare, o.Report = file, []string{"evenkeel"}, os.DevNull
		o.Shape.Nodes, o.Shape.MeanCPUPercent, o.Run.MeasureServed, o.Run.Seed = nodes, meanCPU, true, seed
	})["evenkeel"]
}

// Spikes are no reason to move pods. Where many coincide for a quarter of an hour, a
// node that is fuller than others may be hot for longer, as far as one can see: on
// nodes at 45 % and 50 % that happens up to 6 % of the time, and of a hundred pods at
// most one is moved for it in a day.
func TestSpikesThatCoincideMoveHardlyAnyPod(t *testing.T) {
	const mostPerPodAndDay = 0.01
	for _, tc := range []struct {
		nodes   int
		meanCPU []float64
		most    float64 // evictions per pod and day, in the mean
	}{
		{2, []float64{40}, 0},
		{5, []float64{45, 50}, mostPerPodAndDay},
	} {
		t.Run(fmt.Sprintf("%d nodes", tc.nodes), func(t *testing.T) {
			sum, runs, hot := 0.0, 0, 0.0
			for _, meanCPU := range tc.meanCPU {
				for seed := range uint64(3) {
					got := spiking(t, tc.nodes, meanCPU, seed+1)
					t.Logf("at %v%%, seed %d: %d evictions, hot %.1f%%", meanCPU, seed+1, got.Evictions, got.HotPercent)
					sum, runs, hot = sum+got.EvictionsPerPodAndDay, runs+1, hot+got.HotPercent
				}
			}
			if hot == 0 {
				t.Error("no spikes coincide")
			}
			if mean := sum / float64(runs); mean > tc.most {
				t.Errorf("%.4f evictions per pod and day, want at most %v", mean, tc.most)
			}
		})
	}
}
