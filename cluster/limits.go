package cluster

import (
	"strconv"
	"strings"
)

// CPULimits are the CPU limits of a pod and its containers; empty if there are
// none. They are one string, so that records can be compared and equal ones
// shared: one line "NAME MILLI" per limit, without a name for the pod's own.
type CPULimits string

// With adds a container's limit, or the pod's own if the name is empty. Zero or
// less means no limit.
func (l CPULimits) With(container string, milli int64) CPULimits {
	if milli <= 0 {
		return l
	}
	return l + CPULimits(container+" "+strconv.FormatInt(milli, 10)+"\n")
}

// Of returns a container's limit in milli-cores, or the pod's own if the name
// is empty; 0 if there is none.
func (l CPULimits) Of(container []byte) int64 {
	for left := string(l); left != ""; {
		line, rest, _ := strings.Cut(left, "\n")
		if name, milli, _ := strings.Cut(line, " "); name == string(container) {
			limit, _ := strconv.ParseInt(milli, 10, 64) // With wrote it
			return limit
		}
		left = rest
	}
	return 0
}
