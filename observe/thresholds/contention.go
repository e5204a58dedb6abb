package thresholds

// Contention is caused by the CPU usage of all pods together, not by a single one. It is
// almost zero on a node that is cool by CPU, and rises more and more steeply above that.
// So a straight line from the point where contention begins to the node's current value
// is never below the real curve. Removing as much usage as the line requires is therefore
// enough. Pods that have left take at least their share of contention with them, in every
// window at once.

// contending returns the part of a CPU usage that causes contention, assuming that usage
// up to calm percent of the whole causes none.
func contending(used, whole int64, calm float64) int64 { return max(used-ceiling(calm, whole), 0) }

// remaining returns the share of a node's contention that remains after pods have left
// and usage has fallen from measured to current; 1 if pods did not cause the contention.
func remaining(measured, current, whole int64, calm float64) float64 {
	before := contending(measured, whole, calm)
	if before == 0 {
		return 1
	}
	return min(float64(contending(current, whole, calm))/float64(before), 1)
}
