package strategies

import (
	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage/contention"
)

const (
	// fullAtPercent is the CPU usage, in percent of capacity, at or above which a node is
	// assumed to have more demand than capacity.
	fullAtPercent = 97
	// shortAt is a share of the most CPU that any pod of a full node gets relative to its
	// request. A pod that gets at least that share is assumed to want more: relative to
	// their requests, the kernel gives all pods that want more the same, and all others
	// get what they want.
	shortAt = 0.98
	// leastRequest is the request, in milli-cores, that the kernel assumes for a pod
	// without one. A pod that uses less than its share for that request wants no more.
	leastRequest = 2
	// leastMeasure is the smallest request, in milli-cores, from which to infer what
	// other pods get, if any pod requests as much. Smaller requests are too inexact,
	// because the kernel's weights are whole numbers, and a weight of 1 can represent 27
	// milli-cores or more.
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

// EstimateUnserved estimates the unserved demand of each movable pod of a full node, and
// returns the sum, in milli-cores. Pods without a request have almost no weight, so what
// they get shows nothing about other pods. Pods that have to stay are left out, because
// otherwise a single past peak of such a pod would move all others.
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

// unserved returns by how much the pod's recent peak, up to its limit, exceeds what it
// gets now. It returns 0 for a pod that gets less than others relative to its request,
// because such a pod wants no more, and for a pod that its limit throttles.
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
