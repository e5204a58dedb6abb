package status

import (
	"fmt"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// Reserve says what a node's percentages are of, and what of the machine's usage
// they leave out.
type Reserve struct {
	// PercentOf is allocatable, or capacity where no usage of pods is known.
	PercentOf string `json:"percentOf"`
	// LeftOut is the part of the machine's usage that the node's reserve covers, as
	// the mean of five minutes.
	LeftOut Amounts `json:"leftOut"`
	// Text is both as a clause without a period.
	Text string `json:"text"`
}

// What PercentOf may be.
const (
	OfAllocatable = "allocatable"
	OfCapacity    = "capacity"
)

// reserveOf returns what a node's percentages are of; nil if its usage is not
// known, or if all of its capacity is allocatable.
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
