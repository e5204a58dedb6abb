package forecast

import "math"

// Load is the CPU that the pods of a node are expected to use together. Their
// variances add up, as if they varied apart from each other.
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

// Grow expects that many times as much in each span.
func (l *Load) Grow(factor float64) {
	for s := range l {
		l[s].mean *= factor
	}
}

// Correlate takes account of pods that vary together: the node itself varies at
// least as much as it did.
func (l *Load) Correlate(node Expected) {
	for s := range l {
		l[s].variance = max(l[s].variance, float64(node[s].Variance))
		l[s].drift = max(l[s].drift, float64(node[s].Drift))
	}
}

// Lasting is the mean of the last span, in milli-cores.
func (l *Load) Lasting() int64 { return int64(max(l[Spans-1].mean, 0)) }

const (
	// leastDeviation is the least standard deviation that a node is expected to
	// have, as a share of its allocatable.
	leastDeviation = 0.01
	// A mean of 15 minutes that is usual deviations above what is expected later
	// may well come down to that; one that is unheard of deviations above does not.
	usual, unheardOf = 3, 5
	// meanVaries is the share of the variance of samples, each a mean of five minutes,
	// that their exponential mean of 15 minutes has.
	meanVaries = sampleSeconds / (2 * 15 * 60.0)
	// unservedPerMinute is how much of a node, as a share, is asked for and not
	// served where a minute of that counts as one more hot minute.
	unservedPerMinute = 0.1
	// twice is how far above its line, as a share of allocatable, a node is expected
	// to be where a hot minute counts twice.
	twice = 0.2
)

// Stays returns how much of each span is believed to be as the first one, 0 to 1:
// the more, the less usual it is for the node to be as far above the rest. How far means
// of 15 minutes usually are is forgotten within hours, so one that comes of a few spikes
// looks unheard of after hours without. But its samples differ, unlike those of a step:
// such a mean is known no better than these let it be.
func (l *Load) Stays(allocatable int64) (believed [Spans]float64) {
	least := leastDeviation * float64(max(allocatable, 1))
	for s := range l {
		above := (l[0].mean - l[s].mean) / max(math.Sqrt(max(l[s].drift, meanVaries*l[0].variance)), least)
		believed[s] = min(max((above-usual)/(unheardOf-usual), 0), 1)
	}
	return believed
}

// Toward returns the load where so much of each span is believed to be as the
// first one.
func (l Load) Toward(believed [Spans]float64) Load {
	for s := range l {
		l[s].mean += believed[s] * (l[0].mean - l[s].mean)
	}
	return l
}

// HotMinutes returns for how many minutes, until Horizon, a node is expected to be
// hot: the chance that it uses more than line, over time. What is asked for beyond
// allocatable counts in addition: a tenth of the node, for a minute, as one
// minute. Both are in milli-cores. It is 0 to 240 where nothing is unserved, and
// never NaN.
func (l *Load) HotMinutes(line, allocatable int64) float64 {
	return l.minutes(line, allocatable, math.Inf(1))
}

// WeightedHotMinutes returns HotMinutes where each minute counts the more, the
// further the node is expected to be above line: twice at 20 % of allocatable. So
// they grow with every pod, where hot minutes end at Horizon. How much usage varies
// changes the chance of a minute, not its weight, so peaks count for no more.
func (l *Load) WeightedHotMinutes(line, allocatable int64) float64 {
	return l.minutes(line, allocatable, twice)
}

// minutes returns hot minutes that count twice where the mean is that much above
// line, as a share of allocatable.
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

// tail is the chance that a standard normal variable is above z.
func tail(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// excess is the mean of what a normal variable is above 0, counting 0 below.
func excess(mean, deviation float64) float64 {
	z := mean / deviation
	return max(mean*tail(-z)+deviation*math.Exp(-z*z/2)/math.Sqrt(2*math.Pi), 0)
}
