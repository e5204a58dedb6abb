package kubelet

import (
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// A rate requires two readings of a counter. They must be at least minStep apart, because
// clock errors would otherwise distort the rate, and at most maxGap apart, because the
// rate would otherwise not describe the present.
const (
	minStep = time.Second
	maxGap  = 5 * time.Minute
)

// counter is the last reading of a counter of CPU seconds, and the rate since
// the one before.
type counter struct {
	seconds float64
	at      time.Time
	cores   number
}

// next returns the counter after another reading. A reading that is hardly newer changes
// nothing, so the last rate is returned again with its old time. After a reset, a step
// back in time or a gap, there is no rate until the following reading.
func (c counter) next(reading point) counter {
	fresh := counter{seconds: reading.value, at: reading.at}
	elapsed := reading.at.Sub(c.at)
	switch {
	case c.at.IsZero() || elapsed < 0 || elapsed > maxGap || reading.value < c.seconds:
		return fresh
	case elapsed < minStep:
		return c
	}
	fresh.cores = number{value: (reading.value - c.seconds) / elapsed.Seconds(), known: true}
	return fresh
}

// confirms reports whether the kubelet's own rate, in cores, agrees with the growth of
// the counter since the previous reading. Times are in whole seconds, so each may be off
// by one second.
func (c counter) confirms(cores number, before counter) bool {
	grown, elapsed := c.seconds-before.seconds, c.at.Sub(before.at).Seconds()
	return cores.known && cores.value*(elapsed-1) <= grown && grown <= cores.value*(elapsed+1)
}

// seriesKey identifies a counter within its node; for the node's own counter
// both fields are empty. The UID keeps the counters of pods of the same name
// apart. The part is a container's name or, in a summary, the UID by which the
// kubelet knows the pod.
type seriesKey struct{ uid, part string }

// counters are the counters of one node's last scrape.
type counters map[seriesKey]counter

// scrape turns one exposition into a report, using the counters of the previous
// one.
type scrape struct {
	before, after counters
	received      time.Time
	report        *report
}

// rated converts an exposition to a report, and returns the counters for the next
// exposition.
func rated(node *cluster.NodePods, x *exposition, before counters, received time.Time) (*report, counters) {
	s := scrape{before: before, after: make(counters, 1+len(node.Pods)), received: received, report: &report{node: node}}
	s.report.unmatched(x.unmatched)
	s.node(&x.node)
	for i, pod := range node.Pods {
		s.pod(pod, &x.pods[i])
	}
	return s.report, s.after
}

func (s *scrape) node(p *part) {
	milli := s.milli(seriesKey{}, p.cpu)
	if milli.known {
		s.report.reading(usage.Reading{Metric: usage.CPU, Window: usage.Last, At: milli.at, Value: milli.value})
	} else {
		s.report.nodeProblem(usage.Unreadable, "no CPU usage: two scrapes with a growing counter are needed")
	}
	p.memory.times(s.received)
	if p.memory.known {
		s.report.reading(usage.Reading{Metric: usage.Memory, Window: usage.Last, At: p.memory.at, Value: p.memory.value})
	} else {
		s.report.nodeProblem(usage.Unreadable, "no node_memory_working_set_bytes")
	}
}

// pod uses a pod's own values if the kubelet has them, otherwise the sum of all
// its containers.
func (s *scrape) pod(pod *cluster.Pod, p *podParts) {
	if !p.whole.cpu.known && !p.whole.memory.known && len(p.containers) == 0 {
		return
	}
	cpu := []part{p.whole}
	if !p.whole.cpu.known {
		cpu = p.containers
	}
	memory := []part{p.whole}
	if !p.whole.memory.known {
		memory = p.containers
	}
	cpuMilli := total(cpu, func(c part) point { return s.milli(seriesKey{pod.UID, c.container}, c.cpu) })
	memoryBytes := total(memory, func(c part) point { c.memory.times(s.received); return c.memory })
	s.report.pod(pod, cpuMilli, memoryBytes)
}

// milli returns the rate of a counter in milli-cores, and keeps the counter for
// the next scrape.
func (s *scrape) milli(key seriesKey, reading point) point {
	reading.times(s.received)
	switch {
	case !reading.known:
		return point{}
	case !reading.sane():
		return reading // to be rejected as absurd
	}
	c := s.before[key].next(reading)
	s.after[key] = c
	return point{number{value: c.cores.value * 1000, known: c.cores.known}, c.at}
}

// total sums up parts. The sum is unknown if any of them is unknown or if there are none.
func total(parts []part, value func(part) point) (sum point) {
	for i := range parts {
		p := value(parts[i])
		if i == 0 {
			sum = p
			continue
		}
		sum.value += p.value
		sum.known = sum.known && p.known
		sum.at = older(sum.at, p.at)
	}
	return sum
}

// current returns the CPU usage of a node or pod in a summary, in milli-cores, and keeps
// its counter for the next one. The usage between two readings follows from the counter.
// The kubelet's own usageNanoCores is the difference between its last two measurements.
// It is more precise than whole seconds allow, so it is used if the counter confirms it
// or if there is no second reading.
//
// After the first measurement of a node or pod the kubelet reports zero, although it does
// not know the usage yet. So if there is no second reading and the counter has run, zero
// is accepted only if idle is true (the pod's containers are known to be idle), and never
// after the counter has restarted.
func (s *scrape) current(key seriesKey, cpu *stats, idle bool) point {
	own := cpu.usageNanoCores
	answered := point{number{value: own.value * nanoToMilli, known: own.known}, cpu.at}
	own.value /= nanoToOne
	total := point{number{value: cpu.coreNanoSeconds.value / nanoToOne, known: cpu.coreNanoSeconds.known}, cpu.at}
	if !total.known || !total.sane() || total.at.IsZero() || own.known && !own.sane() {
		return answered
	}
	before := s.before[key]
	after := before.next(total)
	if after != before && after.cores.known && after.confirms(own, before) {
		after.cores = own
	}
	s.after[key] = after
	if after.cores.known {
		return point{number{value: after.cores.value * 1000, known: true}, after.at}
	}
	if own.value == 0 && total.value > 0 && (!idle || total.value < before.seconds) {
		answered.known = false
	}
	return answered
}
