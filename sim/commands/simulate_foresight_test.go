package commands

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/evenkeel/evenkeel/sim"
)

// bursting replays six generated days of bursts with each forecast. It returns, by forecast, the
// means over the seeds 1 to seeds, scored from the third day on.
func bursting(tb testing.TB, generate string, series int, meanCPU float64, seeds uint64) map[string]sim.Result {
	tb.Helper()
	sums, files := map[string]sim.Result{}, map[string]string{}
	for _, forecast := range []string{"recurring", "lasting"} {
		files[forecast] = filepath.Join(tb.TempDir(), forecast+".yaml")
		text := fmt.Sprintf("apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\neviction: {forecast: %s}\n", forecast)
		if err := os.WriteFile(files[forecast], []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	for seed := range seeds {
		results := simulated(tb, func(o *SimulateOptions) {
			o.Generate, o.Run.Seed, o.Compare, o.Run.WarmUp = generate, seed+1, []string{"none"}, 2*stepsADay
			o.Recipe.Series, o.Shape.MeanCPUPercent = series, meanCPU
			for _, file := range files {
				o.Policies = append(o.Policies, file)
			}
		})
		add := func(name, variant string) {
			r, played := results[variant]
			if !played {
				tb.Fatalf("no %q among %v", variant, slices.Collect(maps.Keys(results)))
			}
			sum := sums[name]
			sum.HotPercent += r.HotPercent / float64(seeds)
			sum.EvictionsPerPodAndDay += r.EvictionsPerPodAndDay / float64(seeds)
			sums[name] = sum
		}
		add("alone", "none")
		for forecast, file := range files {
			add(forecast, filepath.Base(file))
		}
	}
	for name, sum := range sums {
		tb.Logf("%s, %s: %.3f%% hot, %.4f evictions per pod and day", generate, name, sum.HotPercent, sum.EvictionsPerPodAndDay)
	}
	return sums
}

// Bursts at the same hour of each day are relieved ahead of time from the third day on.
// BenchmarkBursts measures the effect and its cost. This test has only a fifth of its nodes, where
// one pod that moves or stays decides the outcome.
func TestDailyBurstsAreRelievedAhead(t *testing.T) {
	daily := bursting(t, "daily-bursts", 1000, 45, 1)
	got, lasting, alone := daily["recurring"].HotPercent, daily["lasting"].HotPercent, daily["alone"].HotPercent
	if got > alone/4 || got > lasting*2/3 {
		t.Errorf("with relief ahead nodes are hot for %.3f%% of the time, without %.3f%%, alone %.3f%%; want at most two thirds, and a quarter", got, lasting, alone)
	}
	if got := daily["recurring"].EvictionsPerPodAndDay; got > 0.05 {
		t.Errorf("%.4f evictions per pod and day, want at most 0.05", got)
	}
}

// BenchmarkBursts compares relief ahead of time with relief of lasting load, for bursts at the same
// hour of each day and for bursts at any hour, which cannot be predicted.
func BenchmarkBursts(b *testing.B) {
	for _, generate := range []string{"daily-bursts", "random-bursts"} {
		b.Run(generate, func(b *testing.B) {
			var sums map[string]sim.Result
			for b.Loop() {
				sums = bursting(b, generate, 1000, 45, 2)
			}
			ahead, lasting, alone := sums["recurring"], sums["lasting"], sums["alone"]
			b.ReportMetric(ahead.HotPercent/alone.HotPercent, "of-alone")
			b.ReportMetric(ahead.HotPercent/lasting.HotPercent, "of-lasting")
			b.ReportMetric(ahead.HotPercent-lasting.HotPercent*1.1, "points-more")
			b.ReportMetric(ahead.EvictionsPerPodAndDay, "evictions/pod/day")
			b.ReportMetric(ahead.EvictionsPerPodAndDay-lasting.EvictionsPerPodAndDay, "evictions/pod/day-more")
		})
	}
}

// BenchmarkRecordedDays plays three recorded days of PlanetLab with the defaults. The environment
// variable EVENKEEL_TRACES names the folder of the traces.
func BenchmarkRecordedDays(b *testing.B) {
	for _, day := range []string{"20110303", "20110306", "20110325"} {
		b.Run(day, func(b *testing.B) {
			file := filepath.Join(os.Getenv("EVENKEEL_TRACES"), "planetlab-"+day+".cpu.csv.gz")
			if _, err := os.Stat(file); err != nil {
				b.Skip("no recorded traces in EVENKEEL_TRACES")
			}
			var got sim.Result
			for b.Loop() {
				got = simulated(b, func(o *SimulateOptions) { o.Trace, o.Run.Steps, o.Compare = file, 0, []string{"evenkeel"} })["evenkeel"]
			}
			b.ReportMetric(got.CPUDeviation, "deviation")
			b.ReportMetric(got.HotPercent, "%hot")
			b.ReportMetric(got.EvictionsPerPodAndDay, "evictions/pod/day")
		})
	}
}
