package safeguards

import (
	"math"
	"time"
)

// aheadAtMost is by how much clocks may differ for a time to be taken
// seriously.
const aheadAtMost = time.Hour

// within reports whether a time is less than d ago, or somewhat ahead.
func within(t, now time.Time, d time.Duration) bool {
	return known(t, now) && now.Sub(t) < d
}

// known reports whether a time is one to reckon with.
func known(t, now time.Time) bool { return !t.IsZero() && t.Sub(now) <= aheadAtMost }

// sum adds durations that are not negative.
func sum(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// stamp prints a time as details have it.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
