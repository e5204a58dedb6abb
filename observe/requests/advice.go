package requests

import (
	"math"

	"github.com/evenkeel/evenkeel/cluster"
)

// Advice is a request that would have told kube-scheduler the truth, and what else it does.
type Advice struct {
	RequestMilliCores int64 `json:"requestMilliCores"`
	// NotFitting is how many of the pods would have no node with enough unrequested CPU
	// and memory. There may be more, because other filters of kube-scheduler are not
	// considered.
	NotFitting int `json:"notFitting"`
	// QoS is the pods' class now, and NewQoS their class with the advised request.
	QoS    QoS `json:"qos"`
	NewQoS QoS `json:"newQoS"`
	// AtLimit reports whether the pods' limit is the reason why no more is advised.
	AtLimit bool `json:"atLimit,omitempty"`
}

// QoS is a pod's quality-of-service class.
type QoS string

// The quality-of-service classes of Kubernetes.
const (
	BestEffort QoS = "BestEffort"
	Burstable  QoS = "Burstable"
	Guaranteed QoS = "Guaranteed"
)

func qosOf(requests, limits cluster.Amounts) QoS {
	switch none := (cluster.Amounts{}); {
	case requests == none && limits == none:
		return BestEffort
	case requests == limits && requests[cluster.CPU] > 0 && requests[cluster.Memory] > 0:
		return Guaranteed
	}
	return Burstable
}

// advise returns the request that covers the given usage; nil if the limit does not allow
// a higher request than now.
func (c *Cluster) advise(owner *Owner, milliCores int64) *Advice {
	first := &owner.Replicas[0]
	a := &Advice{RequestMilliCores: roundUp(milliCores), QoS: qosOf(first.Requests, first.Limits)}
	least := int64(0)
	for i := range owner.Replicas {
		r := &owner.Replicas[i]
		least = max(least, r.Requests[cluster.CPU])
		if limit := r.Limits[cluster.CPU]; limit > 0 && limit < a.RequestMilliCores {
			a.RequestMilliCores, a.AtLimit = limit, true
		}
	}
	if a.RequestMilliCores <= least {
		return nil
	}
	requests := first.Requests
	requests[cluster.CPU] = a.RequestMilliCores
	a.NewQoS = qosOf(requests, first.Limits)
	a.NotFitting = c.notFitting(owner, requests)
	return a
}

// roundUp rounds an amount up to a number that people would write.
func roundUp(milliCores int64) int64 {
	step := int64(10)
	for _, s := range []struct{ from, step int64 }{{200, 50}, {1000, 100}, {5000, 500}} {
		if milliCores > s.from {
			step = s.step
		}
	}
	return (max(milliCores, 1) + step - 1) / step * step
}

// notFitting returns how many pods of the owner would not fit if each had the given
// requests. Other pods stay where they are. Each pod of a DaemonSet belongs on its own
// node.
func (c *Cluster) notFitting(owner *Owner, requests cluster.Amounts) int {
	given := map[int]cluster.Amounts{} // what the owner's pods request, by node
	for i := range owner.Replicas {
		r := &owner.Replicas[i]
		given[r.Node] = given[r.Node].Plus(r.Requests)
	}
	free := func(i int) cluster.Amounts {
		return c.Nodes[i].Allocatable.Minus(c.Nodes[i].Requested).Plus(given[i])
	}
	fit, pods := int64(0), int64(len(owner.Replicas))
	if owner.Kind == "DaemonSet" {
		for i := range owner.Replicas {
			fit += min(timesIn(requests, free(owner.Replicas[i].Node)), 1)
		}
		return int(pods - fit)
	}
	for i := range c.Nodes {
		if fit >= pods {
			return 0
		}
		if c.Nodes[i].Open {
			fit += timesIn(requests, free(i))
		}
	}
	return int(max(pods-fit, 0))
}

// timesIn returns how many pods with the given requests fit into free.
func timesIn(requests, free cluster.Amounts) int64 {
	n := int64(math.MaxInt32)
	for k, request := range requests {
		if request > 0 {
			n = min(n, max(free[k], 0)/request)
		}
	}
	return n
}
