package usage

import "github.com/evenkeel/evenkeel/cluster"

// Estimate is the assumed usage of a pod if neither it nor a sibling has been
// measured: per resource, a share of its request, otherwise a default.
type Estimate struct {
	// PercentOfRequest is the share of the request, 0 to 100.
	PercentOfRequest cluster.Percents
	// Default is used for resources that a pod does not request, capped at the
	// pod's limit.
	Default cluster.Amounts
}

// Of returns the estimate for a pod.
func (e Estimate) Of(pod *cluster.Pod) cluster.Amounts { return e.For(pod.Requests, pod.Limits) }

// mostEstimated caps an estimate far above any node, so that an absurd request
// cannot overflow a sum.
const mostEstimated = 1 << 50

// For returns the estimate for these requests and limits.
func (e Estimate) For(requests, limits cluster.Amounts) cluster.Amounts {
	var a cluster.Amounts
	for r := range a {
		if requests[r] <= 0 {
			a[r] = e.Default[r]
			if limits[r] > 0 {
				a[r] = min(a[r], limits[r])
			}
			continue
		}
		a[r] = int64(min(e.PercentOfRequest[r]/100*float64(requests[r]), mostEstimated))
	}
	return a
}
