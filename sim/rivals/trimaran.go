package rivals

import (
	"math"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// Defaults of LoadVariationRiskBalancing and TargetLoadPacking.
const (
	varianceMargin      = 1.0
	varianceSensitivity = 1.0
	targetUtilization   = 40.0
	requestsMultiplier  = 1.5
	agentInterval       = time.Minute
)

// WatcherWindow is the window over which load-watcher averages.
const WatcherWindow = 15 * time.Minute

// RiskBalancing returns LoadVariationRiskBalancing's score of a node, from 0 to 100. It
// is the score of the riskier resource, based on the node's usage over a window plus the
// pod's request.
func RiskBalancing(used []cluster.Amounts, capacity, requests cluster.Amounts) int64 {
	score := 100.0
	for r := range capacity {
		if capacity[r] <= 0 {
			return 0
		}
		mean, deviation := spread(used, r)
		mu := unit((unit(mean/float64(capacity[r])) + float64(requests[r])/float64(capacity[r])))
		sigma := unit(varianceMargin * math.Pow(unit(deviation/float64(capacity[r])), 1/varianceSensitivity))
		score = min(score, 100*(1-(mu+sigma)/2))
	}
	return int64(math.Round(score))
}

// TargetLoad returns TargetLoadPacking's score of a node, from 0 to 100. It is based on
// the node's CPU usage over a window, and on the requests of the pod and of the pods that
// were bound after the window or shortly before its end.
func TargetLoad(now time.Time, node *Node, used []cluster.Amounts, requests cluster.Amounts) int64 {
	if node.Capacity[cluster.CPU] <= 0 {
		return 0
	}
	mean, _ := spread(used, int(cluster.CPU))
	missing := requests[cluster.CPU]
	for i := range node.Pods {
		if now.Sub(node.Pods[i].Bound) < agentInterval {
			missing += node.Pods[i].Requests[cluster.CPU]
		}
	}
	switch percent := 100 * (mean + requestsMultiplier*float64(missing)) / float64(node.Capacity[cluster.CPU]); {
	case percent > 100:
		return 0
	case percent > targetUtilization:
		return int64(math.Round(targetUtilization * (100 - percent) / (100 - targetUtilization)))
	default:
		return int64(math.Round((100-targetUtilization)*percent/targetUtilization + targetUtilization))
	}
}

// spread returns the mean and the standard deviation of a resource's usage.
func spread(used []cluster.Amounts, resource int) (mean, deviation float64) {
	for i := range used {
		mean += float64(used[i][resource]) / float64(len(used))
	}
	square := 0.0
	for i := range used {
		d := float64(used[i][resource]) - mean
		square += d * d / float64(len(used))
	}
	return mean, math.Sqrt(square)
}

// unit limits a share to the range from 0 to 1.
func unit(share float64) float64 { return max(0, min(1, share)) }
