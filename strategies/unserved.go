package strategies

import (
	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage/contention"
)

const (
	// fullAtPercent is the CPU usage, in percent of capacity, at or above which a node is
	// assumed to have more demand than capacity.
	fullAtPercent = 97
	// shortAt is a share of the most that any pod of a full node gets relative to its
	// request. A pod that gets at least that share is assumed to want more: the kernel
	// gives all such pods the same, and gives all others what they ask for.
	shortAt = 0.98
	// leastRequest is the request, in milli-cores, that the kernel assumes for a pod
	// without one. A pod that uses less than it gets for that wants no more.
	leastRequest = 2
	// leastMeasure is the smallest request, in milli-cores, that shows what others get,
	// if any pod requests as much: the kernel's weights are whole numbers, and a weight
	// of 1 represents up to 27 milli-cores or more.
	leastMeasure = 100
)

// FullCeiling is the share of its allocatable CPU up to which a node takes a pod off a
// full one. It is well below what counts as full.
const FullCeiling = 0.9

// Full reports whether a node's CPU demand exceeds its capacity.
func Full(node *cluster.Node, measured cluster.Amounts) bool {
	has := max(node.Capacity[cluster.CPU], node.Allocatable[cluster.CPU])
	return 100*measured[cluster.CPU] >= fullAtPercent*has
}

// EstimateUnserved estimates what each pod of a full node that may be moved wants and
// does not get, and returns the sum, in milli-cores. Pods without a request weigh next
// to nothing, so they are no measure of what others get. One that has to stay would
// have all others moved for what it used once.
func EstimateUnserved(pods []Pod) (sum int64) {
	most, ofAll := 0.0, 0.0
	for i := range pods {
		request := pods[i].Requests[cluster.CPU]
		if perRequest := float64(pods[i].Usage[cluster.CPU]) / float64(max(request, 1)); request >= leastMeasure {
			most = max(most, perRequest)
		} else if request > 0 {
			ofAll = max(ofAll, perRequest)
		}
	}
	if most == 0 {
		most = ofAll
	}
	for i := range pods {
		if pods[i].Refused == "" {
			pods[i].Unserved = pods[i].unserved(most)
			sum += pods[i].Unserved
		}
	}
	return sum
}

// unserved is what the pod recently used beyond what it gets now, up to its limit, if it
// gets as much relative to its request as any pod.
func (p *Pod) unserved(perRequest float64) int64 {
	used, limit, wanted := p.Usage[cluster.CPU], p.Limits[cluster.CPU], p.PeakMilliCores
	if float64(used) < shortAt*perRequest*float64(max(p.Requests[cluster.CPU], leastRequest)) || contention.ThrottledBy(float64(used), limit) {
		return 0
	}
	if limit > 0 {
		wanted = min(wanted, limit)
	}
	return max(wanted-used, 0)
}
