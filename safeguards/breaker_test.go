package safeguards

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// calls are made ten seconds apart, the last so long ago: 'r' was refused, 'e'
// failed, any other was accepted.
func calls(answers string, last time.Duration) []Call {
	all := make([]Call, len(answers))
	for i, answer := range answers {
		at := ago(last).Add(-time.Duration(len(answers)-1-i) * 10 * time.Second)
		all[i] = Call{At: at, Refused: answer == 'r', Err: answer == 'e'}
	}
	return all
}

// What closes everything, with the policy of config: refused more than half, 5
// errors in a row, rest 5 minutes.
func TestClosedByCalls(t *testing.T) {
	spread := calls("rrrrr", 0)
	for i := range spread {
		spread[i].At = ago(time.Duration(4-i) * 4 * time.Minute) // two of them more than ten minutes before the last
	}
	shuffled := calls("....eeeee", time.Minute)
	shuffled[0], shuffled[8] = shuffled[8], shuffled[0]
	cases := map[string]struct {
		calls []Call
		want  reasons.Reason
		until time.Time
	}{
		"none":                           {},
		"all accepted":                   {calls: calls("....................", 0)},
		"half refused":                   {calls: calls("rrrr....", 0)},
		"more than half refused":         {calls: calls("...rrrr", time.Minute), want: reasons.EvictionsRefused, until: ago(-4 * time.Minute)},
		"of the last call only accepted": {calls: calls("rrrr...", time.Minute), want: reasons.EvictionsRefused, until: ago(-3*time.Minute - 30*time.Second)},
		"four calls are too few":         {calls: calls("rrrr", 0)},
		"five calls do":                  {calls: calls("rrrrr", 0), want: reasons.EvictionsRefused, until: ago(-5 * time.Minute)},
		"too few lately":                 {calls: spread},
		"before the last twenty":         {calls: calls("rrrrrrrrrrrrrrrrrrrrr....................", 0)},
		"rested":                         {calls: calls("rrrrr", 5*time.Minute)},
		"four errors":                    {calls: calls(".eeee", 0)},
		"five errors in a row":           {calls: calls(".eeeee", time.Minute), want: reasons.APIErrors, until: ago(-4 * time.Minute)},
		"five errors, rested":            {calls: calls(".eeeee", 5*time.Minute)},
		"one more after the rest":        {calls: append(calls("eeeee", 5*time.Minute), calls("e", 0)...), want: reasons.APIErrors, until: ago(-5 * time.Minute)},
		"an answer between errors":       {calls: calls("eeeeree", 0)},
		"in no order":                    {calls: shuffled, want: reasons.APIErrors, until: ago(-4 * time.Minute)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := facts()
			f.Calls = tc.calls
			v := New(config()).At(f, noon)
			reason, detail := v.Closed()
			expect(t, "closed", reason, tc.want, detail, "")
			if diff := cmp.Diff(tc.until, v.Until()); diff != "" {
				t.Errorf("until (-want +got):\n%s", diff)
			}
		})
	}
}

// A rest after webhooks that could not be asked lasts as long as the policy says,
// though single denials are forgotten earlier.
func TestARestForWebhooksLastsAsLongAsStated(t *testing.T) {
	rest := func(c *Config) { c.Breaker.Rest = time.Hour }
	moves := several(5)
	for i := range moves {
		m := &moves[i]
		m.Namespace, m.State, m.Recorded, m.Ended = fmt.Sprintf("ns-%d", i), ledger.Cancelled, ago(11*time.Minute), ago(11*time.Minute)
		m.Denied = `Internal error occurred: failed calling webhook "guard": context deadline exceeded`
	}
	v := New(config(rest)).At(facts(append(moves, move(9, landed(70*time.Minute), owned("rs-9")))...), noon)
	reason, detail := v.Closed()
	expect(t, "closed", reason, reasons.APIErrors, detail, "")
	if diff := cmp.Diff(ago(-49*time.Minute), v.Until()); diff != "" {
		t.Errorf("until (-want +got):\n%s", diff)
	}
	reason, detail = v.Owner(moves[0].Namespace, moves[0].Owner.UID)
	expect(t, "owner", reason, "", detail, "")
}

// Webhooks that cannot be asked close everything by namespaces, not by calls:
// 5 in a row, rest 5 minutes.
func TestClosedByWebhooks(t *testing.T) {
	// failed are moves of as many owners, a minute apart, the last so long ago.
	failed := func(n int, last time.Duration) []ledger.Move {
		moves := several(n)
		for i := range moves {
			at := ago(last + time.Duration(n-1-i)*time.Minute)
			moves[i].State, moves[i].Recorded, moves[i].Ended = ledger.Cancelled, at, at
			moves[i].Denied = `Internal error occurred: failed calling webhook "guard": context deadline exceeded`
		}
		return moves
	}
	everywhere := func(moves []ledger.Move) []ledger.Move {
		for i := range moves {
			moves[i].Namespace = fmt.Sprintf("ns-%d", i)
		}
		return moves
	}
	said := everywhere(failed(9, time.Second))
	for i := range said {
		said[i].Denied = `admission webhook "guard" denied the request: no`
	}
	for name, tc := range map[string]struct {
		moves     []ledger.Move
		unbounded bool
		want      reasons.Reason
		until     time.Time
	}{
		"nine of one namespace":     {moves: failed(9, time.Second)},
		"four namespaces":           {moves: everywhere(failed(4, time.Second))},
		"five namespaces":           {moves: everywhere(failed(5, time.Minute)), want: reasons.APIErrors, until: ago(-4 * time.Minute)},
		"five namespaces, rested":   {moves: everywhere(failed(5, 5*time.Minute))},
		"one more after the rest":   {moves: append(everywhere(failed(6, 5*time.Minute))[1:], failed(1, 0)...), want: reasons.APIErrors, until: ago(-5 * time.Minute)},
		"an eviction among them":    {moves: append(everywhere(failed(5, time.Second)), move(9, landed(2*time.Minute), owned("rs-9")))},
		"an eviction before them":   {moves: append(everywhere(failed(5, time.Second)), move(9, landed(6*time.Minute), owned("rs-9"))), want: reasons.APIErrors, until: ago(-5*time.Minute + time.Second)},
		"denied in nine namespaces": {moves: said},
		"no bound":                  {moves: everywhere(failed(9, time.Second)), unbounded: true},
	} {
		t.Run(name, func(t *testing.T) {
			v := New(config(func(c *Config) {
				if tc.unbounded {
					c.Breaker.MaxErrors = 0
				}
			})).At(facts(tc.moves...), noon)
			reason, detail := v.Closed()
			expect(t, "closed", reason, tc.want, detail, "")
			if diff := cmp.Diff(tc.until, v.Until()); diff != "" {
				t.Errorf("until (-want +got):\n%s", diff)
			}
		})
	}
}

func TestClosedByNodes(t *testing.T) {
	cases := map[string]struct {
		nodes, notReady int
		want            reasons.Reason
	}{
		"no nodes":                 {},
		"all ready":                {nodes: 10},
		"a third of a hundred":     {nodes: 100, notReady: 33},
		"more than a third":        {nodes: 100, notReady: 34, want: reasons.NodesNotReady},
		"one of two":               {nodes: 2, notReady: 1, want: reasons.NodesNotReady},
		"of nodes that nobody has": {notReady: 9},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := New(config()).At(Facts{Nodes: tc.nodes, NotReady: tc.notReady}, noon)
			reason, detail := v.Closed()
			expect(t, "closed", reason, tc.want, detail, "")
			if !v.Until().IsZero() {
				t.Errorf("until %v, which nobody knows", v.Until())
			}
		})
	}
}

// As many troubled replacements as are allowed keep their owners alone from
// being moved, more of one namespace that namespace, more of several everybody.
func TestClosedByReplacements(t *testing.T) {
	unready := func(*ledger.Move) ledger.Replacement { return ledger.Replacement{Exists: true} }
	waits, crashes, elsewhere := evicted(2*time.Minute), landed(10*time.Minute), in("other")
	one, two := move(50, owned("rs-50"), waits, elsewhere), move(51, owned("rs-51"), waits, elsewhere)
	cases := map[string]struct {
		moves                 []ledger.Move
		owner, namespace, all reasons.Reason
	}{
		"three pending": {moves: several(3, waits), owner: reasons.OwnerReplacementPending},
		"four pending":  {moves: several(4, waits), owner: reasons.OwnerReplacementPending, namespace: reasons.ReplacementsPending},
		"many pending, and one elsewhere": {
			moves: append(several(20, waits), one), owner: reasons.OwnerReplacementPending, namespace: reasons.ReplacementsPending,
		},
		"many pending, and two elsewhere": {
			moves: append(several(20, waits), one, two), owner: reasons.OwnerReplacementPending, namespace: reasons.ReplacementsPending, all: reasons.ReplacementsPending,
		},
		"four pending, of two namespaces": {
			moves: append(several(2, waits), one, two), owner: reasons.OwnerReplacementPending, all: reasons.ReplacementsPending,
		},
		"three pending, of two namespaces": {moves: append(several(2, waits), one), owner: reasons.OwnerReplacementPending},
		"three unready":                    {moves: several(3, crashes), owner: reasons.OwnerReplacementUnready},
		"four unready":                     {moves: several(4, crashes), owner: reasons.OwnerReplacementUnready, namespace: reasons.ReplacementsUnready},
		"four unready, of two namespaces": {
			moves: append(several(2, crashes), move(50, owned("rs-50"), crashes, elsewhere), move(51, owned("rs-51"), crashes, elsewhere)), owner: reasons.OwnerReplacementUnready, all: reasons.ReplacementsUnready,
		},
		"three of each": {moves: append(several(3, crashes), several(3, waits)...), owner: reasons.OwnerReplacementUnready},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := facts(tc.moves...)
			f.Replacement = unready
			v := New(config()).At(f, noon)
			reason, detail := v.Closed()
			expect(t, "closed", reason, tc.all, detail, "")
			reason, detail = v.Owner("ns", "rs-0")
			expect(t, "owner", reason, tc.owner, detail, "")
			reason, detail = v.Owner("ns", "rs-99")
			expect(t, "another owner", reason, "", detail, "")
			for namespace, want := range map[string]reasons.Reason{"ns": tc.namespace, "third": ""} {
				another := move(99, owned("rs-99"), from("bystander"), in(namespace))
				reason, detail, _ = v.Around(&another.Intent)
				expect(t, "another of "+namespace, reason, want, detail, "")
			}
		})
	}
}

// Whatever the limit, one namespace stops itself alone, and two in which nothing
// lands any more stop everybody.
func TestOneNamespaceIsNotEverybody(t *testing.T) {
	for _, limit := range []int{1, 2, 3, 4, 20, 100, 500} {
		var moves []ledger.Move
		for i := range 2000 {
			moves = append(moves, move(i, owned(fmt.Sprintf("rs-%d", i)), in("ns"), evicted(2*time.Minute)))
		}
		rules := New(config(func(c *Config) { c.Breaker.MaxPending = limit }))
		reason, detail := rules.At(facts(moves...), noon).Closed()
		expect(t, fmt.Sprintf("limit %d, one namespace", limit), reason, "", detail, "")
		for i := range moves {
			moves[i].Namespace = fmt.Sprintf("ns-%d", i%2)
		}
		reason, detail = rules.At(facts(moves...), noon).Closed()
		expect(t, fmt.Sprintf("limit %d, two", limit), reason, reasons.ReplacementsPending, detail, "")
	}
}

// With several reasons the most telling is given, and the end is that of the
// last, if each is known.
func TestClosedBySeveral(t *testing.T) {
	full := config(func(c *Config) { c.MaxPerHour = 1 })
	all := facts(append(append(several(3, evicted(2*time.Minute)), several(2, evicted(2*time.Minute), in("other"))...), move(9, landed(20*time.Minute), owned("rs-9")))...)
	all.Closed, all.Opens = "outside every window", ago(-10*time.Minute)
	all.Calls = calls("eeeee", 0)
	all.NotReady = 5
	timed := facts(move(9, landed(20*time.Minute)))
	timed.Calls = calls("eeeee", 0)
	cases := map[string]struct {
		facts  Facts
		change func(*Facts)
		want   reasons.Reason
		until  time.Time
	}{
		"everything":              {facts: all, want: reasons.OutsideWindow},
		"but the calendar":        {facts: all, change: func(f *Facts) { f.Closed = "" }, want: reasons.NodesNotReady},
		"but nodes as well":       {facts: all, change: func(f *Facts) { f.Closed, f.NotReady = "", 0 }, want: reasons.APIErrors},
		"but calls as well":       {facts: all, change: func(f *Facts) { f.Closed, f.NotReady, f.Calls = "", 0, nil }, want: reasons.ReplacementsPending},
		"rest and a used-up hour": {facts: timed, want: reasons.APIErrors, until: ago(-40 * time.Minute)},
		"a used-up hour within a night": {
			facts: timed, change: func(f *Facts) { f.Closed, f.Opens = "night", ago(-6*time.Hour) }, want: reasons.OutsideWindow, until: ago(-6 * time.Hour),
		},
		"nobody knows when the night ends": {facts: timed, change: func(f *Facts) { f.Closed = "night" }, want: reasons.OutsideWindow},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := tc.facts
			if tc.change != nil {
				tc.change(&f)
			}
			v := New(full).At(f, noon)
			reason, detail := v.Closed()
			expect(t, "closed", reason, tc.want, detail, "")
			if diff := cmp.Diff(tc.until, v.Until()); diff != "" {
				t.Errorf("until (-want +got):\n%s", diff)
			}
			one := move(50, owned("rs-50"), from("bystander"))
			refusal, _ := v.Refuse(&one.Intent)
			if refusal != tc.want {
				t.Errorf("a move is refused for %q, want %q", refusal, tc.want)
			}
		})
	}
}

// Reasons are listed once each: metrics start from the list.
func TestReasons(t *testing.T) {
	seen := map[reasons.Reason]bool{}
	for _, reason := range allReasons() {
		if reason == "" || seen[reason] {
			t.Errorf("reason %q is empty or listed twice", reason)
		}
		seen[reason] = true
	}
}
