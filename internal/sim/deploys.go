package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
)

// mostDeploys bounds how often a day an owner is deployed.
const mostDeploys = 288

// deploys are those of a run, in the order of their times: what the fleet says,
// and perDay more of each owner by lot. They are the same whoever evicts.
func deploys(fleet *Fleet, perDay float64, steps int, seed uint64) []Deploy {
	end := time.Duration(steps) * Step
	random := rand.New(rand.NewPCG(seed, 3)) // reproducible on purpose
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
