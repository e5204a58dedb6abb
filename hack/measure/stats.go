package measure

import "slices"

// Median is that of the values, in whatever order: the mean of the middle two
// where their number is even, and 0 of none.
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

// Ratios are those of two figures, round by round, because figures of one round
// were measured close to each other. A round that only one of them has is left
// out.
func Ratios(of, beside []float64) []float64 {
	ratios := make([]float64, min(len(of), len(beside)))
	for i := range ratios {
		ratios[i] = of[i] / beside[i]
	}
	return ratios
}

// Order is the order in which a round measures the subjects. Every second round
// runs backwards: what drifts must not always be to the same one's cost.
func Order[T any](round int, subjects []T) []T {
	order := slices.Clone(subjects)
	if round%2 == 1 {
		slices.Reverse(order)
	}
	return order
}
