package kubelet

import (
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage/contention"
)

// stats holds the fields of CPU, memory or IO stats that are used.
type stats struct {
	at                              time.Time
	usageNanoCores, coreNanoSeconds number
	workingSetBytes, availableBytes number
	waited, percent60, percent300   number
}

// wait is the time for which some task of a container waited for a CPU.
type wait struct {
	at                    time.Time
	percent60, percent300 float64
}

// containers holds the containers of one pod until it is known which pod that
// is.
type containers struct {
	all []container
	// names holds all names, concatenated.
	names []byte
}

type container struct {
	from, to int // position of its name
	cpu      stats
}

// maxContainers bounds the containers kept per pod; a pod spec with more would
// be too large for the API server.
const maxContainers = 1000

func (c *containers) reset() { c.all, c.names = c.all[:0], c.names[:0] }

// counted returns the waits of the containers that count, and whether any measured
// container has PSI. A container does not count if it waits because of its own limit or
// that of its pod, if it hardly runs, or if a value is missing. A pod's usage is at least
// the sum of its containers' usage, because its own value is zero until it is measured.
func (c *containers) counted(pod *stats, limits cluster.CPULimits) (psi bool, waits []wait) {
	used := 0.0
	for i := range c.all {
		used += c.all[i].cpu.usageNanoCores.value
	}
	throttled := contention.ThrottledBy(max(used, pod.usageNanoCores.value)*nanoToMilli, limits.Of(nil))
	for i := range c.all {
		one := &c.all[i].cpu
		if !one.percent60.known || !one.percent300.known {
			continue
		}
		used := one.usageNanoCores
		psi = psi || used.known // otherwise the kubelet has not measured yet whether the container runs
		if used.value *= nanoToMilli; throttled || !used.known || !used.sane() || !contention.WantsCPU(used.value, one.percent60.value) {
			continue
		}
		if !contention.ThrottledBy(used.value, limits.Of(c.names[c.all[i].from:c.all[i].to])) {
			waits = append(waits, wait{one.at, one.percent60.value, one.percent300.value})
		}
	}
	return psi, waits
}
