package admission

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestPace(t *testing.T) {
	repeat := func(took time.Duration, n int) (all []time.Duration) {
		for range n {
			all = append(all, took)
		}
		return all
	}
	atRest := repeat(8*time.Millisecond, 5)
	for name, tc := range map[string]struct {
		looks []time.Duration
		want  bool // the result of the last call
	}{
		"at rest":                                 {looks: atRest},
		"the first look of all":                   {looks: repeat(time.Second, 1)},
		"a little slower than usual":              {looks: slices.Concat(atRest, repeat(19*time.Millisecond, 1))},
		"a rollout":                               {looks: slices.Concat(atRest, repeat(30*time.Millisecond, 1)), want: true},
		"two quick looks may be chance":           {looks: slices.Concat(atRest, repeat(30*time.Millisecond, 1), repeat(8*time.Millisecond, 2)), want: true},
		"three are not":                           {looks: slices.Concat(atRest, repeat(30*time.Millisecond, 1), repeat(8*time.Millisecond, 3))},
		"far away, and as far as ever":            {looks: slices.Concat(repeat(90*time.Millisecond, 5), repeat(170*time.Millisecond, 1))},
		"slow for so long that it is usual":       {looks: slices.Concat(atRest, repeat(80*time.Millisecond, len(atRest)+quickLooks))},
		"slow for a little less than that":        {looks: slices.Concat(atRest, repeat(80*time.Millisecond, len(atRest)-1)), want: true},
		"now slow, now quick":                     {looks: slices.Concat(atRest, repeat(80*time.Millisecond, 2), atRest, repeat(80*time.Millisecond, 1)), want: true},
		"slow for weeks, then at rest":            {looks: slices.Concat(repeat(80*time.Millisecond, 3*keptLooks), repeat(8*time.Millisecond, keptLooks))},
		"microseconds are no measure for a limit": {looks: slices.Concat(repeat(time.Microsecond, 5), repeat(19*time.Millisecond, 1))},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var p pace
				busy := false
				for _, took := range tc.looks {
					busy = p.busy(t.Context(), func(context.Context) error { time.Sleep(took); return nil })
					time.Sleep(busyPause)
				}
				if busy != tc.want {
					t.Errorf("busy: %v, want %v", busy, tc.want)
				}
				if len(p.took) > keptLooks {
					t.Errorf("%d looks are kept", len(p.took))
				}
			})
		})
	}
}

// If several API servers answer in turn and one of them is slow, moves wait for some seconds, not
// indefinitely. Moves of a later cycle wait again.
func TestPaceEventuallyContinues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pace
		looks := 0
		look := func(context.Context) error {
			took := 8 * time.Millisecond
			if looks++; looks%3 == 0 {
				took = 90 * time.Millisecond
			}
			time.Sleep(took)
			return nil
		}
		last, longest := time.Now(), time.Duration(0)
		for began := time.Now(); time.Since(began) < 10*time.Minute; time.Sleep(busyPause) {
			busy := p.busy(t.Context(), look)
			longest = max(longest, time.Since(last))
			if !busy {
				last = time.Now()
			}
		}
		if longest > busyAtMost+time.Second {
			t.Errorf("moves waited for %v, want %v at most", longest, busyAtMost)
		}
		p = pace{took: slices.Repeat([]time.Duration{8 * time.Millisecond}, keptLooks)}
		slow := func(context.Context) error { time.Sleep(90 * time.Millisecond); return nil }
		for range 2 {
			if !p.busy(t.Context(), slow) {
				t.Error("the first look of a cycle at a busy API server has no move wait")
			}
			time.Sleep(time.Hour)
		}
	})
}

// All moves of a cycle share the result, so a busy API server is queried once per pause, not once
// per move.
func TestPaceAddsNoLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, looks := pace{took: slices.Repeat([]time.Duration{time.Millisecond}, keptLooks)}, 0
		for began := time.Now(); time.Since(began) < time.Second; time.Sleep(time.Millisecond) {
			p.busy(t.Context(), func(context.Context) error { looks++; time.Sleep(50 * time.Millisecond); return nil })
		}
		if looks > 5 {
			t.Errorf("%d looks in a second, want at most 5", looks)
		}
	})
}

// If a query fails, the next call reports the error.
func TestPaceOfFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pace{took: []time.Duration{time.Millisecond}}
		if p.busy(t.Context(), func(context.Context) error { time.Sleep(time.Second); return errors.New("away") }) {
			t.Error("a look that fails has moves wait")
		}
	})
}
