package safeguards

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// A zero Config has no limits. Empty moves, and failed calls without data, do not stop evicting.
func TestZeroes(t *testing.T) {
	v := New(Config{}).At(Facts{}, time.Time{})
	reason, detail := v.Closed()
	expect(t, "closed", reason, "", detail, "")
	if v.Left() != -1 || !v.Until().IsZero() {
		t.Errorf("left %d until %v", v.Left(), v.Until())
	}
	reason, detail = v.Refuse(&ledger.Intent{})
	expect(t, "refused", reason, "", detail, "")
	v = New(Config{}).At(Facts{InFlight: []ledger.Move{{}}, Ended: []ledger.Move{{}}, Calls: []Call{{Err: true}}}, noon)
	reason, detail = v.Closed()
	expect(t, "closed by moves of nobody", reason, "", detail, "")
}

// After the clock has gone back, times up to an hour ahead restrict as if they were now, and later
// ones not at all.
func TestClockWentBack(t *testing.T) {
	cases := map[string]struct {
		ahead time.Duration
		want  reasons.Reason
		left  int
	}{
		"ten minutes":            {ahead: 10 * time.Minute, want: reasons.OwnerCoolingDown, left: 1},
		"an hour":                {ahead: time.Hour, want: reasons.OwnerCoolingDown, left: 1},
		"more than an hour":      {ahead: time.Hour + 1, left: 3},
		"as far as times can be": {ahead: math.MaxInt64, left: 3},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := facts(move(1, judged(-tc.ahead, false)), move(2, evicted(-tc.ahead), from("far")))
			for f.Calls = calls("rrrrr", 0); len(f.Calls) < 6; f.Calls = append(f.Calls, Call{At: ago(-tc.ahead)}) {
				for i := range f.Calls {
					f.Calls[i].At = ago(-tc.ahead)
				}
			}
			v := New(config(func(c *Config) { c.MaxPerHour = 3 })).At(f, noon)
			reason, detail := v.Owner("ns", "rs-1")
			expect(t, "owner", reason, tc.want, detail, "")
			if v.Left() != tc.left {
				t.Errorf("left %d, want %d", v.Left(), tc.left)
			}
			settling, closed := reasons.Reason(""), reasons.Reason("")
			if tc.want != "" {
				settling, closed = reasons.NodeSettling, reasons.EvictionsRefused
			}
			reason, detail = v.Node("far")
			expect(t, "node", reason, settling, detail, "")
			reason, detail = v.Closed()
			expect(t, "closed", reason, closed, detail, "")
		})
	}
}

// Calls with nonsensical times do not hide other calls.
func TestCallsOfNonsensicalTimes(t *testing.T) {
	f := facts()
	f.Calls = append(calls("eeeee", 0), Call{At: noon.AddDate(1000, 0, 0)}, Call{})
	reason, detail := New(config()).At(f, noon).Closed()
	expect(t, "closed", reason, reasons.APIErrors, detail, "5 eviction calls failed")
}

// With excessive durations, moves wait indefinitely or not at all, and no duration overflows into
// its opposite.
func TestHugeDurations(t *testing.T) {
	const huge = time.Duration(math.MaxInt64)
	all := config(func(c *Config) {
		c.NodeSettle, c.Cooldown = huge, Cooldown{Base: huge, Max: huge}
		c.Breaker.PendingAfter, c.Breaker.UnreadyAfter, c.Breaker.Rest = huge, huge, huge
	})
	f := facts(move(1, judged(9*time.Hour, false)), move(2, judged(8*time.Hour, false)), move(3, evicted(time.Hour), owned("rs-2"), from("far")))
	f.InFlight[0].TTL = huge
	f.Calls = calls("eeeee", 5*time.Hour)
	f.Replacement = func(*ledger.Move) ledger.Replacement { return ledger.Replacement{Exists: true} }
	v := New(all).At(f, noon)
	owner := func(uid string) (reasons.Reason, string) { return v.Owner("ns", uid) }
	for what, tc := range map[string]struct {
		ask  func(string) (reasons.Reason, string)
		of   string
		want reasons.Reason
	}{
		"cools down indefinitely": {owner, "rs-1", reasons.OwnerCoolingDown},
		"settles for ever":        {v.Node, "far", reasons.NodeSettling},
		"is never pending":        {owner, "rs-2", ""},
		"rests for ever":          {func(string) (reasons.Reason, string) { return v.Closed() }, "", reasons.APIErrors},
	} {
		reason, detail := tc.ask(tc.of)
		expect(t, what, reason, tc.want, detail, "")
	}
	negative := New(Config{
		MaxPerHour: -1, MaxPerHourOfOwner: math.MinInt, NodeSettle: -huge, MoveTTL: -huge, Cooldown: Cooldown{Base: -huge, Max: -huge},
		Breaker: Breaker{MaxPending: -1, MaxUnready: -1, MaxErrors: -1, PendingAfter: -huge, UnreadyAfter: -huge, Rest: -huge, MaxNotReadyPercent: 100},
	}).At(f, noon)
	reason, detail := negative.Node("far")
	expect(t, "a negative settle time", reason, "", detail, "")
	reason, detail = negative.Owner("ns", "rs-2")
	expect(t, "a negative time in flight", reason, "", detail, "")
	if negative.Left() != -1 {
		t.Errorf("a negative bound leaves %d", negative.Left())
	}
}

// NaN percentages limit nothing. Policies that contain them are rejected elsewhere.
func TestNaNPercentages(t *testing.T) {
	f := facts()
	f.NotReady, f.Calls = 10, calls("rrrrr", 0)
	c := config(func(c *Config) { c.Breaker.MaxRefusedPercent, c.Breaker.MaxNotReadyPercent = math.NaN(), math.NaN() })
	reason, detail := New(c).At(f, noon).Closed()
	expect(t, "closed", reason, "", detail, "")
}

// Even in lists that the ledger would never produce, moves are judged by their states.
func TestMovesInTheWrongList(t *testing.T) {
	right := facts(move(1, landed(time.Minute)), move(2, evicted(2*time.Minute)))
	v := New(config(func(c *Config) { c.MaxPerHour = 5 })).At(Facts{InFlight: right.Ended, Ended: right.InFlight}, noon)
	reason, detail := v.Owner("ns", "rs-1")
	expect(t, "owner", reason, reasons.OwnerReplacementPending, detail, "")
	if v.Left() != 3 {
		t.Errorf("left %d, want 3", v.Left())
	}
}

// A Verdict does not change when the values from which it was made do.
func TestVerdictIsIndependentOfItsInput(t *testing.T) {
	f := facts(move(1, judged(time.Minute, false)))
	f.Calls = calls("eeeee", 0)
	v := New(config()).At(f, noon)
	before := fmt.Sprint(v.reasons(), v.Until())
	f.Ended[0] = move(7, owned("rs-3"))
	f.Calls[4] = Call{}
	if after := fmt.Sprint(v.reasons(), v.Until()); after != before {
		t.Errorf("then %s, now %s", before, after)
	}
}

// Whatever the ledger contains, a Verdict answers and does not contradict itself.
func FuzzVerdict(f *testing.F) {
	f.Add([]byte("a move or two"), int64(0), int64(time.Minute))
	f.Add([]byte{255, 254, 253, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, int64(math.MaxInt64), int64(math.MinInt64))
	f.Fuzz(func(t *testing.T, data []byte, shift, wait int64) {
		d := dice(func(n int) int {
			if len(data) == 0 {
				return 0
			}
			b := data[0]
			data = data[1:]
			return int(b) % n
		})
		c := d.config()
		if d(2) == 0 {
			c.NodeSettle, c.Cooldown.Base, c.Breaker.Rest, c.Breaker.PendingAfter = time.Duration(wait), time.Duration(wait), time.Duration(wait), time.Duration(wait)
		}
		facts := d.facts(d(30))
		for i := range facts.InFlight {
			facts.InFlight[i].TTL = time.Duration(wait)
		}
		facts.Replacement = func(*ledger.Move) ledger.Replacement {
			return ledger.Replacement{Exists: d(2) == 0, Ready: d(2) == 0, Restarts: d(9)}
		}
		v := New(c).At(facts, noon.Add(time.Duration(shift)))
		agree(t, v, facts)
	})
}

func agree(t *testing.T, v *Verdict, facts Facts) {
	t.Helper()
	closed, _ := v.Closed()
	left := v.Left()
	if left < -1 || left == 0 && closed == "" || closed == reasons.MovesPerHour && left != 0 {
		t.Fatalf("closed for %q with %d moves left", closed, left)
	}
	if closed == "" && !v.Until().IsZero() {
		t.Fatalf("open, but until %v", v.Until())
	}
	allowed := 0
	for i := range facts.InFlight {
		if facts.InFlight[i].State != ledger.Intended {
			continue
		}
		if reason, detail := v.Refuse(&facts.InFlight[i].Intent); reason == "" {
			allowed++
		} else if detail == "" {
			t.Fatalf("refused for %q without a word", reason)
		}
	}
	if most := v.config.MaxPerHour - v.used(party{}).evicted; v.config.MaxPerHour > 0 && allowed > max(0, most) {
		t.Fatalf("%d moves allowed at once, the hour has %d left", allowed, most)
	}
	v.reasons()
}

// Whoever creates pods in one namespace can name any owner in another. What happens to those pods
// does not affect that owner.
func TestForgedOwnersRestNobodyElse(t *testing.T) {
	denied := func(m *ledger.Move) {
		cancelled(time.Minute)(m)
		m.Denied = `admission webhook "mine" denied the request`
	}
	for name, of := range map[string]change{
		"no help": judged(time.Minute, false), "pending": evicted(20 * time.Minute), "denied": denied, "evicted": landed(time.Minute),
	} {
		t.Run(name, func(t *testing.T) {
			v := New(config(func(c *Config) { c.MaxPerHourOfOwner = 1 })).At(facts(move(1, of, in("evil"), from("there"))), noon)
			victim := move(2).Intent
			reason, detail := v.Refuse(&victim)
			expect(t, "the owner whose UID was used", reason, "", detail, "")
		})
	}
}
