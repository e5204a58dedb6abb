package usage

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// A pod's ring returns the same as a list of all its samples would, however the samples are spread
// over time.
func TestPodRingEqualsAllSamples(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	gaps := []uint32{0, 1, 15, 15, 15, 15, 299, 300, 301, 65_535, 65_536, 70_000, 10 << 16}
	const limit = 22
	for round := range 200 {
		var ring podRing
		var all []point
		second := rng.Uint32N(1 << 20)
		for range 3 * limit {
			second += gaps[rng.IntN(len(gaps))]
			p := point{second: second, cpuMilli: rng.Uint32N(1 << fractionBits), pages: rng.Uint32N(1 << fractionBits)}
			if taken := len(all) == 0 || p.second > all[len(all)-1].second; ring.push(p, limit) != taken {
				t.Fatalf("round %d: second %d accepted %t, want %t", round, second, !taken, taken)
			} else if taken {
				all = append(all, p)
			}
			if newest, ok := ring.newest(); !ok || newest != all[len(all)-1] {
				t.Fatalf("round %d: newest %+v, want %+v", round, newest, all[len(all)-1])
			}
			since := second - min(second, 300)
			used, span, ok := ring.mean(since)
			if want, over := meanOf(all, limit, since); !ok || used != want || span != over {
				t.Fatalf("round %d, second %d: mean %v over %v (%t), want %v over %v", round, second, used, span, ok, want, over)
			}
			if _, _, ok := ring.mean(second + 1); ok {
				t.Fatalf("round %d: a mean of samples that are not there", round)
			}
		}
	}
}

// meanOf returns the mean of the newest samples, at most limit of them, that are not older than
// second since.
func meanOf(all []point, limit int, since uint32) (cluster.Amounts, time.Duration) {
	var sum cluster.Amounts
	var n int64
	var first uint32
	for _, p := range all[max(len(all)-limit, 0):] {
		if p.second < since {
			continue
		}
		if n == 0 {
			first = p.second
		}
		sum, n = sum.Plus(cluster.Amounts{cluster.CPU: int64(p.cpuMilli), cluster.Memory: int64(p.pages)}), n+1
	}
	return cluster.Amounts{cluster.CPU: sum[cluster.CPU] / n, cluster.Memory: sum[cluster.Memory] * memoryUnit / n},
		time.Duration(all[len(all)-1].second-first) * time.Second
}

// Figures up to a million are stored exactly, and larger ones to a millionth. The result is never
// negative.
func TestFiguresKeepTheirFirstBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	figures := []uint32{0, 1, 1<<20 - 1, 1 << 20, 1<<20 + 1, 1<<21 - 1, 3_145_728, 1<<32 - 1, 1<<32 - 2049}
	for range 10_000 {
		figures = append(figures, rng.Uint32()>>rng.IntN(32))
	}
	for _, v := range figures {
		f := figure(v)
		got := unfigure(f)
		if f >= 1<<figureBits || v < 1<<fractionBits && got != v || math.Abs(float64(got)-float64(v)) > float64(v)/(1<<fractionBits) {
			t.Fatalf("%d is kept as %#x, which reads %d", v, f, got)
		}
	}
}

// The packed figures of a sample do not overlap, even if they are as large as possible.
func TestSqueezedFiguresDoNotMix(t *testing.T) {
	for _, p := range []point{
		{second: 1, cpuMilli: 2, pages: 3}, {second: math.MaxUint32, cpuMilli: 0, pages: math.MaxUint32},
		{second: 1 << 16, cpuMilli: math.MaxUint32}, {second: 1<<16 - 1, pages: 7},
	} {
		var ring podRing
		ring.push(p, 1)
		if got, ok := ring.newest(); !ok || got != p {
			t.Errorf("kept %+v, want %+v", got, p)
		}
	}
}
