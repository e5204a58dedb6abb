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

// bursting replays six generated days of bursts with each forecast, scored from the
// third day on, and returns the means over two seeds by forecast.
func bursting(t *testing.T, generate string) map[string]sim.Result {
	t.Helper()
	sums, files := map[string]sim.Result{}, map[string]string{}
	for _, forecast := range []string{"recurring", "lasting"} {
		files[forecast] = filepath.Join(t.TempDir(), forecast+".yaml")
		text := fmt.Sprintf("apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\neviction: {forecast: %s}\n", forecast)
		if err := os.WriteFile(files[forecast], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const seeds = 2
	for seed := range uint64(seeds) {
		results := simulated(t, func(o *SimulateOptions) {
			o.Generate, o.Run.Seed, o.Compare, o.Run.WarmUp = generate, seed+1, []string{"none"}, 2*288
			o.Recipe.Series, o.Shape.MeanCPUPercent = 1000, 45
			for _, file := range files {
				o.Policies = append(o.Policies, file)
			}
		})
		add := func(name, variant string) {
			r, played := results[variant]
			if !played {
				t.Fatalf("no %q among %v", variant, slices.Collect(maps.Keys(results)))
			}
			sum := sums[name]
			sum.HotPercent += r.HotPercent / seeds
			sum.EvictionsPerPodAndDay += r.EvictionsPerPodAndDay / seeds
			sums[name] = sum
		}
		add("alone", "none")
		for forecast, file := range files {
			add(forecast, filepath.Base(file))
		}
	}
	for name, sum := range sums {
		t.Logf("%s, %s: %.3f%% hot, %.4f evictions per pod and day", generate, name, sum.HotPercent, sum.EvictionsPerPodAndDay)
	}
	return sums
}

// Bursts at the same hour of each day are relieved ahead from the third day on, for
// no more than one eviction of 20 pods a day. Bursts at any hour cost no more
// evictions for it. What it brings on larger fleets is in docs/tuning.md.
func TestDailyBurstsAreRelievedAhead(t *testing.T) {
	if testing.Short() {
		t.Skip("it replays six days, 12 times")
	}
	daily := bursting(t, "daily-bursts")
	got, lasting, alone := daily["recurring"].HotPercent, daily["lasting"].HotPercent, daily["alone"].HotPercent
	if got > alone/10 || got > lasting/2 {
		t.Errorf("with relief ahead nodes are hot for %.3f%% of the time, without %.3f%%, alone %.3f%%; want at most half, and a tenth", got, lasting, alone)
	}
	if got := daily["recurring"].EvictionsPerPodAndDay; got > 0.05 {
		t.Errorf("%.4f evictions per pod and day, want at most 0.05", got)
	}
	random := bursting(t, "random-bursts")
	if got, without := random["recurring"].EvictionsPerPodAndDay, random["lasting"].EvictionsPerPodAndDay; got > without+0.005 {
		t.Errorf("where nothing recurs %.4f evictions per pod and day, without relief ahead %.4f", got, without)
	}
	if got, without := random["recurring"].HotPercent, random["lasting"].HotPercent; got > without*1.1+0.05 {
		t.Errorf("where nothing recurs nodes are hot for %.3f%% of the time, without relief ahead %.3f%%", got, without)
	}
}
