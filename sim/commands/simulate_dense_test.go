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

// coolsWithin is in how many steps a crowded node is to be relieved: in half an hour.
const coolsWithin = 6

// A crowded node among empty ones is cooled within half an hour, whatever its pods
// cost and however many they are. Bounds of an hour are off: that of 5 % is at least
// 50 moves for all of a small cluster.
//
// It takes at most a tenth more evictions than the fewest, and never more than upstream.
func TestDenseNodesAreCooled(t *testing.T) {
	densities, loads, sigmas := []int{30, 60, 110, 250}, []float64{75, 85, 95, 110, 130}, []float64{0, 0.5, 1, 1.5}
	if testing.Short() {
		densities, loads, sigmas = []int{60, 250}, []float64{75, 110}, []float64{0, 1}
	}
	for _, kind := range sim.PodKinds {
		for _, sigma := range sigmas {
			for _, pods := range densities {
				for _, load := range loads {
					d := sim.DefaultDense()
					d.Pods, d.LoadPercent, d.Sigma, d.Kind = pods, load, sigma, kind
					t.Run(fmt.Sprintf("%s,sigma=%v,pods=%d,load=%v", kind, sigma, pods, load), func(t *testing.T) {
						coolsDense(t, d)
					})
				}
			}
		}
	}
}

// By the shipped bounds of an hour, 50 moves here, relief goes on hour by hour.
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

// coolsDense replays an hour of a crowded node.
func coolsDense(t *testing.T, d sim.Dense) {
	t.Helper()
	const line = 65
	unbounded := filepath.Join(t.TempDir(), "evenkeel")
	text := "apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\neviction: {maxMovesPerHour: 0, maxMovesPerHourOfOwner: 0}\n"
	if err := os.WriteFile(unbounded, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	results := simulated(t, func(o *SimulateOptions) {
		o.Generate, o.Dense, o.Compare, o.Report = "dense", d, []string{"upstream-metrics"}, os.DevNull
		o.Policies = []string{unbounded}
		o.Run.Steps, o.Run.WarmUp = 12, 1
	})
	got, upstream := results["evenkeel"], results["upstream-metrics"]
	fewest := fewestEvictions(t, d, line)
	cools := len(got.Usage)
	for step := len(got.Usage) - 1; step >= 0 && slices.Max(got.Usage[step]) <= line; step-- {
		cools = step
	}
	t.Logf("%d evictions, the fewest are %d, upstream makes %d; cool from minute %d on", got.Evictions, fewest, upstream.Evictions, 5*cools)
	if slices.Max(got.Usage[len(got.Usage)-1]) > line || cools > coolsWithin {
		t.Errorf("at the end a node is at %.1f%%; it is cool from minute %d on", slices.Max(got.Usage[len(got.Usage)-1]), 5*cools)
	}
	if most := min(fewest+fewest/10, upstream.Evictions); got.Evictions > most {
		t.Errorf("%d evictions, at most %d are wanted; the fewest are %d, upstream makes %d", got.Evictions, most, fewest, upstream.Evictions)
	}
}

// fewestEvictions returns how many of the largest pods have to leave the crowded node
// to bring it below a line.
func fewestEvictions(t *testing.T, d sim.Dense, line int64) (fewest int) {
	t.Helper()
	fleet, err := sim.NewDenseFleet(d)
	if err != nil {
		t.Fatal(err)
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
