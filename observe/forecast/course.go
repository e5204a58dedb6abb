package forecast

import (
	"math"
	"time"
)

// Course is the CPU that the pods of a node are expected to use together in
// each part of a period: by their pattern for pods that have one, at their
// lasting level for the others. Its variance combines how far patterns have
// been off with the variation of pods within a part. A pod without a pattern
// adds nothing to it.
type Course [Parts]struct{ mean, variance float64 }

// Add adds a pod. A pattern that does not recur counts as none.
func (c *Course) Add(pod Expected, pattern PodPattern) { c.add(pod, pattern, 1) }

// Remove removes a pod that was added.
func (c *Course) Remove(pod Expected, pattern PodPattern) { c.add(pod, pattern, -1) }

// ownWithin is the share of the variance within a part that is attributed to a pod's own
// variation. The rest is the difference between pods. Each pod's share already accounts
// for that.
const ownWithin = 0.5

func (c *Course) add(pod Expected, pattern PodPattern, sign float64) {
	mean, variance, level := float64(pod[Spans-1].Mean), 0.0, 0.0
	recurs := pattern.Recurs()
	if recurs {
		variance, level = float64(pattern.Off)+ownWithin*float64(pattern.Within), pattern.Mean()
	}
	whole := recurs && pattern.Deviation == 0 && pattern.Limit == 0
	for part := range c {
		switch {
		case whole:
			mean = float64(pattern.Means[part])
		case recurs:
			mean = pattern.at(int64(part), level)
		}
		c[part].mean += sign * mean
		c[part].variance = max(c[part].variance+sign*variance, 0)
	}
}

// Shift adds usage, in milli-cores, that does not change.
func (c *Course) Shift(milliCores int64) {
	for part := range c {
		c[part].mean += float64(milliCores)
	}
}

// PeakWith returns the highest usage, in milli-cores, expected in any part of
// the period if a pod is added.
func (c *Course) PeakWith(pod *Course) int64 {
	highest := 0.0
	for i := range c {
		highest = max(highest, c[i].mean+pod[i].mean)
	}
	return int64(highest)
}

// Peak returns the part with the highest expected usage, and that usage in
// milli-cores.
func (c *Course) Peak() (part int, milliCores int64) {
	for i := range c {
		if c[i].mean > c[part].mean {
			part = i
		}
	}
	return part, int64(max(c[part].mean, 0))
}

// Above returns by how many milli-cores the expected usage exceeds line,
// averaged over a period. Unlike hot minutes, it grows with each pod even on a
// node that will be hot anyway.
func (c *Course) Above(line int64) float64 {
	sum := 0.0
	for i := range c {
		sum += max(c[i].mean-float64(line), 0)
	}
	return sum / Parts
}

// beyondDoubt is the number of standard deviations beyond which a probability counts as 0
// or 1.
const beyondDoubt = 5

// HotMinutes returns for how many minutes of a period a node is expected to be
// hot, like Load.HotMinutes. Periods shorter than Horizon are repeated to fill
// it.
func (c *Course) HotMinutes(line, allocatable int64, clock Clock) float64 {
	whole := float64(max(allocatable, 1))
	parts, certain := 0.0, beyondDoubt*leastDeviation*whole
	for i := range c {
		if below := float64(line) - c[i].mean; below > certain && below*below > beyondDoubt*beyondDoubt*c[i].variance && c[i].mean < whole {
			continue
		}
		deviation := max(math.Sqrt(c[i].variance)/whole, leastDeviation)
		mean := c[i].mean / whole
		far := (float64(line)/whole - mean) / deviation
		parts += tail(far) + excess(mean-1, deviation)/unservedPerMinute
	}
	return parts / Parts * max(clock.Period, Horizon).Minutes()
}

// Next returns when a part of a period begins next, counted from now; if that
// part is the current one, when it began.
func (c Clock) Next(part int, now time.Time) time.Time {
	current := c.Part(now.Unix())
	ahead := (int64(part) - current%Parts + Parts) % Parts
	return time.Unix(c.begins(current+ahead), 0)
}
