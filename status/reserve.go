package status

import (
	"fmt"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// Reserve describes the base of a node's percentages, and the part of the machine's usage
// that the percentages leave out.
type Reserve struct {
	// PercentOf is allocatable, or capacity if the usage of the pods is unknown.
	PercentOf string `json:"percentOf"`
	// LeftOut is the part of the machine's usage that the node's reserve covers, averaged
	// over five minutes.
	LeftOut Amounts `json:"leftOut"`
	// Text describes PercentOf and LeftOut in a clause without a period.
	Text string `json:"text"`
}

// The values of PercentOf.
const (
	OfAllocatable = "allocatable"
	OfCapacity    = "capacity"
)

// reserveOf returns the Reserve of a node; nil if its usage is unknown or all of its
// capacity is allocatable.
func reserveOf(read *usage.NodeUsage) *Reserve {
	if len(read.Reserved) == 0 || !usable(read) {
		return nil
	}
	r := &Reserve{PercentOf: OfAllocatable, LeftOut: AmountsOf(read.Reserved[usage.AtAvg5m])}
	switch {
	case read.ByCapacity:
		r.PercentOf = OfCapacity
		r.Text = "of the whole machine's capacity, because no usage of its pods is known"
	case read.Reserved[usage.AtAvg5m] == cluster.Amounts{}:
		r.Text = "of allocatable"
	default:
		r.Text = fmt.Sprintf("of allocatable, without the %s that the system uses of the node's reserve", r.LeftOut)
	}
	return r
}
