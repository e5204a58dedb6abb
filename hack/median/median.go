// Package median is the median that the commands which measure tell figures by. What is measured, and how often, is theirs.
package median

import "slices"

// Of is the median of the values, in whatever order: the mean of the middle two where their number is even, and 0 of none.
func Of[T ~int64 | ~float64](values []T) T {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return sorted[middle-1] + (sorted[middle]-sorted[middle-1])/2
}
