package rivals

import (
	"math"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// The values of LoadAwareScheduling in Koordinator's chart.
const reportInterval = time.Minute

var (
	usageThresholds = cluster.Percents{cluster.CPU: 65, cluster.Memory: 95}
	scalingFactors  = cluster.Percents{cluster.CPU: 85, cluster.Memory: 70}
	// withoutRequest is the estimate for a pod that requests nothing.
	withoutRequest = cluster.Amounts{cluster.CPU: 250, cluster.Memory: 200 << 20}
)

// Estimate returns the usage that a pod is expected to have according to its requests.
func Estimate(requests cluster.Amounts) (estimate cluster.Amounts) {
	for r, request := range requests {
		if estimate[r] = withoutRequest[r]; request > 0 {
			estimate[r] = int64(math.Round(float64(request) * scalingFactors[r] / 100))
		}
	}
	return estimate
}

// Expect returns the expected usage of a node with another pod: its last
// report, and for recently bound pods at least their estimates. Reports come on
// the minute.
func Expect(now time.Time, node *Node, requests cluster.Amounts) cluster.Amounts {
	reported := now.Truncate(reportInterval)
	expected := node.System.Plus(Estimate(requests))
	for i := range node.Pods {
		pod := &node.Pods[i]
		var used cluster.Amounts
		if pod.Ready.Before(reported) {
			used = pod.Used
		}
		expected = expected.Plus(used)
		if reported.Add(-reportInterval).Before(pod.Bound) {
			expected = expected.Plus(Estimate(pod.Requests).Minus(used).AtLeastZero())
		}
	}
	return expected
}

// Admits reports whether a node with this expected usage may take the pod.
func Admits(expected, capacity cluster.Amounts) bool {
	for r, percent := range expected.PercentOf(capacity) {
		if math.Round(percent) > usageThresholds[r] {
			return false
		}
	}
	return true
}

// LeastUsed scores a node from 0 to 100 by its expected usage.
func LeastUsed(expected, capacity cluster.Amounts) (score int64) {
	for r := range expected {
		if capacity[r] > 0 && expected[r] <= capacity[r] {
			score += (capacity[r] - expected[r]) * 100 / capacity[r]
		}
	}
	return score / int64(len(expected))
}
