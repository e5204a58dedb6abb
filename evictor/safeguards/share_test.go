package safeguards

import (
	"fmt"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// A percentage works as a limit in small and large clusters.
func TestShareOfAllPods(t *testing.T) {
	cases := map[string]struct {
		pods *Census
		want int
	}{
		"50 nodes":                  {&Census{All: 1_500}, 75},
		"5,000 nodes":               {&Census{All: 150_000}, 2000},
		"1,000 nodes":               {&Census{All: 30_000}, 1500},
		"a few pods":                {&Census{All: 60}, 50},
		"as many as the least is":   {&Census{All: 1_000}, 50},
		"rounded down":              {&Census{All: 1_039}, 51},
		"no pods":                   {&Census{}, 50},
		"pods that are not counted": {nil, 50},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rules := New(config(func(c *Config) { c.MaxPerHour, c.MaxPercentPerHour = 7, 5 }))
			of := func(moves ...ledger.Move) *Verdict {
				f := facts(moves...)
				f.Pods = tc.pods
				return rules.At(f, noon)
			}
			if got := of().Left(); got != tc.want {
				t.Fatalf("left: %d, want %d", got, tc.want)
			}
			v := of(several(tc.want, landed(10*time.Minute))...)
			reason, detail := v.Closed()
			expect(t, "closed", reason, reasons.MovesPerHour, detail, fmt.Sprintf("at most %d; the next not before 2026-03-01T12:50:00Z", tc.want))
			if got, want := v.Until(), ago(-50*time.Minute); v.Left() != 0 || !got.Equal(want) {
				t.Errorf("%d left until %v, want none until %v", v.Left(), got, want)
			}
		})
	}
}

// However many cycles and processes there are, an owner's pods are evicted within an hour no more
// often than its percentage allows.
func TestShareOfAnOwnersPods(t *testing.T) {
	for pods, most := range map[int]int{0: 2, 1: 2, 3: 2, 5: 2, 6: 3, 24: 12, 5_000: 2000} {
		t.Run(fmt.Sprint(pods), func(t *testing.T) {
			rules := New(config(func(c *Config) { c.MaxPercentPerHourOfOwner = 50 }))
			census := &Census{Owners: map[Whose]int{{"ns", "rs-1"}: pods, {"other", "rs-1"}: 1_000_000}}
			moves := make([]ledger.Move, most)
			for i := range moves {
				moves[i] = move(i, landed(50*time.Minute))
			}
			for n, want := range map[int]reasons.Reason{most - 1: "", most: reasons.OwnerMovesPerHour} {
				f, next, other := facts(moves[:n]...), move(9_000), move(9_001, owned("rs-2"))
				f.Pods = census
				v := rules.At(f, noon)
				reason, detail := v.Refuse(&next.Intent)
				expect(t, fmt.Sprintf("after %d moves", n), reason, want, detail, "")
				reason, detail = v.Refuse(&other.Intent)
				expect(t, "of another owner", reason, "", detail, "")
				reason, detail = rules.At(f, noon.Add(10*time.Minute)).Refuse(&next.Intent)
				expect(t, "an hour later", reason, "", detail, "")
			}
		})
	}
}

// One namespace leaves half of the hourly moves to the others, unless it has most of the pods.
func TestShareOfANamespace(t *testing.T) {
	cases := map[string]struct {
		all, own int // hourly limits
		pods     *Census
		want     int
	}{
		"the only namespace":               {all: 10, pods: &Census{All: 60, Namespaces: map[string]int{"ns": 60}}, want: 10},
		"one of two":                       {all: 10, pods: &Census{All: 60, Namespaces: map[string]int{"ns": 30, "other": 30}}, want: 5},
		"a small one":                      {all: 10, pods: &Census{All: 60, Namespaces: map[string]int{"ns": 1, "other": 59}}, want: 5},
		"one with four fifths of the pods": {all: 10, pods: &Census{All: 60, Namespaces: map[string]int{"ns": 48, "other": 12}}, want: 8},
		"one without pods that take part":  {all: 10, pods: &Census{All: 60, Namespaces: map[string]int{"other": 60}}, want: 5},
		"half of an odd number":            {all: 7, pods: &Census{All: 2, Namespaces: map[string]int{"ns": 1, "other": 1}}, want: 4},
		"half of one":                      {all: 1, pods: &Census{All: 2, Namespaces: map[string]int{"ns": 1, "other": 1}}, want: 1},
		"before the first observation":     {all: 10, pods: &Census{}, want: 5},
		"an independent limit":             {all: 10, own: 7, pods: &Census{All: 2, Namespaces: map[string]int{"ns": 1, "other": 1}}, want: 7},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rules := New(config(func(c *Config) { c.MaxPerHour, c.MaxPerHourOfNamespace = tc.all, tc.own }))
			for n := range tc.want + 1 {
				f, next := facts(several(n, landed(10*time.Minute))...), move(900, owned("new"))
				f.Pods = tc.pods
				v, want := rules.At(f, noon), reasons.Reason("")
				if n == tc.want {
					want = reasons.NamespaceMovesPerHour
				}
				if n == tc.all {
					want = reasons.MovesPerHour
				}
				reason, detail := v.Refuse(&next.Intent)
				expect(t, fmt.Sprintf("after %d moves", n), reason, want, detail, "")
				if want == reasons.NamespaceMovesPerHour && tc.own == 0 {
					expect(t, "words", reason, want, detail, fmt.Sprintf("at most %d of the %d in all for namespace %q", tc.want, tc.all, "ns"))
				}
				if n < tc.all {
					other := move(901, in("other"))
					reason, detail = v.Refuse(&other.Intent)
					expect(t, "of another namespace", reason, "", detail, "")
				}
			}
		})
	}
}

// Without a limit for all moves, none is derived for a namespace.
func TestNoShareOfNothing(t *testing.T) {
	f, next := facts(several(500, landed(10*time.Minute))...), move(900, owned("new"))
	f.Pods = &Census{All: 2, Namespaces: map[string]int{"ns": 1, "other": 1}}
	v := New(config()).At(f, noon)
	reason, detail := v.Refuse(&next.Intent)
	expect(t, "refused", reason, "", detail, "")
	if v.Left() != -1 {
		t.Errorf("%d left, want no bound", v.Left())
	}
}

// A plan may use what is left of the hourly limits, counting one move after the other.
func TestBeside(t *testing.T) {
	f := facts(move(1, landed(10*time.Minute)), move(2, intended))
	f.Pods = &Census{All: 100, Namespaces: map[string]int{"ns": 20}, Owners: map[Whose]int{{"ns", "rs-1"}: 8}}
	v := New(config(func(c *Config) { c.MaxPerHour, c.MaxPercentPerHourOfOwner = 10, 50 })).At(f, noon) // 5 for ns, 4 for rs-1
	for _, tc := range []struct {
		of                 Whose
		owners, namespaces int
		want               reasons.Reason
	}{
		{Whose{"ns", "rs-1"}, 0, 0, ""},
		{Whose{"ns", "rs-1"}, 1, 1, ""},
		{Whose{"ns", "rs-1"}, 2, 2, reasons.OwnerMovesPerHour},
		{Whose{"ns", "rs-1"}, 1, 3, reasons.NamespaceMovesPerHour},
		{Whose{"ns", "rs-2"}, 2, 2, reasons.OwnerMovesPerHour},
		{Whose{"ns", "rs-2"}, 1, 2, ""},
		{Whose{"ns", ""}, 0, 2, ""},
		{Whose{"ns", ""}, 0, 3, reasons.NamespaceMovesPerHour},
		{Whose{"other", "rs-1"}, 1, 4, ""},
		{Whose{"other", "rs-1"}, 1, 5, reasons.NamespaceMovesPerHour},
	} {
		reason, detail := v.Beside(tc.of, tc.owners, tc.namespaces)
		expect(t, fmt.Sprint(tc), reason, tc.want, detail, "")
	}
}
