package kubelet

import (
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/usage"
)

// wait is how long some task of a container waited for a CPU.
type wait struct {
	at                    time.Time
	percent60, percent300 float64
}

// containers are those of one pod, until it is known which pod that is.
type containers struct {
	all []container
	// names holds all names, one after the other.
	names []byte
}

type container struct {
	from, to int // of its name
	cpu      stats
}

// maxContainers bounds what is kept of one pod; a pod spec with as many would
// be too large for the API server.
const maxContainers = 1000

func (c *containers) reset() { c.all, c.names = c.all[:0], c.names[:0] }

// podContainers reads the CPU stats of a pod's containers, if they are wanted.
func (d *summaryDecoder) podContainers() {
	if !d.contention {
		return
	}
	for range d.Array {
		if len(d.containers.all) < maxContainers {
			d.container()
		}
	}
}

func (d *summaryDecoder) container() {
	one := container{}
	for key := range d.Object {
		switch string(key) {
		case "name":
			one.from = len(d.containers.names)
			d.containers.names = append(d.containers.names, d.Bytes()...)
			one.to = len(d.containers.names)
		case "cpu":
			d.stats(&one.cpu)
		}
	}
	d.containers.all = append(d.containers.all, one)
}

// counted returns the waits of the containers that count, and whether any
// container has PSI. Those do not count that their own limit, or the pod's,
// makes wait, that hardly run, or of which something is missing.
func (c *containers) counted(pod *stats, limits cluster.CPULimits) (psi bool, waits []wait) {
	throttled := usage.ThrottledBy(pod.usageNanoCores.value*nanoToMilli, limits.Of(nil))
	for i := range c.all {
		one := &c.all[i].cpu
		if !one.percent60.known || !one.percent300.known {
			continue
		}
		psi = true
		used := one.usageNanoCores
		if used.value *= nanoToMilli; throttled || !used.known || !used.sane() || !usage.WantsCPU(used.value, one.percent60.value) {
			continue
		}
		if !usage.ThrottledBy(used.value, limits.Of(c.names[c.all[i].from:c.all[i].to])) {
			waits = append(waits, wait{one.at, one.percent60.value, one.percent300.value})
		}
	}
	return psi, waits
}

// staleContainer is how much older than the node's the stats of a container may
// be: a kubelet may still have those of one that has ended.
const staleContainer = time.Minute

// contention reads the node's contention off its containers. If no container
// has PSI, nothing is known; if none counts, nobody waits.
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
	r.reading(usage.Reading{Metric: usage.CPUContention, Window: usage.Last, At: s.cpu.at, Value: usage.Contention(last)})
	r.reading(usage.Reading{Metric: usage.CPUContention, Window: usage.Avg5m, At: s.cpu.at, Value: usage.Contention(avg5m)})
}

// share reports whether a value is a percentage of the time.
func share(percent float64) bool { return percent >= 0 && percent <= 100 }
