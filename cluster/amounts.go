package cluster

import (
	"fmt"
	"math"
	"slices"
)

// Resource is a kind of usage that Evenkeel balances.
type Resource uint8

// The resources, in the order in which Amounts holds them.
const (
	CPU Resource = iota
	Memory
	NumResources
)

// Resources lists every Resource in order.
func Resources() [NumResources]Resource { return [NumResources]Resource{CPU, Memory} }

// String returns the Kubernetes name of the resource.
func (r Resource) String() string {
	switch r {
	case CPU:
		return "cpu"
	case Memory:
		return "memory"
	}
	return "unknown"
}

// Amounts holds one amount per Resource: CPU in milli-cores, Memory in bytes.
type Amounts [NumResources]int64

// Plus returns the sum of a and b.
func (a Amounts) Plus(b Amounts) Amounts {
	for r := range a {
		a[r] += b[r]
	}
	return a
}

// Minus returns a-b, which may be negative.
func (a Amounts) Minus(b Amounts) Amounts {
	for r := range a {
		a[r] -= b[r]
	}
	return a
}

// Exceeds reports whether any amount is above the corresponding limit.
func (a Amounts) Exceeds(limits Amounts) bool {
	for r := range a {
		if a[r] > limits[r] {
			return true
		}
	}
	return false
}

// AtLeastZero returns a with negative amounts raised to zero.
func (a Amounts) AtLeastZero() Amounts {
	for r := range a {
		a[r] = max(a[r], 0)
	}
	return a
}

// PercentOf returns each amount as a percentage of the corresponding amount of
// whole. If the latter is not positive, any usage counts as full (100), and no
// usage as empty (0).
func (a Amounts) PercentOf(whole Amounts) Percents {
	var p Percents
	for r := range a {
		switch {
		case whole[r] > 0:
			p[r] = 100 * float64(a[r]) / float64(whole[r])
		case a[r] > 0:
			p[r] = 100
		}
	}
	return p
}

// Percents holds one percentage of allocatable per Resource, 0 to 100, or more
// on an overcommitted node.
type Percents [NumResources]float64

// Max returns the highest of the percentages.
func (p Percents) Max() float64 {
	return slices.Max(p[:])
}

// CeilingOf returns the largest amounts that do not exceed these percentages of whole: an
// amount a is within the ceiling if and only if a.PercentOf(whole) is within p.
func (p Percents) CeilingOf(whole Amounts) Amounts {
	var most Amounts
	for r := range most {
		most[r] = ceiling(p[r], whole[r])
	}
	return most
}

func ceiling(percent float64, whole int64) int64 {
	switch {
	case whole <= 0 && percent >= 100:
		return math.MaxInt64
	case whole <= 0 || !(percent >= 0): // also true for NaN
		return 0
	}
	line := percent / 100 * float64(whole)
	if line >= math.MaxInt64 {
		return math.MaxInt64
	}
	most := int64(line) + 1 // rounding may have made the line slightly too low
	for most > 0 && 100*float64(most)/float64(whole) > percent {
		most--
	}
	return most
}

// InWords formats amounts for users: "2200m cpu, 1024Mi memory".
func (a Amounts) InWords() string {
	return fmt.Sprintf("%dm cpu, %dMi memory", a[CPU], a[Memory]>>20)
}

// Charge is what a pod adds to its node: its expected usage and its requests.
type Charge struct{ Usage, Requests Amounts }

// minRequests are the requests that kube-scheduler assumes for a pod without
// any when it scores nodes by requests (NonMissingContainerRequests of
// k8s.io/kubernetes/pkg/scheduler/util).
var minRequests = Amounts{CPU: 100, Memory: 200 << 20}

// NewCharge returns the charge of a pod. It counts requests like kube-scheduler does when
// it scores.
func NewCharge(usage, requests Amounts) Charge {
	for r := range requests {
		if requests[r] <= 0 {
			requests[r] = minRequests[r]
		}
	}
	return Charge{usage, requests}
}

// Back returns the charge that undoes c.
func (c Charge) Back() Charge { return Charge{Amounts{}.Minus(c.Usage), Amounts{}.Minus(c.Requests)} }
