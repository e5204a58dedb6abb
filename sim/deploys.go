package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
)

// maxDeploysPerDay is the maximum number of deploys of an owner per day.
const maxDeploysPerDay = 288

// deploys returns the deploys of a run in time order: the fleet's own, plus perDay for
// each owner at random times. They are the same whichever variant evicts.
func deploys(fleet *Fleet, perDay float64, steps int, seed uint64) []Deploy {
	end := time.Duration(steps) * Step
	random := rand.New(rand.NewPCG(seed, 3)) // intentionally reproducible
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
