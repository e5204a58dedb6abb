// Package fairshare computes how much of a node's CPU each pod gets if the demand exceeds
// its capacity, by weighted max-min fairness.
//
// The kernel shares CPU among cgroups in this way: in proportion to their weights, and
// only among those that can use it (Control Group v2, 3-1 Weights). A pod's weight is its
// CPU request.
package fairshare

import (
	"cmp"
	"math"
	"slices"
)

// Claim is a pod's demand on a node.
type Claim struct {
	// Demand is in milli-cores. Weight is in any unit and above 0.
	Demand, Weight float64
	// Ran is the share of the time during which the pod had the demand.
	Ran float64
}

// Level returns the maximum CPU that a pod gets per unit of its weight, such that all CPU
// is used and no pod gets more than its demand; infinite if all pods get their demand. It
// sorts claims.
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
