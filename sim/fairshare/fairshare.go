// Package fairshare says what each pod gets of a node's CPU that is asked for
// more than it has: max-min fairness by weights. It is pure.
//
// So the kernel shares out CPU among cgroups: in proportion to their weights,
// among those only that can make use of it (Control Group v2, 3-1 Weights), and
// the weight of a pod is its CPU request.
package fairshare

import (
	"cmp"
	"math"
	"slices"
)

// Claim is what a pod asks of a node.
type Claim struct {
	// Demand is in milli-cores, Weight in any unit above 0.
	Demand, Weight float64
	// Ran is the share of the time in which it asked.
	Ran float64
}

// Level returns the most that a pod gets for each unit of its weight, so that
// all is given away and nobody gets more than they ask for; infinite where all
// get that. It sorts claims.
func Level(claims []Claim, milliCores float64) float64 {
	slices.SortFunc(claims, func(a, b Claim) int { return cmp.Compare(a.Demand/a.Weight, b.Demand/b.Weight) })
	left, weight := max(milliCores, 0), 0.0
	for _, c := range claims {
		weight += c.Weight * c.Ran
	}
	for _, c := range claims {
		if c.Demand*weight > left*c.Weight {
			return left / weight
		}
		left, weight = left-c.Demand*c.Ran, weight-c.Weight*c.Ran
	}
	return math.Inf(1)
}
