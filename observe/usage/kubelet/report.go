package kubelet

import (
	"fmt"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/contention"
)

// report is the result of one node's answer.
type report struct {
	node     *cluster.NodePods
	readings []usage.Reading
	pods     []usage.PodSample
	problems usage.Problems
}

// nodeProblem and podProblem count a value that is left out.
func (r *report) nodeProblem(cause usage.Cause, format string, args ...any) {
	r.problems.Add(cause, fmt.Sprintf("node %q: ", r.node.Node.Name)+fmt.Sprintf(format, args...))
}

func (r *report) podProblem(cause usage.Cause, pod *cluster.Pod, why string) {
	r.problems.Add(cause, fmt.Sprintf("pod %q: %s", pod.Key(), why))
}

// reading adds a value of the node. The caller reports missing values.
func (r *report) reading(reading usage.Reading) {
	value := number{value: reading.Value, known: true}
	switch {
	case !value.sane():
		r.nodeProblem(usage.Absurd, "%s is %v", reading.Metric, reading.Value)
	case reading.At.IsZero():
		r.nodeProblem(usage.Unreadable, "%s has no time", reading.Metric)
	default:
		r.readings = append(r.readings, reading)
	}
}

// pod adds both amounts of a pod; a pod that lacks one is left out.
func (r *report) pod(pod *cluster.Pod, cpuMilli, memoryBytes point) {
	at := older(cpuMilli.at, memoryBytes.at)
	switch {
	case !cpuMilli.known:
		r.podProblem(usage.Unreadable, pod, "no CPU usage yet")
	case !memoryBytes.known:
		r.podProblem(usage.Unreadable, pod, "no memory usage")
	case cpuMilli.value == 0 && memoryBytes.value == 0:
		// The kubelet measures a pod's control group when it creates it, before
		// anything runs there. A running process always uses memory.
		r.podProblem(usage.Unreadable, pod, "neither CPU nor memory usage yet")
	case !cpuMilli.sane() || !memoryBytes.sane():
		r.podProblem(usage.Absurd, pod, fmt.Sprintf("%v milli-cores and %v bytes", cpuMilli.value, memoryBytes.value))
	case at.IsZero():
		r.podProblem(usage.Unreadable, pod, "its usage has no time")
	default:
		used := cluster.Amounts{cluster.CPU: amount(cpuMilli.value), cluster.Memory: amount(memoryBytes.value)}
		sample := usage.Sample{At: at, Used: used}
		r.pods = append(r.pods, usage.PodSample{Namespace: pod.Namespace, Name: pod.Name, Last: sample})
	}
}

// unmatched counts pods that the snapshot does not have on this node.
func (r *report) unmatched(s unmatched) {
	for range s.count {
		r.problems.Add(usage.UnmatchedPod, fmt.Sprintf("pod %q on node %q", s.example, r.node.Node.Name))
	}
}

// summarized turns a summary into a report and the counters for the next one.
func summarized(node *cluster.NodePods, summary *summary, before counters) (*report, counters) {
	s := scrape{before: before, after: make(counters, 1+len(node.Pods)), report: &report{node: node}}
	if summary.nodeName != "" && summary.nodeName != node.Node.Name {
		// The node's address now belongs, or is routed, to another machine.
		s.report.problems.Add(usage.UnmatchedNode, fmt.Sprintf("node %q: %q answered at its address", node.Node.Name, summary.nodeName))
		return s.report, nil
	}
	s.report.unmatched(summary.unmatched)
	// A machine that runs a kubelet always uses CPU, so zero is accepted only
	// if the counter confirms it.
	milli := s.current(seriesKey{}, &summary.cpu, false)
	switch {
	case milli.known:
		s.report.reading(usage.Reading{Metric: usage.CPU, Window: usage.Last, At: milli.at, Value: milli.value})
	case summary.cpu.usageNanoCores.known:
		s.report.nodeProblem(usage.Unreadable, "its kubelet has not measured CPU usage yet")
	default:
		s.report.nodeProblem(usage.Unreadable, "no usageNanoCores")
	}
	s.report.memory(&summary.memory)
	s.report.pressures(summary)
	for i, pod := range node.Pods {
		s.summaryPod(pod, &summary.pods[i], milli.known)
	}
	return s.report, s.after
}

// summaryPod reports a pod of a summary. measured is true if the kubelet has measured its
// node's CPU usage.
func (s *scrape) summaryPod(pod *cluster.Pod, p *podStats, measured bool) {
	switch {
	case !p.seen:
	case p.twice:
		s.report.podProblem(usage.Duplicate, pod, "twice in one answer")
	default:
		milli := s.current(seriesKey{pod.UID, p.uid}, &p.cpu, measured && p.idle)
		if milli.value == 0 && p.busy {
			milli.known = false
		}
		s.report.pod(pod, milli, point{p.memory.workingSetBytes, p.memory.at})
	}
}

// memory reads the node's memory as the kubelet does when it decides on evictions: memory
// that is not available counts as used.
func (r *report) memory(s *stats) {
	capacity := float64(r.node.Node.Capacity[cluster.Memory])
	reading := usage.Reading{Metric: usage.Memory, Window: usage.Last, At: s.at}
	switch {
	case s.availableBytes.known && capacity > 0:
		reading.Value = capacity - s.availableBytes.value
		if reading.Value < 0 {
			// This also rejects a subtraction in the kubelet that underflowed to near
			// 2^64.
			r.nodeProblem(usage.Contradictory, "%.0f bytes of memory are available, of %.0f", s.availableBytes.value, capacity)
			return
		}
	case s.workingSetBytes.known:
		reading.Value = s.workingSetBytes.value
	default:
		r.nodeProblem(usage.Unreadable, "neither availableBytes nor workingSetBytes of memory")
		return
	}
	r.reading(reading)
}

// pressures reads the kubelet's PSI, if any. On a kernel without PSI all values
// are zero. Any running machine has waited for a CPU at some time, so a CPU
// total of zero means no PSI.
func (r *report) pressures(s *summary) {
	if s.cpu.waited.known && s.cpu.waited.value == 0 {
		return
	}
	r.pressure(usage.CPUPressure, &s.cpu)
	r.pressure(usage.MemoryPressure, &s.memory)
	r.pressure(usage.IOPressure, &s.io)
	r.contention(s)
}

func (r *report) pressure(metric usage.Metric, s *stats) {
	r.percent(usage.Reading{Metric: metric, Window: usage.Last, At: s.at}, s.percent60)
	r.percent(usage.Reading{Metric: metric, Window: usage.Avg5m, At: s.at}, s.percent300)
}

func (r *report) percent(reading usage.Reading, percent number) {
	switch reading.Value = percent.value; {
	case !percent.known:
	case percent.value > 100:
		r.nodeProblem(usage.Absurd, "%s is %v%%", reading.Metric, percent.value)
	default:
		r.reading(reading)
	}
}

// times sets a missing time to the time at which the answer arrived, because some formats
// may omit it.
func (p *point) times(received time.Time) {
	if p.at.IsZero() {
		p.at = received
	}
}

// staleContainer is how much older than the node's stats a container's stats may be. It
// is limited because a kubelet may still report a container that has ended.
const staleContainer = time.Minute

// contention derives the node's contention from its containers. Contention is unknown if
// no container has PSI, and zero if no container counts.
func (r *report) contention(s *summary) {
	var last, avg5m []float64
	psi := false
	for i := range s.pods {
		pod := &s.pods[i]
		if pod.twice {
			continue
		}
		psi = psi || pod.psi
		for _, w := range pod.waits {
			switch {
			case s.cpu.at.Sub(w.at) > staleContainer:
			case !share(w.percent60) || !share(w.percent300):
				r.nodeProblem(usage.Absurd, "a container of pod %q has waited for %v%% and %v%% of the time", r.node.Pods[i].Key(), w.percent60, w.percent300)
			default:
				last, avg5m = append(last, w.percent60), append(avg5m, w.percent300)
			}
		}
	}
	if !psi {
		return
	}
	r.reading(usage.Reading{Metric: usage.CPUContention, Window: usage.Last, At: s.cpu.at, Value: contention.Of(last)})
	r.reading(usage.Reading{Metric: usage.CPUContention, Window: usage.Avg5m, At: s.cpu.at, Value: contention.Of(avg5m)})
}

// share reports whether a value is a percentage of time.
func share(percent float64) bool { return percent >= 0 && percent <= 100 }
