package ledger

import (
	"testing"
	"time"
)

// If the API server's clock was a month ahead and is set back, no move recorded in the meantime
// lasts for a month: moves in flight expire, and ended ones no longer affect their owners. A move
// recorded by a clock that is a minute ahead counts as new.
func TestMovesOfAWrongClock(t *testing.T) {
	for name, tc := range map[string]struct {
		ahead time.Duration
		lasts bool
	}{
		"a month ahead":  {30 * 24 * time.Hour, false},
		"a minute ahead": {time.Minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			at, now := at(0).Add(tc.ahead), at(0)
			b := newBooks(Config{SourceAvoidance: 30 * time.Minute})
			b.Record(at, web(1), web(2), web(3))
			for _, uid := range []string{"uid-1", "uid-2"} {
				b.Accepted(uid, at)
				b.Leaves(uid, at)
			}
			b.Created(webPod("new"))
			b.Bound(webPod("new"), "cool", at)
			stored, next := b.Export(), newBooks(Config{SourceAvoidance: 30 * time.Minute})
			next.Adopt(stored, now)
			b.Expire(now)
			for process, b := range map[string]*books{"this process": b, "the next process": next} {
				if _, expected := b.Expects("new"); expected != tc.lasts {
					t.Errorf("%s: the landed pod is expected to use what its predecessor did: %v", process, expected)
				}
				avoided := false
				b.Avoid("ns", web(1).Owner.UID, now, func(string) { avoided = true })
				if avoided != tc.lasts {
					t.Errorf("%s: the source is avoided: %v", process, avoided)
				}
				inFlight := 0
				if tc.lasts {
					inFlight = 2
				}
				if got := b.InFlight(); len(got) != inFlight {
					t.Errorf("%s: %d moves are in flight, want %d", process, len(got), inFlight)
				}
			}
		})
	}
}
