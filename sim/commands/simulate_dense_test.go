package commands

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/sim"
)

// A crowded node among empty ones must be cooled within half an hour, however expensive its pods
// are and however many there are, with at most a tenth more evictions than the minimum.
const (
	denseLine      = 65
	denseMinutes   = 30
	densePerFewest = 1.1
	densePerRival  = 1
	minutesPerStep = 5
	stepsAnHour    = 12
)

var (
	densities   = []int{30, 60, 110, 250}
	denseLoads  = []float64{75, 85, 95, 110, 130}
	denseSigmas = []float64{0, 0.5, 1, 1.5}
)

// There is one case for each density and load, with alternating kinds and sizes of pods.
// BenchmarkDenseNodes plays all combinations.
func TestDenseNodesAreCooled(t *testing.T) {
	for i, pods := range densities {
		for j, load := range denseLoads {
			d := denseFleet(sim.PodKinds[(i+2*j)%len(sim.PodKinds)], denseSigmas[(i+j)%len(denseSigmas)], pods, load)
			t.Run(denseName(d), func(t *testing.T) {
				if got := playDense(t, d); got.missed() {
					t.Error(got)
				}
			})
		}
	}
}

// BenchmarkDenseNodes plays each kind of pods with each distribution of sizes, density and load,
// and reports the worst case of each kind.
func BenchmarkDenseNodes(b *testing.B) {
	for _, kind := range sim.PodKinds {
		b.Run(string(kind), func(b *testing.B) {
			var minutes, perFewest, perRival float64
			for b.Loop() {
				for _, sigma := range denseSigmas {
					for _, pods := range densities {
						for _, load := range denseLoads {
							d := denseFleet(kind, sigma, pods, load)
							got := playDense(b, d)
							if got.missed() {
								b.Logf("%s: %s", denseName(d), got)
							}
							minutes = max(minutes, float64(got.minutes))
							perFewest = max(perFewest, float64(got.evictions)/float64(got.fewest))
							perRival = max(perRival, float64(got.evictions)/float64(got.rival))
						}
					}
				}
			}
			b.ReportMetric(minutes, "minutes")
			b.ReportMetric(perFewest, "of-fewest")
			b.ReportMetric(perRival, "of-upstream's")
		})
	}
}

func denseFleet(kind sim.PodKind, sigma float64, pods int, load float64) sim.Dense {
	d := sim.DefaultDense()
	d.Pods, d.LoadPercent, d.Sigma, d.Kind = pods, load, sigma, kind
	return d
}

func denseName(d sim.Dense) string {
	return fmt.Sprintf("%s,sigma=%v,pods=%d,load=%v", d.Kind, d.Sigma, d.Pods, d.LoadPercent)
}

// With the shipped hourly limits, which allow 50 moves here, relief continues hour after hour.
func TestDenseNodesAreCooledAtTheirPace(t *testing.T) {
	const pods, load, line, perHour = 250, 130, 65, 50
	got := simulated(t, func(o *SimulateOptions) {
		o.Generate, o.Compare, o.Report, o.Run.Steps = "dense", []string{"evenkeel"}, os.DevNull, 40
		o.Dense.Pods, o.Dense.LoadPercent = pods, load
	})["evenkeel"]
	for hour := range 3 {
		moves := 0
		for _, n := range got.EvictionsAt[12*hour+1 : 12*hour+13] {
			moves += n
		}
		if moves > perHour || hour < 2 && moves < perHour {
			t.Errorf("%d moves in hour %d, where %d may be made", moves, hour, perHour)
		}
	}
	if fewest := pods / 2; got.Evictions > fewest+fewest/10 {
		t.Errorf("%d evictions, the fewest are %d", got.Evictions, fewest)
	}
	if end := got.Usage[len(got.Usage)-1]; slices.Max(end) > line {
		t.Errorf("a node is at %.1f%% after three hours", slices.Max(end))
	}
}

// denseResult is the result of replaying an hour of a crowded node.
type denseResult struct {
	// minutes is when the last node above the line was cooled.
	minutes int
	// fewest is the minimum number of evictions, and rival the number that upstream's plugin makes.
	evictions, fewest, rival int
}

func (r denseResult) missed() bool {
	return r.minutes > denseMinutes || float64(r.evictions) > densePerFewest*float64(r.fewest) || r.evictions > densePerRival*r.rival
}

func (r denseResult) String() string {
	return fmt.Sprintf("cool after %d minutes, at most %d are allowed; %d evictions, the fewest are %d and upstream makes %d", r.minutes, denseMinutes, r.evictions, r.fewest, r.rival)
}

// playDense replays an hour of a crowded node. Hourly limits are turned off, because in a small
// cluster the shipped limit of 5 % allows at least 50 moves.
func playDense(tb testing.TB, d sim.Dense) denseResult {
	tb.Helper()
	unbounded := filepath.Join(tb.TempDir(), "evenkeel")
	text := "apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\neviction: {maxMovesPerHour: 0, maxMovesPerHourOfOwner: 0}\n"
	if err := os.WriteFile(unbounded, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	results := simulated(tb, func(o *SimulateOptions) {
		o.Generate, o.Dense, o.Compare, o.Report = "dense", d, []string{"upstream-metrics"}, os.DevNull
		o.Policies = []string{unbounded}
		o.Run.Steps, o.Run.WarmUp = stepsAnHour, 1
	})
	usage := results["evenkeel"].Usage
	cool := len(usage)
	for cool > 0 && slices.Max(usage[cool-1]) <= denseLine {
		cool--
	}
	return denseResult{
		minutes: minutesPerStep * cool, evictions: results["evenkeel"].Evictions,
		fewest: fewestEvictions(tb, d, denseLine), rival: results["upstream-metrics"].Evictions,
	}
}

// fewestEvictions returns how many of the largest pods must leave the crowded node until it is
// below a line.
func fewestEvictions(tb testing.TB, d sim.Dense, line int64) (fewest int) {
	tb.Helper()
	fleet, err := sim.NewDenseFleet(d)
	if err != nil {
		tb.Fatal(err)
	}
	var sizes []int64
	above := -fleet.Capacity[cluster.CPU] * line / 100
	for i := range fleet.Replicas {
		used := fleet.Replicas[i].Demand(0)[cluster.CPU]
		sizes = append(sizes, used)
		above += used
	}
	slices.Sort(sizes)
	for _, used := range slices.Backward(sizes) {
		if above <= 0 {
			break
		}
		above -= used
		fewest++
	}
	return fewest
}
