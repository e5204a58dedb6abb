package usage

import (
	"math"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// memoryUnit is the grain in which rings keep memory: a page, so that 32 bits reach 16 TiB.
const memoryUnit = 4096

// point is one sample in 12 bytes: seconds since the store's epoch, milli-cores, pages.
type point struct {
	second, cpuMilli, pages uint32
}

// ring keeps the newest samples of one series. Its length is bounded by the store; the oldest sample makes room.
type ring struct {
	points []point // in order of time once rotated at next
	next   int
}

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

// push adds a sample; one that is not newer than the newest is ignored.
func (r *ring) push(p point, limit int) bool {
	if newest, ok := r.newest(); ok && p.second <= newest.second {
		return false
	}
	if len(r.points) < limit {
		r.grow(limit)
		r.points = append(r.points, p)
		return true
	}
	r.points[r.next] = p
	r.next = (r.next + 1) % len(r.points)
	return true
}

// grow makes room by doubling, but never beyond the limit: most rings are full most of the time.
func (r *ring) grow(limit int) {
	if len(r.points) == cap(r.points) {
		r.points = append(make([]point, 0, min(max(2*len(r.points), 4), limit)), r.points...)
	}
}

func (r *ring) newest() (point, bool) {
	if len(r.points) == 0 {
		return point{}, false
	}
	return r.points[(r.next+len(r.points)-1)%len(r.points)], true
}

// since visits the samples not older than the given second and returns how long they span.
func (r *ring) since(second uint32, visit func(point)) time.Duration {
	oldest, youngest := uint32(math.MaxUint32), uint32(0)
	for _, p := range r.points {
		if p.second < second {
			continue
		}
		oldest, youngest = min(oldest, p.second), max(youngest, p.second)
		visit(p)
	}
	if oldest > youngest {
		return 0
	}
	return time.Duration(youngest-oldest) * time.Second
}

// windows returns every window over the samples since a second, and how long they span.
func (r *ring) windows(since uint32) (WindowAmounts, time.Duration, bool) {
	newest, ok := r.newest()
	if !ok || newest.second < since {
		return WindowAmounts{}, 0, false
	}
	var cpuMilli, pages, n int64
	span := r.since(since, func(p point) {
		cpuMilli, pages, n = cpuMilli+int64(p.cpuMilli), pages+int64(p.pages), n+1
	})
	var a WindowAmounts
	a[Last] = newest.amounts()
	a[Avg5m] = cluster.Amounts{cluster.CPU: cpuMilli / n, cluster.Memory: pages * memoryUnit / n}
	return a, span, true
}

// median returns the lower median per resource over the samples since a second: what a single odd sample cannot move.
func (r *ring) median(since uint32) cluster.Amounts {
	var cpuMilli, pages []uint32
	r.since(since, func(p point) {
		cpuMilli, pages = append(cpuMilli, p.cpuMilli), append(pages, p.pages)
	})
	if len(cpuMilli) == 0 {
		return cluster.Amounts{}
	}
	slices.Sort(cpuMilli)
	slices.Sort(pages)
	mid := (len(cpuMilli) - 1) / 2
	return cluster.Amounts{cluster.CPU: int64(cpuMilli[mid]), cluster.Memory: int64(pages[mid]) * memoryUnit}
}
