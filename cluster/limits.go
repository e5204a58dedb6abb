package cluster

import (
	"strconv"
	"strings"
)

// CPULimits holds the CPU limits of a pod and its containers; empty if there are none. It
// is a string, so that records can be compared and can share equal values. It has one
// line "NAME MILLI" per limit; the pod's own limit has no name.
type CPULimits string

// With adds the limit of a container, or of the pod if the name is empty. Zero or less
// means no limit.
func (l CPULimits) With(container string, milli int64) CPULimits {
	if milli <= 0 {
		return l
	}
	return l + CPULimits(container+" "+strconv.FormatInt(milli, 10)+"\n")
}

// Of returns the limit of a container, or of the pod if the name is empty, in
// milli-cores; 0 if there is none.
func (l CPULimits) Of(container []byte) int64 {
	for left := string(l); left != ""; {
		line, rest, _ := strings.Cut(left, "\n")
		if name, milli, _ := strings.Cut(line, " "); name == string(container) {
			limit, _ := strconv.ParseInt(milli, 10, 64) // With wrote a valid number
			return limit
		}
		left = rest
	}
	return 0
}
