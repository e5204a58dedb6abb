package forecast

import (
	"math/rand/v2"
	"testing"
)

// The trough covers at least the last two hours, and nothing older than four. It is unknown until
// two hours have been seen, and again after a gap.
func TestTrough(t *testing.T) {
	type sample struct {
		second uint32
		milli  int64
	}
	r := rand.New(rand.NewPCG(7, 8))
	known, unknown := 0, 0
	for range 200 {
		var trough Trough
		var seen []sample // since the last gap
		second := r.Uint32N(1 << 30)
		for range 400 {
			step := 15 + r.Uint32N(300)
			if r.IntN(150) == 0 {
				step += 15 * 60
				seen = nil
			}
			second += step
			s := sample{second, 1 + r.Int64N(5000)*r.Int64N(2)}
			seen = append(seen, s)
			trough.Add(s.second, s.milli)
			recent, possible := int64(5000), int64(5000)
			for _, other := range seen {
				if second-other.second < halfSeconds {
					recent = min(recent, other.milli)
				}
				if second-other.second < 2*halfSeconds {
					possible = min(possible, other.milli)
				}
			}
			got, span := trough.MilliCores(), second-seen[0].second
			switch {
			case got > 0 && (span < halfSeconds || got > recent || got < possible):
				t.Fatalf("at least %d after %d s; it was %d in two hours and %d in four", got, span, recent, possible)
			case got == 0 && span > 2*halfSeconds:
				t.Fatalf("nothing is known after %d s", span)
			case got == 0:
				unknown++
			default:
				known++
			}
		}
	}
	if known < 1000 || unknown < 1000 {
		t.Errorf("known %d times, unknown %d times: the test proves little", known, unknown)
	}
}
