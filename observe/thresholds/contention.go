package thresholds

// Contention belongs to no pod, but to the CPU usage of all. It is next to
// nothing on a node that is cool by CPU, and rises ever more steeply above. A
// straight line from there to where a node is now is therefore nowhere below
// it: what has to leave by that line is enough, and pods that have left take at
// least their part of it with them, out of every window at once.

// contending returns how much of a CPU usage contends with others, where nobody
// does up to calm percent of the whole.
func contending(used, whole int64, calm float64) int64 { return max(used-ceiling(calm, whole), 0) }

// remaining is the share of a node's contention that is left when the pods have
// gone that make the difference of its usage; 1 if it was not of its pods' making.
func remaining(measured, current, whole int64, calm float64) float64 {
	before := contending(measured, whole, calm)
	if before == 0 {
		return 1
	}
	return min(float64(contending(current, whole, calm))/float64(before), 1)
}
