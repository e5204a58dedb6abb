package safeguards

import (
	"math"
	"time"

	"github.com/evenkeel/evenkeel/ledger"
)

// within reports whether a time is less than d ago or in the plausible future.
func within(t, now time.Time, d time.Duration) bool { return ledger.Within(t, now, d) }

// known reports whether a time is set and plausible.
func known(t, now time.Time) bool { return ledger.Known(t, now) }

// sum adds non-negative durations without overflow.
func sum(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// stamp formats a time for details.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
