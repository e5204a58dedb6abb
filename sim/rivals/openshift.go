package rivals

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// Defaults of OpenShift's profile KubeVirtRelieveAndMigrate.
const (
	amplification    = 3   // factor on the distance, "k3"
	pressureCounts   = 0.7 // utilization above which pressure counts
	lowDeviation     = 0   // percentage points below the mean: AsymmetricLow
	highDeviation    = 10  // percentage points above the mean
	evictionsPerNode = 2
	evictionsInAll   = 5
	baseCooldown     = 15 * time.Minute // KubevirtMigrationAware
	longestCooldown  = 6 * time.Hour
	cooldownHistory  = 48 * time.Hour
)

// Level classifies a node in comparison with the other nodes.
type Level uint8

// The levels. Middle nodes get one soft taint, high nodes two.
const (
	Low Level = iota
	Middle
	High
)

// OpenShift implements the descheduler that OpenShift's operator configures for
// load-aware rebalancing, including its soft taints.
type OpenShift struct {
	// moved holds the times at which each pod was moved during the last cooldownHistory.
	moved map[int][]time.Time
}

// NewOpenShift returns an OpenShift that has not moved any pods.
func NewOpenShift() *OpenShift { return &OpenShift{moved: map[int][]time.Time{}} }

// Distances returns the nodes' linear amplified ideal point positive distances
// (k3:avg1m), in whole percent as the descheduler reads them.
func Distances(nodes []Node) []int {
	points := make([][2 * int(cluster.NumResources)]float64, len(nodes))
	var mean [2 * int(cluster.NumResources)]float64
	for i := range nodes {
		points[i] = point(&nodes[i])
		for d, value := range points[i] {
			mean[d] += value / float64(len(nodes))
		}
	}
	distances := make([]int, len(nodes))
	for i := range points {
		square := 0.0
		for d, value := range points[i] {
			deviation := max(0, value-mean[d])
			square += deviation * deviation
		}
		distances[i] = int(100 * min(1, amplification*math.Sqrt(square)))
	}
	return distances
}

// point returns a node's utilization and pressure per resource, as fractions. Traces do
// not contain pressure; it is approximated by the share of the demand that the node
// cannot serve.
func point(n *Node) (p [2 * int(cluster.NumResources)]float64) {
	for r := range n.Used {
		utilization := n.Used.PercentOf(n.Capacity)[r] / 100
		p[2*r] = utilization
		if over := n.Demand[r] - n.Capacity[r]; over > 0 && utilization > pressureCounts {
			p[2*r+1] = float64(over) / float64(n.Demand[r])
		}
	}
	return p
}

// Levels classifies nodes by how far their distances are from the mean.
func Levels(distances []int) []Level {
	mean := meanOf(distances)
	levels := make([]Level, len(distances))
	for i, distance := range distances {
		switch at := float64(distance); {
		case at <= max(0, mean-lowDeviation):
			levels[i] = Low
		case at > min(100, mean+highDeviation):
			levels[i] = High
		default:
			levels[i] = Middle
		}
	}
	return levels
}

// Taints returns how many soft taints each node gets. If there are no low nodes, middle
// nodes get none.
func Taints(levels []Level) []int {
	taints := make([]int, len(levels))
	for i, level := range levels {
		switch {
		case level == High:
			taints[i] = 2
		case level == Middle && slices.Contains(levels, Low):
			taints[i] = 1
		}
	}
	return taints
}

// Balance evicts pods from high nodes, the highest first, while there are low nodes. All
// pods have the same priority, so they are evicted in the order of the arguments. evict
// reports whether a pod was evicted.
func (o *OpenShift) Balance(now time.Time, nodes []Node, evict func(*Pod) bool) {
	distances := Distances(nodes)
	levels := Levels(distances)
	var high []int
	for i, level := range levels {
		if level == High {
			high = append(high, i)
		}
	}
	if !slices.Contains(levels, Low) {
		return
	}
	slices.SortStableFunc(high, func(a, b int) int { return cmp.Compare(distances[b], distances[a]) })
	all := 0
	for _, i := range high {
		here := 0
		for k := range nodes[i].Pods {
			pod := &nodes[i].Pods[k]
			if here == evictionsPerNode || all == evictionsInAll {
				break
			}
			if pod.Fixed || o.cools(pod.ID, now) || !evict(pod) {
				continue
			}
			o.moved[pod.ID] = append(o.moved[pod.ID], now)
			here, all = here+1, all+1
		}
	}
}

// cools reports whether a pod must not be moved because it was moved recently.
func (o *OpenShift) cools(id int, now time.Time) bool {
	moves := slices.DeleteFunc(o.moved[id], func(at time.Time) bool { return now.Sub(at) > cooldownHistory })
	o.moved[id] = moves
	return len(moves) > 0 && now.Sub(moves[len(moves)-1]) < Cooldown(len(moves))
}

// Cooldown returns how long a pod must stay after the last of the given number of moves.
func Cooldown(moves int) time.Duration {
	cooldown := baseCooldown
	for range moves - 1 {
		cooldown = min(2*cooldown, longestCooldown)
	}
	return cooldown
}

func meanOf(values []int) (mean float64) {
	for _, value := range values {
		mean += float64(value) / float64(len(values))
	}
	return mean
}
