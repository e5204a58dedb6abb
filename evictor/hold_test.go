package evictor

import (
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

func TestHoldEndsWhenKubeSchedulerIsHeardOrMuchTimeHasPassed(t *testing.T) {
	failed := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	held := ledger.Hold{Reason: string(reasons.SteeringAbsent), Since: failed, Until: failed.Add(probeAgainAfter), Asked: 7}
	for name, tc := range map[string]struct {
		hold  ledger.Hold
		after time.Duration
		asked int64
		want  reasons.Reason
	}{
		"nothing failed, nothing is held":                           {hold: ledger.Hold{}, asked: 0, want: ""},
		"the next cycle rests":                                      {hold: held, after: 5 * time.Minute, asked: 7, want: reasons.SteeringAbsent},
		"a later cycle rests as well":                               {hold: held, after: 29 * time.Minute, asked: 7, want: reasons.SteeringAbsent},
		"an extender that has restarted has not been asked again":   {hold: held, after: time.Minute, asked: 0, want: reasons.SteeringAbsent},
		"kube-scheduler asked again":                                {hold: held, after: time.Second, asked: 8, want: ""},
		"the request count is unknown, so one more probe is due":    {hold: held, after: 30 * time.Minute, asked: 7, want: ""},
		"a clock that went backwards does not end it":               {hold: held, after: -time.Hour, asked: 7, want: reasons.SteeringAbsent},
		"a clock that was a day ahead does":                         {hold: held, after: -24 * time.Hour, asked: 7, want: ""},
		"a replacement that never landed is held for its own cause": {hold: ledger.Hold{Reason: string(reasons.ProbeNotLanded), Until: failed.Add(time.Minute)}, want: reasons.ProbeNotLanded},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Holds(tc.hold, failed.Add(tc.after), tc.asked); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
