package safeguards

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// The cases show which moves count against the hourly limit.
func TestLeft(t *testing.T) {
	cases := map[string]struct {
		limit int
		moves []ledger.Move
		want  int
		until time.Time
	}{
		"no bound":                        {moves: several(3, evicted(time.Minute)), want: -1},
		"nothing moved":                   {limit: 5, want: 5},
		"in flight and landed":            {limit: 5, moves: []ledger.Move{move(1, evicted(0)), move(2, landed(time.Minute))}, want: 3},
		"about to be evicted":             {limit: 5, moves: []ledger.Move{move(1, intended)}, want: 4},
		"recorded long ago, not evicted":  {limit: 5, moves: []ledger.Move{move(1)}, want: 4},
		"cancelled before the eviction":   {limit: 5, moves: []ledger.Move{move(1, cancelled(time.Minute))}, want: 5},
		"cancelled after it":              {limit: 5, moves: []ledger.Move{move(1, cancelled(time.Minute), func(m *ledger.Move) { m.Evicted = ago(time.Minute) })}, want: 4},
		"expired after it":                {limit: 5, moves: []ledger.Move{move(1, expired(time.Minute))}, want: 4},
		"expired, never evicted":          {limit: 5, moves: []ledger.Move{move(1, expired(time.Minute), func(m *ledger.Move) { m.Evicted = time.Time{} })}, want: 5},
		"a second less than an hour ago":  {limit: 5, moves: []ledger.Move{move(1, landed(time.Hour-time.Second))}, want: 4},
		"an hour ago":                     {limit: 5, moves: []ledger.Move{move(1, landed(time.Hour))}, want: 5},
		"evicted at an unknown time":      {limit: 5, moves: []ledger.Move{move(1, landed(time.Minute), func(m *ledger.Move) { m.Evicted = time.Time{} })}, want: 4},
		"used up":                         {limit: 2, moves: []ledger.Move{move(1, landed(20*time.Minute)), move(2, landed(10*time.Minute))}, until: ago(-40 * time.Minute)},
		"used up, newest first":           {limit: 2, moves: []ledger.Move{move(1, landed(10*time.Minute)), move(2, landed(20*time.Minute))}, until: ago(-40 * time.Minute)},
		"beyond a bound that was lowered": {limit: 1, moves: []ledger.Move{move(1, landed(20*time.Minute)), move(2, landed(10*time.Minute))}, until: ago(-50 * time.Minute)},
		"used up by intended moves":       {limit: 1, moves: []ledger.Move{move(1, intended)}},
		"partly used by intended moves":   {limit: 2, moves: []ledger.Move{move(1, landed(10*time.Minute)), move(2, intended)}, until: ago(-50 * time.Minute)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := New(config(func(c *Config) { c.MaxPerHour = tc.limit })).At(facts(tc.moves...), noon)
			if got := v.Left(); got != tc.want {
				t.Errorf("left: %d, want %d", got, tc.want)
			}
			if diff := cmp.Diff(tc.until, v.Until()); diff != "" {
				t.Errorf("until (-want +got):\n%s", diff)
			}
			want := reasons.Reason("")
			if tc.want == 0 {
				want = reasons.MovesPerHour
			}
			reason, detail := v.Closed()
			if want != "" || reason == reasons.MovesPerHour {
				expect(t, "closed", reason, want, detail, "")
			}
		})
	}
}

// Budgets of owners, namespaces and pools are independent.
func TestBudgetsOfOne(t *testing.T) {
	two := func(changes ...change) []ledger.Move {
		return []ledger.Move{
			move(1, append([]change{landed(20 * time.Minute)}, changes...)...),
			move(2, append([]change{intended}, changes...)...),
		}
	}
	cases := map[string]struct {
		change func(*Config)
		moves  []ledger.Move
		intent ledger.Move
		want   reasons.Reason
	}{
		"no bounds":             {change: func(*Config) {}, moves: two(), intent: move(9)},
		"of the owner":          {change: func(c *Config) { c.MaxPerHourOfOwner = 2 }, moves: two(), intent: move(9), want: reasons.OwnerMovesPerHour},
		"one left of the owner": {change: func(c *Config) { c.MaxPerHourOfOwner = 3 }, moves: two(), intent: move(9)},
		"of another owner":      {change: func(c *Config) { c.MaxPerHourOfOwner = 2 }, moves: two(), intent: move(9, owned("rs-2"))},
		"of no owner": {
			change: func(c *Config) { c.MaxPerHourOfOwner = 2 }, moves: two(owned("")), intent: move(9, owned("")),
		},
		"of the namespace":     {change: func(c *Config) { c.MaxPerHourOfNamespace = 2 }, moves: two(), intent: move(9), want: reasons.NamespaceMovesPerHour},
		"of another namespace": {change: func(c *Config) { c.MaxPerHourOfNamespace = 2 }, moves: two(), intent: move(9, in("other"))},
		"of the pool":          {change: func(c *Config) { c.MaxPerHourOfPool = 2 }, moves: two(), intent: move(9), want: reasons.NodePoolMovesPerHour},
		"of another pool":      {change: func(c *Config) { c.MaxPerHourOfPool = 2 }, moves: two(), intent: move(9, pool("spot"))},
		"on nodes without a pool": {
			change: func(c *Config) { c.MaxPerHourOfPool = 2 }, moves: two(pool("")), intent: move(9, pool("")), want: reasons.NodePoolMovesPerHour,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := New(config(tc.change)).At(facts(tc.moves...), noon)
			reason, detail := v.Refuse(&tc.intent.Intent)
			words := ""
			if tc.want != "" {
				words = "2 moves within the hour, at most 2; the next not before 2026-03-01T12:40:00Z"
			}
			expect(t, "refused", reason, tc.want, detail, words)
			asked := map[reasons.Reason]func() (reasons.Reason, string){
				reasons.OwnerMovesPerHour:     func() (reasons.Reason, string) { return v.Owner(tc.intent.Namespace, tc.intent.Owner.UID) },
				reasons.NamespaceMovesPerHour: func() (reasons.Reason, string) { return v.ofNamespace(tc.intent.Namespace) },
				reasons.NodePoolMovesPerHour:  func() (reasons.Reason, string) { return v.ofPool(tc.intent.Pool) },
			}
			for reason, ask := range asked {
				want := reasons.Reason("")
				if reason == tc.want {
					want = reason
				}
				got, detail := ask()
				expect(t, string(reason), got, want, detail, "")
			}
		})
	}
}

// The oldest eviction determines when a budget allows a move again, whatever the order in which
// moves ended.
func TestBudgetNamesTheOldest(t *testing.T) {
	for name, first := range map[string]time.Duration{"oldest first": 50 * time.Minute, "newest first": 10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			f := facts(move(1, landed(first)), move(2, landed(time.Hour-first)))
			reason, detail := New(config(func(c *Config) { c.MaxPerHourOfOwner = 2 })).At(f, noon).Owner("ns", "rs-1")
			expect(t, "owner", reason, reasons.OwnerMovesPerHour, detail, "not before 2026-03-01T12:10:00Z")
		})
	}
}

// If a cycle's recorded moves together exceed a budget, only the first of them may be made, as many
// as the budget has left.
func TestRecordedMovesShareTheBudget(t *testing.T) {
	budgets := map[string]struct {
		change func(*Config)
		want   reasons.Reason
	}{
		"of all":           {func(c *Config) { c.MaxPerHour = 3 }, reasons.MovesPerHour},
		"of the owner":     {func(c *Config) { c.MaxPerHourOfOwner = 3 }, reasons.OwnerMovesPerHour},
		"of the namespace": {func(c *Config) { c.MaxPerHourOfNamespace = 3 }, reasons.NamespaceMovesPerHour},
		"of the pool":      {func(c *Config) { c.MaxPerHourOfPool = 3 }, reasons.NodePoolMovesPerHour},
	}
	for name, tc := range budgets {
		t.Run(name, func(t *testing.T) {
			before := move(0, landed(30*time.Minute))
			cycle := []ledger.Move{move(1, intended), move(2, intended), move(3, intended), move(4, intended)}
			rules := New(config(tc.change))
			for made := range 3 {
				if made > 0 {
					evicted(0)(&cycle[made-1])
				}
				f := facts(append([]ledger.Move{before}, cycle...)...)
				f.CycleStart = ago(time.Second)
				v := rules.At(f, noon)
				for i := made; i < len(cycle); i++ {
					want := reasons.Reason("")
					if i >= 2 {
						want = tc.want
					}
					reason, detail := v.Refuse(&cycle[i].Intent)
					expect(t, cycle[i].Pod, reason, want, detail, "")
				}
				unrecorded := move(9)
				reason, detail := v.Refuse(&unrecorded.Intent)
				expect(t, "one more", reason, tc.want, detail, "")
			}
		})
	}
}
