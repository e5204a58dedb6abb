package safeguards

import (
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// A refusal includes the time at which it ends, if that is known in advance.
func TestAroundUntil(t *testing.T) {
	in := func(d time.Duration) time.Time { return noon.Add(d) }
	cases := map[string]struct {
		change func(*Config)
		moves  []ledger.Move
		want   reasons.Reason
		until  time.Time
	}{
		"nothing is in the way": {},
		// Cooldown.Base of 10 minutes, counted from the judgement
		"moves that did not help": {moves: []ledger.Move{move(1, judged(4*time.Minute, false), from("other"))}, want: reasons.OwnerCoolingDown, until: in(6 * time.Minute)},
		"any move": {
			change: func(c *Config) { c.Cooldown.Always = 30 * time.Minute },
			moves:  []ledger.Move{move(1, judged(10*time.Minute, true))}, want: reasons.OwnerCoolingDown, until: in(20 * time.Minute),
		},
		"a denial": {
			moves: []ledger.Move{move(1, cancelled(time.Minute), func(m *ledger.Move) { m.Denied = "webhook said no" })},
			want:  reasons.EvictionDenied, until: in(9 * time.Minute),
		},
		"its node settles": {moves: []ledger.Move{move(1, landed(20*time.Second), owned("rs-2"))}, want: reasons.NodeSettling, until: in(40 * time.Second)},
		"the hour of its owner": {
			change: func(c *Config) { c.MaxPerHourOfOwner = 1 },
			moves:  []ledger.Move{move(1, landed(20*time.Minute))}, want: reasons.OwnerMovesPerHour, until: in(40 * time.Minute),
		},
		"a replacement without a node": {moves: []ledger.Move{move(1, evicted(3*time.Minute), from("other"))}, want: reasons.OwnerReplacementPending},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := config()
			if tc.change != nil {
				tc.change(&c)
			}
			next := move(9)
			got, _, until := New(c).At(facts(tc.moves...), noon).Around(&next.Intent)
			if got != tc.want || !until.Equal(tc.until) {
				t.Errorf("%q until %v, want %q until %v", got, until, tc.want, tc.until)
			}
		})
	}
}
