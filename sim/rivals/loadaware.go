package rivals

import (
	"math"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// reportInterval and the other constants are values of LoadAwareScheduling in
// Koordinator's chart.
const reportInterval = time.Minute

var (
	usageThresholds = cluster.Percents{cluster.CPU: 65, cluster.Memory: 95}
	scalingFactors  = cluster.Percents{cluster.CPU: 85, cluster.Memory: 70}
	// withoutRequest is the estimate for a pod without requests.
	withoutRequest = cluster.Amounts{cluster.CPU: 250, cluster.Memory: 200 << 20}
)

// Estimate returns a pod's expected usage according to its requests.
func Estimate(requests cluster.Amounts) (estimate cluster.Amounts) {
	for r, request := range requests {
		if estimate[r] = withoutRequest[r]; request > 0 {
			estimate[r] = int64(math.Round(float64(request) * scalingFactors[r] / 100))
		}
	}
	return estimate
}

// Expect returns the expected usage of a node with another pod: its last report, but at
// least the estimates for recently bound pods. Reports are sent every full minute.
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

// Admits reports whether a node with the given expected usage may take the pod.
func Admits(expected, capacity cluster.Amounts) bool {
	for r, percent := range expected.PercentOf(capacity) {
		if math.Round(percent) > usageThresholds[r] {
			return false
		}
	}
	return true
}

// LeastUsed returns a node's score, from 0 to 100, based on its expected usage.
func LeastUsed(expected, capacity cluster.Amounts) (score int64) {
	for r := range expected {
		if capacity[r] > 0 && expected[r] <= capacity[r] {
			score += (capacity[r] - expected[r]) * 100 / capacity[r]
		}
	}
	return score / int64(len(expected))
}
