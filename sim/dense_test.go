package sim_test

import (
	"math"
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/sim"
)

// Whatever their sizes, the pods of a dense fleet together request the intended amount, on the
// nodes that should be hot and on no others.
func TestDenseFleet(t *testing.T) {
	for _, kind := range sim.PodKinds {
		for _, sigma := range []float64{0, 1.5} {
			d := sim.DefaultDense()
			d.Kind, d.Sigma, d.HotNodes, d.LoadPercent, d.Steps = kind, sigma, 2, 110, 3
			fleet, err := sim.NewDenseFleet(d)
			if err != nil {
				t.Fatal(err)
			}
			var least, most int64 = math.MaxInt64, 0
			for i := range fleet.Replicas {
				used := fleet.Replicas[i].Demand(1)[cluster.CPU]
				least, most = min(least, used), max(most, used)
			}
			if sigma == 0 && most > least || sigma > 0 && most < 10*least {
				t.Errorf("%s, sigma %v: pods use %d to %d milli-cores", kind, sigma, least, most)
			}
			none := played(t, fleet, sim.Variant{Name: "none"})[0]
			for node, got := range none.Usage[2] {
				want := 0.0
				if node < d.HotNodes {
					want = d.LoadPercent
				}
				if math.Abs(got-want) > 0.2 {
					t.Errorf("%s, sigma %v: requests on node %d are %.1f%%, want %v%%", kind, sigma, node, got, want)
				}
			}
		}
	}
}

func TestDenseFleetRefuses(t *testing.T) {
	for name, change := range map[string]func(*sim.Dense){
		"no cool node":       func(d *sim.Dense) { d.Nodes = 1 },
		"no hot node":        func(d *sim.Dense) { d.HotNodes = 0 },
		"no pods":            func(d *sim.Dense) { d.Pods = 0 },
		"no load":            func(d *sim.Dense) { d.LoadPercent = 0 },
		"a load without end": func(d *sim.Dense) { d.LoadPercent = math.Inf(1) },
		"no sigma":           func(d *sim.Dense) { d.Sigma = math.NaN() },
		"unknown pods":       func(d *sim.Dense) { d.Kind = "odd" },
		"no replicas":        func(d *sim.Dense) { d.ReplicasPerOwner = 0 },
		"no steps":           func(d *sim.Dense) { d.Steps = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			d := sim.DefaultDense()
			change(&d)
			if fleet, err := sim.NewDenseFleet(d); err == nil {
				t.Errorf("made %d nodes", fleet.Nodes)
			}
		})
	}
}
