package forecast

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

func TestLevelsSize(t *testing.T) {
	if size := unsafe.Sizeof(Levels{}); size > 76 {
		t.Errorf("Levels take %d bytes", size)
	}
}

// Percentiles and the mean are within a level of those of the samples themselves.
func TestLevelsAreClose(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 44))
	for range 200 {
		var levels Levels
		var pool Pool
		centre, spread := math.Exp2(5+8*rng.Float64()), rng.Float64()
		samples, sum := make([]float64, 200), 0.0 // no count can reach its maximum
		for i := range samples {
			used := int64(centre * math.Exp(spread*rng.NormFloat64()))
			levels.Add(uint32(sampleSeconds*(i+1)), used)
			samples[i] = float64(used)
			sum += float64(used)
		}
		pool.Add(&levels)
		slices.Sort(samples)
		if pool.Count() != 200 {
			t.Fatalf("%d samples", pool.Count())
		}
		for percent, exact := range map[int64]float64{50: samples[99], 95: samples[189], 100: samples[199]} {
			if exact < leastLevel || exact > 50_000 {
				continue
			}
			if got := float64(pool.At(percent)); math.Abs(got/exact-1) > 0.065 && math.Abs(got-exact) > 1 {
				t.Errorf("p%d is %.0f, want %.0f", percent, got, exact)
			}
		}
		if mean := sum / 200; mean > 2*leastLevel && samples[199] < 50_000 && math.Abs(float64(pool.Mean())/mean-1) > 0.065 {
			t.Errorf("the mean is %d, want %.0f", pool.Mean(), mean)
		}
	}
}

// One mean is counted per five minutes, however often usage is sampled.
func TestLevelsCountTime(t *testing.T) {
	var levels Levels
	for second := uint32(1000); second < 1000+3600; second += 15 {
		levels.Add(second, 500)
	}
	var pool Pool
	if pool.Add(&levels); pool.Count() != 12 {
		t.Errorf("an hour counts as %d means", pool.Count())
	}
}

// What is long ago fades: after three days at another level, less than a quarter is left of it.
func TestLevelsFade(t *testing.T) {
	var levels Levels
	second := uint32(0)
	for _, used := range []int64{4000, 100} {
		for range 3 * 24 * 12 {
			second += sampleSeconds
			levels.Add(second, used)
		}
	}
	var pool Pool
	if pool.Add(&levels); pool.At(75) > 110 || pool.Count() < 128 {
		t.Errorf("three days later, p75 is %d of %d means", pool.At(75), pool.Count())
	}
}

func TestLevelsAtTheEnds(t *testing.T) {
	var empty Pool
	if empty.Mean() != 0 || empty.At(95) != 0 || empty.At(0) != 0 {
		t.Error("an empty pool has usage")
	}
	for _, used := range []int64{math.MinInt64, -1, 0, 1, leastLevel, 1 << 40, math.MaxInt64} {
		var levels Levels
		levels.Add(0, used)
		var pool Pool
		if pool.Add(&levels); pool.Count() != 1 || pool.At(100) <= 0 {
			t.Errorf("%d: %d means, at %d", used, pool.Count(), pool.At(100))
		}
	}
}
