package usage

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// ring keeps the newest samples of one series. The store bounds its length; a
// new sample replaces the oldest.
type ring[S any] struct {
	samples []S // in order of time once rotated at next
	// newestAt is the second of the newest sample.
	newestAt,
	next uint32
}

// push adds the sample of a second. A sample that is not newer than the newest one is
// ignored.
func (r *ring[S]) push(second uint32, s S, limit int) bool {
	if len(r.samples) > 0 && second <= r.newestAt {
		return false
	}
	r.newestAt = second
	if len(r.samples) < limit {
		r.grow(limit)
		r.samples = append(r.samples, s)
		return true
	}
	r.samples[r.next] = s
	r.next = (r.next + 1) % uint32(len(r.samples)) // at most a limit
	return true
}

// grow doubles the capacity, but never beyond the limit, because most rings are
// full most of the time.
func (r *ring[S]) grow(limit int) {
	if len(r.samples) == cap(r.samples) {
		r.samples = append(make([]S, 0, min(max(2*len(r.samples), 4), limit)), r.samples...)
	}
}

func (r *ring[S]) newest() (S, bool) {
	if len(r.samples) == 0 {
		var none S
		return none, false
	}
	return r.samples[(int(r.next)+len(r.samples)-1)%len(r.samples)], true
}

// stamped is a sample with its time: seconds since the store's epoch.
type stamped interface{ stamp() uint32 }

// samplesSince visits the samples not older than the given second, in order, and returns
// the time that they span.
func samplesSince[S stamped](r *ring[S], second uint32, visit func(S)) time.Duration {
	older, newer := notBefore(r.samples[r.next:], second), notBefore(r.samples[:r.next], second)
	for _, s := range older {
		visit(s)
	}
	for _, s := range newer {
		visit(s)
	}
	if len(older) == 0 {
		older = newer
	}
	if len(older) == 0 {
		return 0
	}
	return time.Duration(r.newestAt-older[0].stamp()) * time.Second
}

// notBefore drops the samples from before a second; samples must be in order of
// time.
func notBefore[S stamped](samples []S, second uint32) []S {
	from, _ := slices.BinarySearchFunc(samples, second, func(s S, t uint32) int { return cmp.Compare(s.stamp(), t) })
	return samples[from:]
}

// memoryUnit is the resolution of memory in pods' rings: a page, so that 32
// bits reach 16 TiB.
const memoryUnit = 4096

// point is one sample of a pod in 12 bytes: seconds since the store's epoch,
// milli-cores, pages.
type point struct {
	second, cpuMilli, pages uint32
}

func (p point) stamp() uint32 { return p.second }

func pack(second uint32, used cluster.Amounts) point {
	return point{
		second:   second,
		cpuMilli: clamp32(used[cluster.CPU]),
		pages:    clamp32((used[cluster.Memory] + memoryUnit/2) / memoryUnit),
	}
}

func (p point) amounts() cluster.Amounts {
	return cluster.Amounts{cluster.CPU: int64(p.cpuMilli), cluster.Memory: int64(p.pages) * memoryUnit}
}

func clamp32(v int64) uint32 { return uint32(min(max(v, 0), math.MaxUint32)) }

// medians finds medians of points; it keeps the slices that it sorts.
type medians struct{ cpuMilli, pages []uint32 }

// of returns the lower median per resource of the samples since the given second, or the
// newest sample if there are none. No single outlier can change the lower median much.
func (m *medians) of(samples *ring[point], since uint32) cluster.Amounts {
	m.cpuMilli, m.pages = m.cpuMilli[:0], m.pages[:0]
	samplesSince(samples, since, func(p point) {
		m.cpuMilli, m.pages = append(m.cpuMilli, p.cpuMilli), append(m.pages, p.pages)
	})
	if len(m.cpuMilli) == 0 {
		newest, _ := samples.newest()
		return newest.amounts()
	}
	slices.Sort(m.cpuMilli)
	slices.Sort(m.pages)
	mid := (len(m.cpuMilli) - 1) / 2
	return point{cpuMilli: m.cpuMilli[mid], pages: m.pages[mid]}.amounts()
}
