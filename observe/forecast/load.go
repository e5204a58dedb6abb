package forecast

import "math"

// Load is the CPU that the pods of a node are expected to use together.
// Variances are added, as if pods varied independently.
type Load [Spans]struct{ mean, variance, drift float64 }

// Add adds a pod.
func (l *Load) Add(pod Expected) {
	for s := range l {
		l[s].mean += float64(pod[s].Mean)
		l[s].variance += float64(pod[s].Variance)
		l[s].drift += float64(pod[s].Drift)
	}
}

// Remove removes a pod that was added.
func (l *Load) Remove(pod Expected) {
	for s := range l {
		l[s].mean -= float64(pod[s].Mean)
		l[s].variance = max(l[s].variance-float64(pod[s].Variance), 0)
		l[s].drift = max(l[s].drift-float64(pod[s].Drift), 0)
	}
}

// Shift adds usage, in milli-cores, that does not change.
func (l *Load) Shift(milliCores int64) {
	for s := range l {
		l[s].mean += float64(milliCores)
	}
}

// Grow multiplies what is expected in each span by factor.
func (l *Load) Grow(factor float64) {
	for s := range l {
		l[s].mean *= factor
	}
}

// Correlate accounts for pods that vary together: the node's variance is at
// least what was measured for the node itself.
func (l *Load) Correlate(node Expected) {
	for s := range l {
		l[s].variance = max(l[s].variance, float64(node[s].Variance))
		l[s].drift = max(l[s].drift, float64(node[s].Drift))
	}
}

// Lasting returns the mean of the last span, in milli-cores.
func (l *Load) Lasting() int64 { return int64(max(l[Spans-1].mean, 0)) }

const (
	// leastDeviation is the smallest standard deviation assumed for a node, as a
	// share of its allocatable.
	leastDeviation = 0.01
	// A 15-minute mean that is at most usual standard deviations above the later
	// expectation may well return to it. A mean that is unheardOf or more standard
	// deviations above it is expected to stay.
	usual, unheardOf = 3, 5
	// meanVaries is the variance of the exponential 15-minute mean divided by the
	// variance of its five-minute samples.
	meanVaries = sampleSeconds / (2 * 15 * 60.0)
	// unservedPerMinute is the unserved demand, as a share of a node, that
	// counts as one more hot minute if it lasts for a minute.
	unservedPerMinute = 0.1
	// twice is the distance above the line, as a share of allocatable, at which a hot
	// minute counts twice.
	twice = 0.2
)

// Stays returns, for each span, the probability that usage stays at the level of the
// first span. The more unusual it is for the node to be this far above its expected
// level, the higher the probability. The usual distance of 15-minute means fades within
// hours, so after some quiet hours a mean raised by a few spikes looks unheard of. But
// the samples of spikes differ from each other, unlike those of a step, so the mean is
// trusted only as far as their spread allows.
func (l *Load) Stays(allocatable int64) (believed [Spans]float64) {
	least := leastDeviation * float64(max(allocatable, 1))
	for s := range l {
		above := (l[0].mean - l[s].mean) / max(math.Sqrt(max(l[s].drift, meanVaries*l[0].variance)), least)
		believed[s] = min(max((above-usual)/(unheardOf-usual), 0), 1)
	}
	return believed
}

// Toward returns the load with each span moved toward the first one by the given share: 0
// leaves a span unchanged, 1 makes it equal to the first.
func (l Load) Toward(believed [Spans]float64) Load {
	for s := range l {
		l[s].mean += believed[s] * (l[0].mean - l[s].mean)
	}
	return l
}

// HotMinutes returns for how many minutes, until Horizon, a node is expected to be hot:
// the probability that it uses more than line, summed over time. Demand beyond
// allocatable counts in addition: a tenth of the node for one minute counts as one
// minute. line and allocatable are in milli-cores. The result is 0 to 240 if all demand
// is served, and never NaN.
func (l *Load) HotMinutes(line, allocatable int64) float64 {
	return l.minutes(line, allocatable, math.Inf(1))
}

// WeightedHotMinutes returns HotMinutes with each minute weighted by how far above line
// the node is expected to be: twice at 20 % of allocatable. So the result grows with
// every pod, whereas hot minutes stop growing at Horizon. Variance changes the
// probability of a hot minute but not its weight, so peaks do not count extra.
func (l *Load) WeightedHotMinutes(line, allocatable int64) float64 {
	return l.minutes(line, allocatable, twice)
}

// minutes returns the hot minutes. A minute counts twice if the mean exceeds line by
// twice times allocatable.
func (l *Load) minutes(line, allocatable int64, twice float64) (minutes float64) {
	whole := float64(max(allocatable, 1))
	from := 0.0
	for s := range l {
		deviation := max(math.Sqrt(l[s].variance)/whole, leastDeviation)
		mean := l[s].mean / whole
		above := mean - float64(line)/whole
		minutes += (ends[s] - from) / 60 * (tail(-above/deviation)*(1+max(above, 0)/twice) + excess(mean-1, deviation)/unservedPerMinute)
		from = ends[s]
	}
	return minutes
}

// tail returns the probability that a standard normal variable is above z.
func tail(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// excess returns the mean of a normal variable whose negative values count as 0.
func excess(mean, deviation float64) float64 {
	z := mean / deviation
	return max(mean*tail(-z)+deviation*math.Exp(-z*z/2)/math.Sqrt(2*math.Pi), 0)
}
