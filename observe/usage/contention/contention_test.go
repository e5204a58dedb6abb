package contention

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestContention(t *testing.T) {
	cases := map[string]struct {
		waited []float64
		want   float64
	}{
		"nobody runs":                  {nil, 0},
		"one waits for itself":         {[]float64{40}, 40},
		"half of two":                  {[]float64{40, 0}, 26.4}, // 0.66 of the way from 0 to 40
		"all wait":                     {[]float64{30, 31, 32, 33}, 31.98},
		"one in four is odd":           {[]float64{1, 99, 2, 3}, 2.98},
		"a third waits, two do not":    {[]float64{50, 0, 0}, 16},  // rank 1.32
		"two of three wait":            {[]float64{50, 50, 0}, 50}, // rank 1.32
		"a share of nearly everything": {[]float64{100, 100, 100}, 100},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Of(tc.waited); math.Abs(got-tc.want) > 1e-9 {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// Contention is a share of time. It does not depend on the order of the
// containers, and does not fall when a container waits longer.
func TestContentionIsAQuantile(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		waited := make([]float64, 1+rng.IntN(60))
		for i := range waited {
			waited[i] = 100 * rng.Float64() * rng.Float64()
		}
		longer := append([]float64(nil), waited...)
		longer[rng.IntN(len(longer))] += 10
		got, more := Of(waited), Of(longer)
		if got < waited[0] || got > waited[len(waited)-1] || more < got {
			t.Fatalf("%v gave %v, with one more %v", waited, got, more)
		}
	}
}

func TestWantsCPU(t *testing.T) {
	for _, tc := range []struct {
		used, waited float64
		want         bool
	}{{50, 0, true}, {49, 4.9, false}, {0, 5, true}, {0, 0, false}, {2000, 0, true}} {
		if got := WantsCPU(tc.used, tc.waited); got != tc.want {
			t.Errorf("%vm and %v%%: %t, want %t", tc.used, tc.waited, got, tc.want)
		}
	}
}

func TestThrottledBy(t *testing.T) {
	cases := map[string]struct {
		used  float64
		limit int64
		want  bool
	}{
		"no limit":             {5000, 0, false},
		"half of the limit":    {500, 1000, false},
		"just below":           {899.9, 1000, false},
		"at 90 % of the limit": {900, 1000, true},
		"above it":             {1003, 1000, true},
		"idle":                 {0, 100, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := ThrottledBy(tc.used, tc.limit); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}
