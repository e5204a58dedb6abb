package measure

import "slices"

// Median returns the median of unsorted values: the mean of the middle two if their
// number is even; 0 if there are none.
func Median[T ~int64 | ~float64](values []T) T {
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

// Ratios returns the ratios of two figures round by round, because the figures of one
// round were measured at about the same time. It drops rounds that only one of the
// figures has.
func Ratios(of, beside []float64) []float64 {
	ratios := make([]float64, min(len(of), len(beside)))
	for i := range ratios {
		ratios[i] = of[i] / beside[i]
	}
	return ratios
}

// Order returns the order in which a round measures the subjects. Every second round is
// reversed, so that drift does not always affect the same subjects.
func Order[T any](round int, subjects []T) []T {
	order := slices.Clone(subjects)
	if round%2 == 1 {
		slices.Reverse(order)
	}
	return order
}
