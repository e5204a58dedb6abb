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

// stepsADay is the number of five-minute steps in a day.
const stepsADay = 288

// onFewNodes replays pods of log-normal sizes, 20 per node, whose usage varies around its mean.
// With waves, it also follows a daily wave.
func onFewNodes(tb testing.TB, nodes, days int, meanCPU, varies float64, waves bool, change ...func(*SimulateOptions)) map[string]sim.Result {
	tb.Helper()
	const perNode, sigma, keeps = 20, 0.7, 0.7
	var table strings.Builder
	table.WriteString("id")
	for step := range days * stepsADay {
		fmt.Fprintf(&table, ",%d", step)
	}
	random := rand.New(rand.NewPCG(uint64(nodes), 9)) // reproducible on purpose
	for i := range nodes * perNode {
		fmt.Fprintf(&table, "\np%d", i)
		size, noise, phase := 20*math.Exp(sigma*random.NormFloat64()), 0.0, random.Float64()
		for step := range days * stepsADay {
			noise = keeps*noise + varies*random.NormFloat64()
			used := size * math.Exp(noise)
			if waves {
				used *= 1 + 0.6*math.Sin(2*math.Pi*(float64(step)/stepsADay+phase))
			}
			table.WriteString("," + strconv.FormatFloat(min(used, 1000), 'f', 2, 64))
		}
	}
	file := filepath.Join(tb.TempDir(), "few.cpu.csv")
	if err := os.WriteFile(file, []byte(table.String()+"\n"), 0o600); err != nil {
		tb.Fatal(err)
	}
	return simulated(tb, func(o *SimulateOptions) {
		o.Trace, o.Compare, o.Report = file, []string{"none", "evenkeel"}, os.DevNull
		o.Shape.Nodes, o.Shape.MeanCPUPercent, o.Run.MeasureServed = nodes, meanCPU, true
		for _, c := range change {
			c(o)
		}
	})
}

// fewPerPodAndDay is how many evictions per pod and day are allowed on few nodes.
const fewPerPodAndDay = 0.2

// fewUsages are ways in which pods vary.
var fewUsages = map[string]struct {
	varies float64
	waves  bool
}{"steady": {0.02, false}, "waves": {0.02, true}, "noise": {0.3, false}}

// On few nodes, pods do not move back and forth, whether cool nodes have space or all nodes are
// busy. If usage is steady, nothing moves after the first day. If usage varies a lot and nodes are
// nearly full, few pods move, and none returns within an hour. BenchmarkFewNodes plays more nodes
// and days.
func TestFewNodesComeToRest(t *testing.T) {
	evictions := 0
	for _, meanCPU := range []float64{60, 95} {
		for name, usage := range fewUsages {
			t.Run(fmt.Sprintf("2 nodes at %v%%, %s", meanCPU, name), func(t *testing.T) {
				got := onFewNodes(t, 2, 3, meanCPU, usage.varies, usage.waves)["evenkeel"]
				evictions += got.Evictions
				t.Logf("%d evictions, hot %.1f%%, unserved %.2f%%", got.Evictions, got.HotPercent, got.UnservedPercent)
				if got.Boomerangs > 0 || got.EvictionsPerPodAndDay > fewPerPodAndDay {
					t.Errorf("%d pods came back; %.2f evictions per pod and day", got.Boomerangs, got.EvictionsPerPodAndDay)
				}
				if late := afterTheFirstDay(got); name == "steady" && late > 0 {
					t.Errorf("%d moves after the first day", late)
				}
			})
		}
	}
	if evictions == 0 {
		t.Error("nothing moves at all")
	}
}

// BenchmarkFewNodes plays six days on 2, 3 and 5 nodes, and reports the worst case.
func BenchmarkFewNodes(b *testing.B) {
	for name, usage := range fewUsages {
		b.Run(name, func(b *testing.B) {
			var back, late, perPodAndDay float64
			for b.Loop() {
				for _, nodes := range []int{2, 3, 5} {
					for _, meanCPU := range []float64{60, 95} {
						got := onFewNodes(b, nodes, 6, meanCPU, usage.varies, usage.waves)["evenkeel"]
						b.Logf("%d nodes at %v%%: %d evictions, %d of pods that came back, %d after the first day", nodes, meanCPU, got.Evictions, got.Boomerangs, afterTheFirstDay(got))
						back, late = max(back, float64(got.Boomerangs)), max(late, float64(afterTheFirstDay(got)))
						perPodAndDay = max(perPodAndDay, got.EvictionsPerPodAndDay)
					}
				}
			}
			b.ReportMetric(back, "came-back")
			b.ReportMetric(late, "after-a-day")
			b.ReportMetric(perPodAndDay, "evictions/pod/day")
		})
	}
}

func afterTheFirstDay(r sim.Result) (moves int) {
	for _, n := range r.EvictionsAt[min(stepsADay+1, len(r.EvictionsAt)):] {
		moves += n
	}
	return moves
}

// No node is cool, and the demand for CPU on one node exceeds its capacity. One or two moves leave
// hardly any demand unserved, and no pod moves back.
func TestAFullNodeAmongBusyOnesIsRelieved(t *testing.T) {
	for name, tc := range map[string]struct {
		nodes           int
		meanCPU, varies float64
		most            float64 // of the demand that stays unserved if nothing moves
	}{
		"3 nodes, steady":          {3, 85, 0.02, 0.05},
		"3 nodes":                  {3, 85, 0.1, 0.05},
		"3 nodes, hardly any room": {3, 95, 0.1, 0.3},
		"4 nodes, hardly any room": {4, 95, 0.1, 0.5},
	} {
		t.Run(name, func(t *testing.T) {
			const days = 3
			results := onFewNodes(t, tc.nodes, days, tc.meanCPU, tc.varies, false)
			idle, got := results["none"], results["evenkeel"]
			t.Logf("unserved %.3f%% without moves, %.3f%% with %d; the busiest node %.0f%% and %.0f%%",
				idle.UnservedPercent, got.UnservedPercent, got.Evictions, idle.PeakCPUPercent, got.PeakCPUPercent)
			if idle.UnservedPercent < 1 || got.UnservedPercent > tc.most*idle.UnservedPercent {
				t.Errorf("%.3f%% of %.3f%% stays unserved, want at most %.0f%% of it", got.UnservedPercent, idle.UnservedPercent, 100*tc.most)
			}
			if got.PeakCPUPercent >= idle.PeakCPUPercent {
				t.Errorf("the demand on the busiest node is %.0f%%, and %.0f%% without moves", got.PeakCPUPercent, idle.PeakCPUPercent)
			}
			if got.Evictions == 0 || got.Evictions > 2 || got.Boomerangs > 0 {
				t.Errorf("%d evictions, %d of pods that came back; want 1 or 2, and none", got.Evictions, got.Boomerangs)
			}
		})
	}
}

// A node that stays full is relieved once it is known to stay so, although nothing shows the demand
// of its pods. That takes a few moves, and no pod moves back. It works even if the usage of some
// pods is never reported, or samples are lost. Without any usage of pods, nothing moves.
func TestNodesThatStayFullAreRelieved(t *testing.T) {
	for name, tc := range map[string]struct {
		hidden, lost float64
		most         float64 // of the demand that stays unserved if nothing moves
		moves        bool
	}{
		"all is reported":      {most: 0.25, moves: true},
		"some pods are hidden": {hidden: 30, most: 0.75, moves: true},
		"samples are lost":     {lost: 20, most: 0.5, moves: true},
		"all pods are hidden":  {hidden: 100, most: 1},
	} {
		t.Run(name, func(t *testing.T) {
			results := onFewNodes(t, 2, 2, 95, 0.02, false, func(o *SimulateOptions) {
				o.Run.Blind.HiddenPodsPercent, o.Run.Blind.LostSamplesPercent = tc.hidden, tc.lost
			})
			idle, got := results["none"], results["evenkeel"]
			t.Logf("unserved %.3f%% without moves, %.3f%% with %d", idle.UnservedPercent, got.UnservedPercent, got.Evictions)
			if idle.UnservedPercent < 1 || got.UnservedPercent > tc.most*idle.UnservedPercent {
				t.Errorf("%.3f%% of %.3f%% stays unserved, want at most %.0f%% of it", got.UnservedPercent, idle.UnservedPercent, 100*tc.most)
			}
			if moves := got.Evictions > 0; moves != tc.moves || got.Evictions > 4 || got.Boomerangs > 0 {
				t.Errorf("%d evictions, %d of pods that came back; want at most 4, and none", got.Evictions, got.Boomerangs)
			}
		})
	}
}
