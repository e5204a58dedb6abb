package extender

import "math"

// The resources that the extender reads, as indices of amounts.
const (
	cpu = iota
	memory
	resourceCount
)

// amounts holds cpu in 1/1e9 cores and memory in 1/1000 bytes; Absent if an amount is not
// mentioned. With these units, sums are as exact as those of resource.Quantity. The
// largest amounts are 9e9 cores and 9e15 bytes.
type amounts [resourceCount]int64

var noAmounts = amounts{Absent, Absent}

// plus adds amounts. An amount that neither list mentions stays Absent.
func (a amounts) plus(b amounts) amounts {
	for i := range a {
		switch {
		case a[i] == Absent:
			a[i] = b[i]
		case b[i] == Absent:
		case a[i] > math.MaxInt64-b[i]:
			a[i] = math.MaxInt64
		default:
			a[i] += b[i]
		}
	}
	return a
}

// larger returns the larger of each amount.
func (a amounts) larger(b amounts) amounts {
	for i := range a {
		a[i] = max(a[i], b[i])
	}
	return a
}

// or returns a with the amounts that b mentions replaced by those of b.
func (a amounts) or(b amounts) amounts {
	for i := range a {
		if b[i] != Absent {
			a[i] = b[i]
		}
	}
	return a
}

// containerResources holds the requests and limits of one container.
type containerResources struct {
	requests, limits amounts
	restarts         bool // an init container with restartPolicy Always: a sidecar
}

// tally sums one kind of amounts, requests or limits, over the containers of a pod. It
// follows k8s.io/component-helpers/resource: the amounts of containers and sidecars add
// up, an init container needs its own amounts plus those of the sidecars started before
// it, and the pod needs the larger of these two.
type tally struct{ sum, sidecars, init amounts }

func (t *tally) addInit(a amounts, sidecar bool) {
	if sidecar {
		t.sum = t.sum.plus(a)
		t.sidecars = t.sidecars.plus(a)
		t.init = t.init.larger(t.sidecars)
		return
	}
	t.init = t.init.larger(a.plus(t.sidecars))
}

// resources gathers a pod's requests and limits, in any order.
type resources struct {
	requests, limits       tally
	podRequests, podLimits amounts
	overhead               amounts
}

func newResources() resources {
	none := tally{sum: noAmounts, sidecars: noAmounts, init: noAmounts}
	return resources{
		requests: none, limits: none,
		podRequests: noAmounts, podLimits: noAmounts, overhead: noAmounts,
	}
}

func (a *resources) addContainer(c containerResources) {
	a.requests.sum = a.requests.sum.plus(c.requests)
	a.limits.sum = a.limits.sum.plus(c.limits)
}

func (a *resources) addInit(c containerResources) {
	a.requests.addInit(c.requests, c.restarts)
	a.limits.addInit(c.limits, c.restarts)
}

// total returns the pod's requests and limits. Overhead raises only limits that
// are set.
func (a *resources) total() (requests, limits amounts) {
	requests = a.requests.sum.larger(a.requests.init).or(a.podRequests).plus(a.overhead)
	limits = a.limits.sum.larger(a.limits.init).or(a.podLimits)
	for i := range limits {
		if limits[i] != Absent && limits[i] != 0 {
			limits[i] = limits.plus(a.overhead)[i]
		}
	}
	return requests, limits
}

// settle sets the pod's amounts to the gathered ones, rounded up.
func (a *resources) settle(pod *Pod) {
	requests, limits := a.total()
	pod.CPUMilli = ceilDiv(requests[cpu], cpuUnits/1000)
	pod.MemoryBytes = ceilDiv(requests[memory], memoryUnits)
	pod.LimitCPUMilli = max(0, ceilDiv(limits[cpu], cpuUnits/1000))
	pod.LimitMemoryBytes = max(0, ceilDiv(limits[memory], memoryUnits))
}

// ceilDiv divides and rounds up; Absent stays Absent.
func ceilDiv(amount, by int64) int64 {
	if amount == Absent {
		return Absent
	}
	quotient := amount / by
	if amount%by != 0 {
		quotient++
	}
	return quotient
}
