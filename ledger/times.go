package ledger

import "time"

// maxClockSkew is how far ahead of now a time may be. A later time is ignored, because the clock that provided it was
// wrong.
const maxClockSkew = time.Hour

// Known reports whether a time of a move is set and plausible.
func Known(t, now time.Time) bool { return !t.IsZero() && t.Sub(now) <= maxClockSkew }

// Within reports whether a time of a move is less than d ago, or plausibly in the future.
func Within(t, now time.Time, d time.Duration) bool { return Known(t, now) && now.Sub(t) < d }
