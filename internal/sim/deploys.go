package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/internal/sim/trace"
)

// Deploy says that an owner gets another version: all its pods are made anew, a few at a time, as a Deployment does it.
type Deploy struct {
	Owner int
	// At is how long after the beginning.
	At time.Duration
}

// mostDeploys bounds how often a day an owner is deployed.
const mostDeploys = 288

// deploysOf tells when the owners of a fleet are deployed, by what a trace knows of the series of their first replicas.
func deploysOf(shape *Shape, pods int, cpu *trace.Trace) (all []Deploy) {
	steps := cpu.Steps()
	for _, d := range cpu.Deploys {
		for i := 0; i < pods; i += shape.ReplicasPerOwner {
			series, shift := i%len(cpu.Series), i/len(cpu.Series)*apart
			if series < d.First || series >= d.First+d.Count {
				continue
			}
			step := ((d.Step-shift)%steps + steps) % steps
			all = append(all, Deploy{Owner: i / shape.ReplicasPerOwner, At: time.Duration(step) * Step})
		}
	}
	return all
}

// deploys are those of a run, in the order of their times: what the fleet says, and perDay more of each owner by lot. They are the
// same whoever evicts.
func deploys(fleet *Fleet, perDay float64, steps int, seed uint64) []Deploy {
	end := time.Duration(steps) * Step
	random := rand.New(rand.NewPCG(seed, 3)) //nolint:gosec // reproducible on purpose
	all := make([]Deploy, 0, len(fleet.Deploys))
	for _, d := range fleet.Deploys {
		d.At += time.Duration(random.Int64N(int64(Step)))
		if d.At < end {
			all = append(all, d)
		}
	}
	if perDay > 0 {
		for owner := range fleet.Owners {
			between := func() time.Duration { return time.Duration(random.ExpFloat64() / perDay * float64(24*time.Hour)) }
			for at := between(); at < end; at += max(1, between()) {
				all = append(all, Deploy{Owner: owner, At: at})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Deploy) int { return cmp.Compare(a.At, b.At) })
	return all
}
