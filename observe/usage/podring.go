package usage

import (
	"iter"
	"math"
	"math/bits"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// podRing is a pod's ring of points, 8 bytes each because there may be a
// hundred thousand pods. Milli-cores and pages are stored with 20 significant
// bits, so numbers up to a million are exact and larger ones accurate to a
// millionth.
type podRing struct{ ring[squeezed] }

// squeezed is an encoded point: the lower 16 bits of its second, then two
// figures of 24 bits.
type squeezed uint64

const (
	figureBits   = 24
	fractionBits = 20
)

func squeeze(p point) squeezed {
	return squeezed(p.second)<<(2*figureBits) | squeezed(figure(p.cpuMilli))<<figureBits | squeezed(figure(p.pages))
}

// figure encodes a number as its 20 leading bits and the number of dropped
// bits.
func figure(v uint32) uint32 {
	left := max(bits.Len32(v)-fractionBits, 0)
	if left == 0 {
		return v
	}
	fraction := (uint64(v) + 1<<(left-1)) >> left
	if fraction == 1<<fractionBits {
		fraction, left = fraction/2, left+1
	}
	return uint32(left)<<fractionBits | uint32(fraction) // 4 and 20 bits
}

func unfigure(f uint32) uint32 {
	return uint32(min(uint64(f&(1<<fractionBits-1))<<(f>>fractionBits), math.MaxUint32)) // bounded
}

func (s squeezed) cpuMilli() uint32 { return unfigure(uint32(s>>figureBits) & (1<<figureBits - 1)) }

func (s squeezed) pages() uint32 { return unfigure(uint32(s) & (1<<figureBits - 1)) }

// low returns the lower 16 bits of the second.
func (s squeezed) low() uint16 { return uint16(s >> (2 * figureBits)) } // the highest 16 bits

// push adds a sample. A sample that is not newer than the newest one is ignored. Samples
// that are older than 16 bits of seconds are dropped, because no window of a pod reaches
// that far back.
func (r *podRing) push(p point, limit int) bool {
	if p.second > r.newestAt && p.second-r.newestAt > math.MaxUint16 {
		r.samples, r.next = r.samples[:0], 0
	}
	return r.ring.push(p.second, squeeze(p), limit)
}

func (r *podRing) newest() (point, bool) {
	s, ok := r.ring.newest()
	return point{second: r.newestAt, cpuMilli: s.cpuMilli(), pages: s.pages()}, ok
}

// since yields the samples that are not older than the given second, the newest
// first.
func (r *podRing) since(second uint32) iter.Seq[point] {
	return func(yield func(point) bool) {
		at, place := r.newestAt, int(r.next)
		for range r.samples {
			if place--; place < 0 {
				place = len(r.samples) - 1
			}
			s := r.samples[place]
			at -= uint32(uint16(at) - s.low()) // derived from the lower bits
			if at < second || !yield(point{second: at, cpuMilli: s.cpuMilli(), pages: s.pages()}) {
				return
			}
		}
	}
}

// mean returns the mean of the samples not older than the given second, and the time that
// they span.
func (r *podRing) mean(since uint32) (used cluster.Amounts, span time.Duration, ok bool) {
	var cpuMilli, pages, n int64
	oldest := r.newestAt
	for p := range r.since(since) {
		oldest, cpuMilli, pages, n = p.second, cpuMilli+int64(p.cpuMilli), pages+int64(p.pages), n+1
	}
	if n == 0 {
		return used, 0, false
	}
	return cluster.Amounts{cluster.CPU: cpuMilli / n, cluster.Memory: pages * memoryUnit / n}, time.Duration(r.newestAt-oldest) * time.Second, true
}

// highest returns the maximum of each resource in the samples not older than
// the given second, or the newest sample.
func (r *podRing) highest(since uint32) (used cluster.Amounts) {
	for p := range r.since(min(since, r.newestAt)) {
		for k, v := range p.amounts() {
			used[k] = max(used[k], v)
		}
	}
	return used
}
