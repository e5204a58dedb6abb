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

// spiking replays three days of pods whose usage is constant except for spikes of five minutes.
// Each pod has a spike about every four hours, independently of the others.
func spiking(tb testing.TB, nodes int, meanCPU float64, seed uint64) sim.Result {
	tb.Helper()
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
	file := filepath.Join(tb.TempDir(), "spikes.cpu.csv")
	if err := os.WriteFile(file, []byte(table.String()+"\n"), 0o600); err != nil {
		tb.Fatal(err)
	}
	return simulated(tb, func(o *SimulateOptions) {
		o.Trace, o.Compare, o.Report = file, []string{"evenkeel"}, os.DevNull
		o.Shape.Nodes, o.Shape.MeanCPUPercent, o.Run.MeasureServed, o.Run.Seed = nodes, meanCPU, true, seed
	})["evenkeel"]
}

// Spikes are no reason to move pods. If no node is fuller than others in the long run, nodes are
// hot only for moments in which spikes coincide. BenchmarkSpikes measures larger and fuller fleets.
func TestSpikesThatCoincideMoveNoPod(t *testing.T) {
	got := spiking(t, 2, 40, 1)
	if got.Evictions > 0 {
		t.Errorf("%d evictions", got.Evictions)
	}
	if got.HotPercent == 0 {
		t.Error("no spikes coincide")
	}
}

// BenchmarkSpikes reports how many pods are moved because of spikes, as the mean of three seeds. If
// many spikes coincide for a quarter of an hour, a node that is fuller than others may appear to be
// hot for longer: nodes at 45 % and 50 % are hot up to 6 % of the time.
func BenchmarkSpikes(b *testing.B) {
	const seeds = 3
	for _, bc := range []struct {
		nodes   int
		meanCPU []float64
	}{{2, []float64{40}}, {5, []float64{45, 50}}} {
		b.Run(fmt.Sprintf("%d nodes", bc.nodes), func(b *testing.B) {
			var moved, hot float64
			for b.Loop() {
				moved, hot = 0, 0
				for _, meanCPU := range bc.meanCPU {
					for seed := range uint64(seeds) {
						got := spiking(b, bc.nodes, meanCPU, seed+1)
						moved, hot = moved+got.EvictionsPerPodAndDay, hot+got.HotPercent
					}
				}
			}
			runs := float64(seeds * len(bc.meanCPU))
			b.ReportMetric(moved/runs, "evictions/pod/day")
			b.ReportMetric(hot/runs, "%hot")
		})
	}
}
