package safeguards

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// calls returns calls ten seconds apart, each in a different namespace, the last one at the given
// time before noon. 'r' means refused, 'e' failed, and any other letter accepted.
func calls(answers string, last time.Duration) []Call {
	all := make([]Call, len(answers))
	for i, answer := range answers {
		at := ago(last).Add(-time.Duration(len(answers)-1-i) * 10 * time.Second)
		all[i] = Call{Whose: Whose{fmt.Sprint("ns-", i), fmt.Sprint("rs-", i)}, At: at, Refused: answer == 'r', Err: answer == 'e'}
	}
	return all
}

// The cases show what stops all evictions under the policy of config: more than half of the calls
// refused, or 5 errors in a row. Evictions then rest for 5 minutes.
func TestClosedByCalls(t *testing.T) {
	spread := calls("rrrrr", 0)
	for i := range spread {
		spread[i].At = ago(time.Duration(4-i) * 4 * time.Minute) // two of them are more than ten minutes older than the last
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

// A rest because of webhooks that could not be called lasts for its full time, although single
// denials are forgotten earlier.
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

// Webhooks that cannot be called stop all evictions by the number of namespaces, not of calls: 5 in
// a row, for 5 minutes.
func TestClosedByWebhooks(t *testing.T) {
	// failed returns n moves of as many owners, one minute apart, the last one at the given time
	// before noon.
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
		"nine in one namespace":     {moves: failed(9, time.Second)},
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
		"no nodes":             {},
		"all ready":            {nodes: 10},
		"a third of a hundred": {nodes: 100, notReady: 33},
		"more than a third":    {nodes: 100, notReady: 34, want: reasons.NodesNotReady},
		"one of two":           {nodes: 2, notReady: 1, want: reasons.NodesNotReady},
		"without nodes":        {notReady: 9},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := New(config()).At(Facts{Nodes: tc.nodes, NotReady: tc.notReady}, noon)
			reason, detail := v.Closed()
			expect(t, "closed", reason, tc.want, detail, "")
			if !v.Until().IsZero() {
				t.Errorf("until %v, want an unknown end", v.Until())
			}
		})
	}
}

// Up to the limit, troubled replacements keep only their owners' pods from being moved. Beyond the
// limit, those of one namespace stop that namespace, and those of several namespaces stop all
// evictions.
func TestClosedByReplacements(t *testing.T) {
	unready := func(*ledger.Move) ledger.Replacement { return ledger.Replacement{Exists: true} }
	waits, crashes, long := evicted(2*time.Minute), landed(6*time.Minute), landed(11*time.Minute)
	wasUnready := func(m *ledger.Move) { m.Unready = true }
	// one returns a move of a distinct owner on other nodes.
	one := func(n int, namespace string, changes ...change) ledger.Move {
		return move(n, append([]change{owned(fmt.Sprintf("rs-%d", n)), in(namespace)}, changes...)...)
	}
	helped := make([]ledger.Move, 100)
	for i := range helped {
		helped[i] = one(1000+i, "calm", judged(time.Minute, true))
	}
	cases := map[string]struct {
		moves                 []ledger.Move
		owner, namespace, all reasons.Reason
	}{
		"three pending": {moves: several(3, waits), owner: reasons.OwnerReplacementPending},
		"four pending":  {moves: several(4, waits), owner: reasons.OwnerReplacementPending, namespace: reasons.ReplacementsPending},
		"many pending, and two elsewhere": {
			moves: append(several(20, waits), one(50, "other", waits), one(51, "other", waits)), owner: reasons.OwnerReplacementPending, namespace: reasons.ReplacementsPending,
		},
		"four pending, in two namespaces": {
			moves: append(several(2, waits), one(50, "other", waits), one(51, "other", waits)), owner: reasons.OwnerReplacementPending,
		},
		"many pending, in two namespaces": {
			moves: append(several(20, waits), several(20, waits, in("other"))...), owner: reasons.OwnerReplacementPending, namespace: reasons.ReplacementsPending,
		},
		"four pending, of three namespaces": {
			moves: append(several(2, waits), one(50, "other", waits), one(51, "another", waits)), owner: reasons.OwnerReplacementPending, all: reasons.ReplacementsPending,
		},
		"three pending, of three namespaces": {
			moves: append(several(1, waits), one(50, "other", waits), one(51, "another", waits)), owner: reasons.OwnerReplacementPending,
		},
		"many pending, and one each in two other namespaces": {
			moves: append(several(20, waits), one(50, "other", waits), one(51, "another", waits)), owner: reasons.OwnerReplacementPending, namespace: reasons.ReplacementsPending, all: reasons.ReplacementsPending,
		},
		"four pending of a hundred moves this hour": {
			moves: append(append(several(2, waits), one(50, "other", waits), one(51, "another", waits)), helped...), owner: reasons.OwnerReplacementPending,
		},
		"three unready": {moves: several(3, crashes), owner: reasons.OwnerReplacementUnready},
		"four unready":  {moves: several(4, crashes), owner: reasons.OwnerReplacementUnready, namespace: reasons.ReplacementsUnready},
		"four unready, in two namespaces": {
			moves: append(several(2, crashes), one(50, "other", crashes), one(51, "other", crashes)), owner: reasons.OwnerReplacementUnready,
		},
		"four unready, of three namespaces": {
			moves: append(several(2, crashes), one(50, "other", crashes), one(51, "another", crashes)), owner: reasons.OwnerReplacementUnready, all: reasons.ReplacementsUnready,
		},
		"four unready, of three namespaces, for long": {
			moves: append(several(2, long), one(50, "other", long), one(51, "another", long)), owner: reasons.OwnerReplacementUnready,
		},
		"many unready, as their pods were before": {
			moves: append(several(20, crashes, wasUnready), one(50, "other", crashes, wasUnready), one(51, "another", crashes, wasUnready)), owner: reasons.OwnerReplacementUnready,
		},
		"many unready, of which four were ready before": {
			moves: append(append(several(20, crashes, wasUnready), several(2, crashes)...), one(50, "other", crashes), one(51, "another", crashes)),
			owner: reasons.OwnerReplacementUnready, all: reasons.ReplacementsUnready,
		},
		"four pending, whose pods were not ready": {
			moves: several(4, waits, wasUnready), owner: reasons.OwnerReplacementPending, namespace: reasons.ReplacementsPending,
		},
		"three of each": {moves: append(several(3, crashes), several(3, waits)...), owner: reasons.OwnerReplacementUnready},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := facts(tc.moves...)
			f.Replacement = func(m *ledger.Move) ledger.Replacement {
				if m.Outcome != nil {
					return ledger.Replacement{}
				}
				return unready(m)
			}
			v := New(config()).At(f, noon)
			reason, detail := v.Closed()
			words := ""
			if tc.all != "" {
				words = "namespaces, most in "
			}
			expect(t, "closed", reason, tc.all, detail, words)
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

// Whatever the limit, two namespaces stop only themselves. Three namespaces in which nothing lands
// any more stop all evictions.
func TestOneNamespaceIsNotEverybody(t *testing.T) {
	for _, limit := range []int{1, 2, 3, 4, 20, 100, 500} {
		rules := New(config(func(c *Config) { c.Breaker.MaxPending = limit }))
		for namespaces, want := range map[int]reasons.Reason{1: "", 2: "", 3: reasons.ReplacementsPending} {
			var moves []ledger.Move
			for i := range 2000 {
				moves = append(moves, move(i, owned(fmt.Sprintf("rs-%d", i)), in(fmt.Sprintf("ns-%d", i%namespaces)), evicted(2*time.Minute)))
			}
			reason, detail := rules.At(facts(moves...), noon).Closed()
			expect(t, fmt.Sprintf("limit %d, %d namespaces", limit, namespaces), reason, want, detail, "")
		}
	}
}

// One owner that is named in several namespaces does not stop all evictions, and neither do several
// owners of one namespace.
func TestOneOwnerIsNotEverybody(t *testing.T) {
	var few trouble
	for i := range 100 {
		few.add(Whose{fmt.Sprint("ns-", i%2), fmt.Sprint("rs-", i)}, "")
	}
	if few.everybodys(3) {
		t.Error("a hundred owners in two namespaces stop everybody")
	}
	var lopsided trouble
	for range 100 {
		lopsided.add(Whose{"a", "rs-1"}, "")
	}
	lopsided.add(Whose{"b", "rs-2"}, "")
	lopsided.add(Whose{"c", "rs-3"}, "")
	if lopsided.everybodys(20) {
		t.Error("a hundred of one owner, and one each of two others, stop everybody beyond a limit of 20")
	}
}

// Calls that fail or are refused in one namespace stop only that namespace.
func TestCallsOfOneNamespace(t *testing.T) {
	for answers, want := range map[string]reasons.Reason{
		"eeeee": reasons.APIErrors, "rrrrr": reasons.EvictionsRefused, "eeee": "", "rr...": "", "": "",
	} {
		for namespaces := 1; namespaces <= 2; namespaces++ {
			var all []Call
			for i, c := range calls(answers, time.Minute) {
				for n := range namespaces {
					c.Whose = Whose{fmt.Sprint("ns-", n), fmt.Sprint("rs-", i)}
					all = append(all, c)
				}
			}
			v := New(config()).At(Facts{Calls: all}, noon)
			reason, detail := v.Closed()
			expect(t, answers, reason, "", detail, "")
			for n := range namespaces {
				reason, detail := v.troubled(fmt.Sprint("ns-", n))
				expect(t, answers+" in its namespace", reason, want, detail, "")
			}
			reason, detail = v.troubled("another")
			expect(t, answers+" in another", reason, "", detail, "")
		}
	}
}

// If there are several reasons, the most informative one is returned. The end is that of the last
// one, provided that all ends are known.
func TestClosedBySeveral(t *testing.T) {
	full := config(func(c *Config) { c.MaxPerHour = 1 })
	all := facts(append(append(several(3, evicted(2*time.Minute)), append(several(2, evicted(2*time.Minute), in("other")), several(2, evicted(2*time.Minute), in("third"))...)...), move(9, landed(20*time.Minute), owned("rs-9")))...)
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
		"but nodes do as well":    {facts: all, change: func(f *Facts) { f.Closed, f.NotReady = "", 0 }, want: reasons.APIErrors},
		"but calls do as well":    {facts: all, change: func(f *Facts) { f.Closed, f.NotReady, f.Calls = "", 0, nil }, want: reasons.ReplacementsPending},
		"rest and a used-up hour": {facts: timed, want: reasons.APIErrors, until: ago(-40 * time.Minute)},
		"a used-up hour within a night": {
			facts: timed, change: func(f *Facts) { f.Closed, f.Opens = "night", ago(-6*time.Hour) }, want: reasons.OutsideWindow, until: ago(-6 * time.Hour),
		},
		"the end of the night is unknown": {facts: timed, change: func(f *Facts) { f.Closed = "night" }, want: reasons.OutsideWindow},
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

// The list contains each reason once, because metrics are initialized from it.
func TestReasons(t *testing.T) {
	seen := map[reasons.Reason]bool{}
	for _, reason := range allReasons() {
		if reason == "" || seen[reason] {
			t.Errorf("reason %q is empty or listed twice", reason)
		}
		seen[reason] = true
	}
}
