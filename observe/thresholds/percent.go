package thresholds

import (
	"math"

	"github.com/evenkeel/evenkeel/cluster"
)

func percentOf(used, whole int64) float64 {
	if whole <= 0 {
		return math.NaN()
	}
	return 100 * float64(used) / float64(whole)
}

// ceiling returns the largest amount that is not above a percentage of a whole.
func ceiling(percent float64, whole int64) int64 {
	return cluster.Percents{percent}.CeilingOf(cluster.Amounts{whole})[0]
}
