package safeguards

import (
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// The cases show how an owner's moves affect it. The base rest is 10 minutes, and the longest is an
// hour.
func TestOwnerCoolingDown(t *testing.T) {
	const no, yes = false, true
	cases := map[string]struct {
		moves []ledger.Move
		want  reasons.Reason
		words string
	}{
		"never moved":                    {},
		"helped":                         {moves: []ledger.Move{move(1, judged(time.Minute, yes))}},
		"did not help":                   {moves: []ledger.Move{move(1, judged(time.Minute, no))}, want: reasons.OwnerCoolingDown, words: "until 2026-03-01T12:09:00Z, after moves of 1 cycles"},
		"in the last second of the rest": {moves: []ledger.Move{move(1, judged(10*time.Minute-time.Second, no))}, want: reasons.OwnerCoolingDown},
		"rested":                         {moves: []ledger.Move{move(1, judged(10*time.Minute, no))}},
		"not judged yet":                 {moves: []ledger.Move{move(1, landed(time.Minute))}},
		"cancelled":                      {moves: []ledger.Move{move(1, cancelled(time.Minute))}},
		// 10 min * 2
		"two in a row": {
			moves: []ledger.Move{move(1, judged(25*time.Minute, no)), move(2, judged(15*time.Minute, no))},
			want:  reasons.OwnerCoolingDown, words: "until 2026-03-01T12:05:00Z, after moves of 2 cycles",
		},
		"a row that one which helped has ended": {
			moves: []ledger.Move{move(1, judged(9*time.Minute, no)), move(2, judged(8*time.Minute, yes))},
		},
		"one that did not help after one that did": {
			moves: []ledger.Move{
				move(1, judged(35*time.Minute, no)), move(2, judged(25*time.Minute, yes)), move(3, judged(15*time.Minute, no)),
			},
		},
		"one not judged between two": {
			moves: []ledger.Move{
				move(1, judged(35*time.Minute, no)), move(2, landed(25*time.Minute)), move(3, judged(15*time.Minute, no)),
			},
			want: reasons.OwnerCoolingDown, words: "after moves of 2 cycles",
		},
		// 10 min * 2^3 = 80 min, at most 60
		"the longest rest": {
			moves: []ledger.Move{
				move(1, judged(4*time.Hour, no)), move(2, judged(3*time.Hour, no)), move(3, judged(2*time.Hour, no)), move(4, judged(50*time.Minute, no)),
			},
			want: reasons.OwnerCoolingDown, words: "until 2026-03-01T12:10:00Z, after moves of 4 cycles",
		},
		"after the longest rest": {
			moves: []ledger.Move{
				move(1, judged(4*time.Hour, no)), move(2, judged(3*time.Hour, no)), move(3, judged(2*time.Hour, no)), move(4, judged(time.Hour, no)),
			},
		},
		// pending for 5 minutes, then cooling down for the rest of the 10
		"expired after the eviction": {moves: []ledger.Move{move(1, expired(6*time.Minute))}, want: reasons.OwnerCoolingDown, words: "until 2026-03-01T12:04:00Z"},
		"expired and never evicted": {
			moves: []ledger.Move{move(1, expired(6*time.Minute), func(m *ledger.Move) { m.Evicted = time.Time{} })},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := New(config()).At(facts(tc.moves...), noon)
			reason, detail := v.Owner("ns", "rs-1")
			expect(t, "owner", reason, tc.want, detail, tc.words)
			reason, detail = v.Owner("ns", "rs-2")
			expect(t, "another owner", reason, "", detail, "")
		})
	}
}

// An owner may also have to rest after moves that helped. The moves of one cycle count together.
func TestOwnerCoolsDownAfterAnyMove(t *testing.T) {
	for name, tc := range map[string]struct {
		moves      []ledger.Move
		cycleStart time.Time
		want       reasons.Reason
		words      string
	}{
		"helped":               {moves: []ledger.Move{move(1, judged(19*time.Minute, true))}, want: reasons.OwnerCoolingDown, words: "after its last move"},
		"rested":               {moves: []ledger.Move{move(1, judged(30*time.Minute, true))}},
		"under way":            {moves: []ledger.Move{move(1, landed(time.Minute))}, want: reasons.OwnerCoolingDown},
		"of the current cycle": {moves: []ledger.Move{move(1, landed(time.Minute))}, cycleStart: noon.Add(-time.Hour)},
		"never evicted":        {moves: []ledger.Move{move(1, cancelled(time.Minute))}},
		"did not help, which rests longer": {
			moves: []ledger.Move{move(1, judged(39*time.Minute, false)), move(2, judged(19*time.Minute, false))},
			want:  reasons.OwnerCoolingDown, words: "after moves of 2 cycles",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := config()
			c.Cooldown.Always = 30 * time.Minute
			f := facts(tc.moves...)
			f.CycleStart = tc.cycleStart
			reason, detail := New(c).At(f, noon).Owner("ns", "rs-1")
			expect(t, "owner", reason, tc.want, detail, tc.words)
		})
	}
}

// After admission control has denied the eviction of an owner's pod, it is not called again for
// that owner at once.
func TestOwnerWhoseEvictionWasDenied(t *testing.T) {
	refused := func(ago time.Duration) ledger.Move {
		return move(1, cancelled(ago), func(m *ledger.Move) { m.Denied = "webhook said no" })
	}
	for name, tc := range map[string]struct {
		moves []ledger.Move
		want  reasons.Reason
		words string
	}{
		"a moment ago":    {[]ledger.Move{refused(time.Minute)}, reasons.EvictionDenied, "until 2026-03-01T12:09:00Z: webhook said no"},
		"some time ago":   {[]ledger.Move{refused(10 * time.Minute)}, "", ""},
		"after one moved": {[]ledger.Move{move(2, landed(2*time.Minute)), refused(time.Minute)}, reasons.EvictionDenied, ""},
		"only cancelled":  {[]ledger.Move{move(1, cancelled(time.Minute))}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := New(config()).At(facts(tc.moves...), noon)
			reason, detail := v.Owner("ns", "rs-1")
			expect(t, "owner", reason, tc.want, detail, tc.words)
			reason, _ = v.Closed()
			expect(t, "all", reason, "", "", "")
		})
	}
}

// A webhook that cannot be called stops its namespace for a minute, and the owner for as long as a
// denial does.
func TestNamespaceWhoseWebhookFails(t *testing.T) {
	const down = `Internal error occurred: failed calling webhook "guard": connection refused`
	for name, tc := range map[string]struct {
		words            string
		before           time.Duration
		owner, namespace reasons.Reason
		detail           string
	}{
		"a moment ago": {
			words: down, before: time.Second, owner: reasons.EvictionDenied, namespace: reasons.EvictionDenied, detail: "until 2026-03-01T12:00:59Z in its namespace: " + down,
		},
		"a minute ago":      {words: down, before: time.Minute, owner: reasons.EvictionDenied},
		"ten minutes ago":   {words: down, before: 10 * time.Minute},
		"denied by another": {words: `admission webhook "a" denied the request: failed calling webhook "b"`, owner: reasons.EvictionDenied},
	} {
		t.Run(name, func(t *testing.T) {
			failed := move(1, cancelled(tc.before), func(m *ledger.Move) { m.Denied = tc.words })
			v := New(config()).At(facts(failed), noon)
			reason, detail := v.Owner("ns", "rs-1")
			expect(t, "owner", reason, tc.owner, detail, "")
			same, other := move(2, owned("rs-2")), move(3, owned("rs-3"), in("elsewhere"))
			reason, detail = v.Refuse(&same.Intent)
			expect(t, "another owner of the namespace", reason, tc.namespace, detail, tc.detail)
			reason, detail = v.Refuse(&other.Intent)
			expect(t, "another namespace", reason, "", detail, "")
		})
	}
}

// Without a base, there is no cooldown. A bound below the base counts as the base.
func TestRest(t *testing.T) {
	cases := map[string]struct {
		cooldown  Cooldown
		unhelpful int
		want      time.Duration
	}{
		"no move":              {Cooldown{Base: time.Minute, Max: time.Hour}, 0, 0},
		"no base":              {Cooldown{Base: 0, Max: time.Hour}, 9, 0},
		"the first":            {Cooldown{Base: time.Minute, Max: time.Hour}, 1, time.Minute},
		"the sixth":            {Cooldown{Base: time.Minute, Max: time.Hour}, 6, 32 * time.Minute},
		"the seventh":          {Cooldown{Base: time.Minute, Max: time.Hour}, 7, time.Hour},
		"a bound below":        {Cooldown{Base: time.Hour, Max: time.Minute}, 3, time.Hour},
		"no bound":             {Cooldown{Base: time.Hour, Max: 0}, 3, time.Hour},
		"exactly the bound":    {Cooldown{Base: time.Minute, Max: 4 * time.Minute}, 3, 4 * time.Minute},
		"beyond all durations": {Cooldown{Base: time.Hour, Max: 1<<63 - 1}, 1 << 40, 1<<63 - 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := New(Config{Cooldown: tc.cooldown}).config.Cooldown.after(tc.unhelpful); got != tc.want {
				t.Errorf("rest %v, want %v", got, tc.want)
			}
		})
	}
}

// The cases show which nodes are left alone as sources, for a minute.
func TestNodeSettling(t *testing.T) {
	cases := map[string]struct {
		move      ledger.Move
		hot, cool reasons.Reason
	}{
		"just evicted":           {move: move(1, evicted(0)), hot: reasons.NodeSettling, cool: reasons.NodeSettling},
		"intended":               {move: move(1, intended)},
		"cancelled":              {move: move(1, cancelled(0))},
		"landed a minute ago":    {move: move(1, landed(time.Minute))},
		"landed somewhat later":  {move: move(1, landed(time.Minute-time.Second)), hot: reasons.NodeSettling, cool: reasons.NodeSettling},
		"evicted long before it": {move: move(1, landed(time.Second), func(m *ledger.Move) { m.Evicted = ago(time.Hour) }), hot: reasons.NodeSettling, cool: reasons.NodeSettling},
		"landed elsewhere":       {move: move(1, landed(0), func(m *ledger.Move) { m.Node = "other" }), hot: reasons.NodeSettling},
		"booked elsewhere":       {move: move(1, evicted(0), func(m *ledger.Move) { m.State, m.Node = ledger.Booked, "other" }), hot: reasons.NodeSettling},
		"not booked":             {move: move(1, evicted(0), func(m *ledger.Move) { m.Node = "" }), hot: reasons.NodeSettling, cool: reasons.NodeSettling},
		"without a destination":  {move: move(1, evicted(0), func(m *ledger.Move) { m.Node, m.To = "", "" }), hot: reasons.NodeSettling},
		"expired":                {move: move(1, expired(0)), hot: reasons.NodeSettling},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := New(config()).At(facts(tc.move), noon)
			for node, want := range map[string]reasons.Reason{"hot": tc.hot, "cool": tc.cool, "bystander": "", "": ""} {
				reason, detail := v.Node(node)
				words := ""
				if want != "" {
					words = `after the move of "ns/web-1"`
				}
				expect(t, node, reason, want, detail, words)
			}
			next := move(2, owned("rs-2"))
			if reason, detail := v.Refuse(&next.Intent); reason != tc.hot {
				t.Errorf("the next move off it: %q (%s), want %q", reason, detail, tc.hot)
			}
		})
	}
}

// A node settles only because of moves recorded before the cycle. Moves of the same cycle do not
// make it wait.
func TestSettlingSparesTheCycle(t *testing.T) {
	cases := map[string]struct {
		recorded, cycleStart time.Time
		want                 reasons.Reason
	}{
		"recorded as it began":      {recorded: ago(time.Second), cycleStart: ago(time.Second)},
		"recorded in it":            {recorded: noon, cycleStart: ago(time.Second)},
		"recorded just before it":   {recorded: ago(time.Second + 1), cycleStart: ago(time.Second), want: reasons.NodeSettling},
		"outside of any, it counts": {recorded: noon, want: reasons.NodeSettling},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := facts(move(1, evicted(0), func(m *ledger.Move) { m.Recorded = tc.recorded }))
			f.CycleStart = tc.cycleStart
			reason, detail := New(config()).At(f, noon).Node("hot")
			words := ""
			if tc.want != "" {
				words = "until 2026-03-01T12:01:00Z"
			}
			expect(t, "node", reason, tc.want, detail, words)
		})
	}
}

// A node settles after the last move that touched it, whatever the order in which moves are listed.
func TestNodeSettlesAfterTheLast(t *testing.T) {
	reason, detail := New(config()).At(facts(move(1, landed(10*time.Second)), move(2, evicted(40*time.Second))), noon).Node("hot")
	expect(t, "node", reason, reasons.NodeSettling, detail, `until 2026-03-01T12:00:50Z, after the move of "ns/web-1"`)
}

// A replacement counts as pending after a minute plus the grace period, which is its TTL minus 5
// minutes.
func TestPending(t *testing.T) {
	patient := func(m *ledger.Move) { m.TTL = 7 * time.Minute }
	cases := map[string]struct {
		move ledger.Move
		want bool
	}{
		"a minute after the eviction":      {move: move(1, evicted(time.Minute))},
		"later":                            {move: move(1, evicted(time.Minute+time.Second)), want: true},
		"booked, but not bound":            {move: move(1, evicted(2*time.Minute), func(m *ledger.Move) { m.State = ledger.Booked }), want: true},
		"within the grace period":          {move: move(1, evicted(3*time.Minute), patient)},
		"after the grace period":           {move: move(1, evicted(3*time.Minute+time.Second), patient), want: true},
		"a TTL below that of the policy":   {move: move(1, evicted(time.Minute), func(m *ledger.Move) { m.TTL = time.Second })},
		"not evicted yet":                  {move: move(1)},
		"landed":                           {move: move(1, landed(2*time.Minute))},
		"cancelled":                        {move: move(1, cancelled(2*time.Minute))},
		"expired just now":                 {move: move(1, expired(time.Second)), want: true},
		"expired a rest ago":               {move: move(1, expired(5*time.Minute))},
		"expired without an eviction":      {move: move(1, expired(time.Second), func(m *ledger.Move) { m.Evicted = time.Time{} })},
		"evicted at an unknown time":       {move: move(1, evicted(time.Hour), func(m *ledger.Move) { m.Evicted = time.Time{} }), want: true},
		"evicted by a clock that is ahead": {move: move(1, evicted(-time.Minute))},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := config(func(c *Config) { c.Cooldown.Base, c.Breaker.MaxPending = 0, 0 })
			v := New(c).At(facts(tc.move), noon)
			owner, namespace, words := reasons.Reason(""), reasons.Reason(""), ""
			if tc.want {
				owner, namespace, words = reasons.OwnerReplacementPending, reasons.ReplacementsPending, `"ns/web-1"`
			}
			reason, detail := v.Owner("ns", "rs-1")
			expect(t, "owner", reason, owner, detail, words)
			reason, detail = v.troubled("ns")
			expect(t, "its namespace", reason, namespace, detail, words)
			reason, detail = v.Closed()
			expect(t, "all", reason, "", detail, "")
		})
	}
}

// A replacement counts as unready after 5 minutes or a restart, as long as it is not ready.
func TestUnready(t *testing.T) {
	old, young := landed(6*time.Minute), landed(4*time.Minute)
	cases := map[string]struct {
		move   ledger.Move
		health ledger.Replacement
		want   bool
	}{
		"ready":                            {move: move(1, old), health: ledger.Replacement{Exists: true, Ready: true}},
		"gone":                             {move: move(1, old)},
		"gone, with restarts":              {move: move(1, old), health: ledger.Replacement{Restarts: 9}},
		"not ready":                        {move: move(1, old), health: ledger.Replacement{Exists: true}, want: true},
		"not ready yet":                    {move: move(1, young), health: ledger.Replacement{Exists: true}},
		"exactly as long as it may take":   {move: move(1, landed(5*time.Minute)), health: ledger.Replacement{Exists: true}},
		"restarted and not ready":          {move: move(1, young), health: ledger.Replacement{Exists: true, Restarts: 1}, want: true},
		"restarted and ready again":        {move: move(1, old), health: ledger.Replacement{Exists: true, Ready: true, Restarts: 2}},
		"between two crashes":              {move: move(1, old), health: ledger.Replacement{Exists: true, Ready: true, Restarts: crashLoop}, want: true},
		"not ready for more than an hour":  {move: move(1, landed(65*time.Minute)), health: ledger.Replacement{Exists: true}},
		"not ready for almost an hour now": {move: move(1, landed(65*time.Minute-time.Second)), health: ledger.Replacement{Exists: true}, want: true},
		"for a move that expired":          {move: move(1, expired(6*time.Minute)), health: ledger.Replacement{Exists: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := facts(tc.move)
			f.Replacement = func(of *ledger.Move) ledger.Replacement {
				if of.Replacement != "new-uid-1" {
					t.Errorf("the health of %q was requested", of.Replacement)
				}
				return tc.health
			}
			v := New(config(func(c *Config) { c.Cooldown.Base, c.Breaker.MaxUnready = 0, 0 })).At(f, noon)
			owner, namespace, words := reasons.Reason(""), reasons.Reason(""), ""
			if tc.want {
				owner, namespace, words = reasons.OwnerReplacementUnready, reasons.ReplacementsUnready, `"ns/new-web-1"`
			}
			reason, detail := v.Owner("ns", "rs-1")
			expect(t, "owner", reason, owner, detail, words)
			reason, detail = v.troubled("ns")
			expect(t, "its namespace", reason, namespace, detail, words)
			reason, detail = v.Closed()
			expect(t, "all", reason, "", detail, "")
		})
	}
}
