package forecast

import (
	"math/rand/v2"
	"testing"
	"unsafe"
)

// The peak always covers the last two hours, and nothing older than four hours.
func TestPeak(t *testing.T) {
	if size := unsafe.Sizeof(Peak{}); size > 12 {
		t.Errorf("%d bytes; docs/forecast.md states 12", size)
	}
	type sample struct {
		second uint32
		milli  int64
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		var p Peak
		var all []sample
		second := r.Uint32N(1 << 30)
		for range 100 {
			second += 15 + r.Uint32N(1200)*r.Uint32N(2)*(1+r.Uint32N(20)*r.Uint32N(2))
			s := sample{second, r.Int64N(5000)}
			all = append(all, s)
			p.Add(s.second, s.milli)
			recent, possible := int64(0), int64(0)
			for _, other := range all {
				if second-other.second < halfSeconds {
					recent = max(recent, other.milli)
				}
				if second-other.second < 2*halfSeconds {
					possible = max(possible, other.milli)
				}
			}
			if got := p.MilliCores(); got < recent || got > possible {
				t.Fatalf("a peak of %d; it was %d in two hours and %d in four", got, recent, possible)
			}
		}
	}
	if (&Peak{}).MilliCores() != 0 {
		t.Error("there is a peak without a sample")
	}
}
