package safeguards

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// dice returns random numbers from 0 to n-1.
type dice func(n int) int

func (d dice) past(longest time.Duration) time.Time {
	return ago(longest * time.Duration(d(1000)) / 1000)
}

// name returns one of a few names, or "".
func (d dice) name(prefix string) string {
	if n := d(5); n > 0 {
		return fmt.Sprintf("%s-%d", prefix, n)
	}
	return ""
}

func (d dice) config() Config {
	return Config{
		MaxPerHour: d(12), MaxPerHourOfNamespace: d(5), MaxPerHourOfOwner: d(4), MaxPerHourOfPool: d(5), MaxPercentPerHourOfOwner: d(2) * d(100),
		NodeSettle: time.Duration(d(10)) * time.Minute, MoveTTL: time.Duration(d(5)) * time.Minute,
		Cooldown: Cooldown{Base: time.Duration(d(20)) * time.Minute, Max: time.Duration(d(120)) * time.Minute},
		Breaker: Breaker{
			MaxPending: d(4), PendingAfter: time.Duration(d(300)) * time.Second, MaxUnready: d(4),
			UnreadyAfter: time.Duration(d(300)) * time.Second, MaxRefusedPercent: float64(d(101)), MaxErrors: d(6),
			Rest: time.Duration(d(30)) * time.Minute, MaxNotReadyPercent: float64(d(101)),
		},
	}
}

// move returns a move of the last three hours, often one of the last minutes.
func (d dice) move(n int) ledger.Move {
	m := ledger.Move{
		Intent: ledger.Intent{
			Namespace: d.name("ns"), Pod: "pod", PodUID: fmt.Sprintf("uid-%d", n), Owner: cluster.Owner{UID: d.name("rs")},
			From: d.name("node"), To: cmp.Or(d.name("node"), "cool"), Pool: d.name("pool"), TTL: time.Duration(d(600)) * time.Second,
		},
		State:    []ledger.State{ledger.Intended, ledger.Evicted, ledger.Booked, ledger.Landed, ledger.Cancelled, ledger.Expired}[d(6)],
		Recorded: d.past([]time.Duration{20 * time.Minute, 3 * time.Hour}[d(2)]),
	}
	if m.State != ledger.Intended && (m.State != ledger.Cancelled || d(2) == 0) {
		m.Evicted = m.Recorded.Add(time.Duration(d(60)) * time.Second)
	}
	if !m.InFlight() {
		m.Ended = m.Recorded.Add(time.Duration(60+d(60)) * time.Second)
	}
	if m.State == ledger.Landed {
		m.Node, m.Replacement = d.name("node"), d.name("new")
		if d(3) > 0 {
			m.Outcome = &ledger.Outcome{
				Judged: m.Ended.Add(time.Duration(d(300)) * time.Second), SourceCooler: d(2) == 0, DestinationUnder: true, Healthy: true,
			}
		}
	}
	return m
}

func (d dice) facts(moves int) Facts {
	all := make([]ledger.Move, moves)
	for i := range all {
		all[i] = d.move(i)
	}
	f := facts(all...)
	f.Nodes, f.NotReady, f.Pods = d(20), d(3), d.census()
	for range d(30) {
		f.Calls = append(f.Calls, Call{At: d.past(time.Hour), Refused: d(3) == 0, Err: d(3) == 0})
	}
	return f
}

// census returns a census of a few pods, or of enough for percentages to exceed the minimum.
func (d dice) census() *Census {
	if d(3) == 0 {
		return nil
	}
	c := &Census{Namespaces: map[string]int{}, Owners: map[Whose]int{}}
	for range d(12) {
		namespace, owner, n := d.name("ns"), d.name("rs"), d(20)
		c.All += n
		c.Namespaces[namespace] += n
		c.Owners[Whose{namespace, owner}] += n
	}
	c.All *= 1 + 100*d(2)
	return c
}

// reasons returns every reason against anything to which a move of dice can belong.
func (v *Verdict) reasons() map[string]bool {
	found := map[string]bool{}
	note := func(whom string, reason reasons.Reason) {
		if reason != "" {
			found[whom+" "+string(reason)] = true
		}
	}
	for _, c := range v.closures {
		note("all", c.reason)
	}
	reason, _ := v.spent(everything, "")
	note("all", reason)
	for i := range 5 {
		name := func(prefix string) string { return fmt.Sprintf("%s-%d", prefix, i) }
		if i == 0 {
			name = func(string) string { return "" }
		}
		for prefix, ask := range map[string]func(string) (reasons.Reason, string){"node": v.Node, "ns": v.ofNamespace, "trouble": v.troubled, "pool": v.ofPool} {
			reason, _ := ask(name(prefix))
			if prefix == "trouble" && reason != "" {
				reason = reasons.ReplacementsPending // one of these reasons hides the other
			}
			note(prefix+name(prefix), reason)
		}
	}
	for key, o := range v.owners {
		for _, one := range o.apart(v, key) {
			note("owner "+key, one)
		}
	}
	return found
}

// apart returns an owner's reasons, including those that more informative ones hide.
func (o *owner) apart(v *Verdict, key string) []reasons.Reason {
	cooling := v.coolsDown(o).reason
	spent, _ := v.spent(ofOwner, key)
	found := []reasons.Reason{cooling, spent}
	if o.troubles[unready].count > 0 {
		found = append(found, reasons.OwnerReplacementUnready)
	}
	if o.troubles[pending].count > 0 {
		found = append(found, reasons.OwnerReplacementPending)
	}
	return found
}

// As time passes, restrictions only end: nothing is restricted that was not before, and no fewer
// moves are left. This does not hold for moves in flight, whose replacements become pending only
// with time.
func TestTimeOnlyReleases(t *testing.T) {
	d := dice(rand.New(rand.NewPCG(1, 2)).IntN)
	restrained := 0
	for range 3000 {
		rules, f := New(d.config()), d.facts(d(20))
		f.InFlight = nil
		earlier := rules.At(f, noon)
		before := earlier.reasons()
		restrained += len(before)
		for now := noon; now.Before(noon.Add(3 * time.Hour)); now = now.Add(time.Duration(1+d(1000)) * time.Second) {
			later := rules.At(f, now)
			after := later.reasons()
			for reason := range after {
				if !before[reason] {
					t.Fatalf("%q at %v, not before\n%+v\n%+v", reason, now, rules.config, f)
				}
			}
			if later.Left() < earlier.Left() {
				t.Fatalf("%d moves left at %v, %d before", later.Left(), now, earlier.Left())
			}
			earlier, before = later, after
		}
	}
	if restrained < 3000 {
		t.Errorf("%d reasons in all: too few to show anything", restrained)
	}
}

// A move is refused if and only if all evictions are stopped, or its owner, source, namespace or
// pool is restricted.
func TestRefuseJoinsAll(t *testing.T) {
	d := dice(rand.New(rand.NewPCG(3, 4)).IntN)
	refused := map[reasons.Reason]int{}
	for range 5000 {
		v := New(d.config()).At(d.facts(d(8)), noon)
		intent := d.move(1000).Intent
		want := reasons.Reason("")
		for _, ask := range []func() (reasons.Reason, string){
			v.Closed,
			func() (reasons.Reason, string) { return v.Owner(intent.Namespace, intent.Owner.UID) },
			func() (reasons.Reason, string) { return v.Node(intent.From) },
			func() (reasons.Reason, string) { return v.troubled(intent.Namespace) },
			func() (reasons.Reason, string) { return v.ofNamespace(intent.Namespace) },
			func() (reasons.Reason, string) { return v.ofPool(intent.Pool) },
		} {
			if reason, _ := ask(); reason != "" && want == "" {
				want = reason
			}
		}
		got, _ := v.Refuse(&intent)
		if got != want {
			t.Fatalf("refused for %q, want %q", got, want)
		}
		refused[got]++
	}
	for _, reason := range append(allReasons(), "") {
		unseen := reason == reasons.OutsideWindow || reason == reasons.ReplacementsUnready || reason == reasons.OwnerReplacementUnready // dice has no facts about these
		if refused[reason] == 0 && !unseen {
			t.Errorf("never %q: %v", reason, refused)
		}
	}
}

// A caller that asks before each move never makes more moves within any hour than a budget allows.
func TestBudgetsAreNeverExceeded(t *testing.T) {
	d := dice(rand.New(rand.NewPCG(5, 6)).IntN)
	made := 0
	for range 80 {
		c := Config{
			MaxPerHour: 1 + d(12), MaxPerHourOfNamespace: d(2) * d(5), MaxPerHourOfOwner: d(4), MaxPerHourOfPool: d(5),
			MaxPercentPerHour: d(2) * d(20), MaxPercentPerHourOfOwner: d(2) * d(100),
			Breaker: Breaker{MaxPending: 1000, MaxUnready: 1000, MaxNotReadyPercent: 100, MaxRefusedPercent: 100},
		}
		rules, now, pace := New(c), noon, 30+d(300)
		f := Facts{Pods: d.census()}
		all, ofOwner, ofNamespace := c.MaxPerHour, c.MaxPerHourOfOwner, c.MaxPerHourOfNamespace
		if c.MaxPercentPerHour > 0 {
			all = 50
			if f.Pods != nil {
				all = max(all, f.Pods.All*c.MaxPercentPerHour/100)
			}
		}
		for n := range 400 {
			now = now.Add(time.Duration(d(pace)) * time.Second)
			m := d.move(n)
			if reason, _ := rules.At(f, now).Refuse(&m.Intent); reason != "" {
				continue
			}
			m.State, m.Recorded, m.Evicted, m.Ended, m.Outcome = ledger.Landed, now, now, now, nil
			f.Ended = append(f.Ended, m)
			made++
			check := func(what string, limit int, same func(*ledger.Move) bool) {
				count := 0
				for i := range f.Ended {
					if same(&f.Ended[i]) && now.Sub(f.Ended[i].Evicted) < time.Hour {
						count++
					}
				}
				if limit > 0 && count > limit {
					t.Fatalf("%d moves of the same %s within the hour, at most %d", count, what, limit)
				}
			}
			limit, ownerLimit := ofNamespace, ofOwner
			if f.Pods != nil && ofNamespace == 0 {
				limit = (all + 1) / 2
				if f.Pods.All > 0 {
					limit = max(limit, all*f.Pods.Namespaces[m.Namespace]/f.Pods.All)
				}
			}
			if c.MaxPercentPerHourOfOwner > 0 {
				ownerLimit = 2
				if f.Pods != nil {
					ownerLimit = max(2, f.Pods.Owners[Whose{m.Namespace, m.Owner.UID}]*c.MaxPercentPerHourOfOwner/100)
				}
			}
			check("cluster", all, func(*ledger.Move) bool { return true })
			check("namespace", limit, func(o *ledger.Move) bool { return o.Namespace == m.Namespace })
			check("pool", c.MaxPerHourOfPool, func(o *ledger.Move) bool { return o.Pool == m.Pool })
			if m.Owner.UID != "" {
				check("owner", ownerLimit, func(o *ledger.Move) bool { return o.Owner.UID == m.Owner.UID && o.Namespace == m.Namespace })
			}
		}
	}
	if made < 1000 {
		t.Errorf("%d moves made: too few to show anything", made)
	}
}

// allReasons lists every reason of a verdict.
func allReasons() []reasons.Reason {
	return []reasons.Reason{
		reasons.OutsideWindow, reasons.NodesNotReady, reasons.APIErrors, reasons.EvictionsRefused, reasons.ReplacementsUnready, reasons.ReplacementsPending, reasons.MovesPerHour,
		reasons.OwnerReplacementUnready, reasons.OwnerReplacementPending, reasons.OwnerCoolingDown, reasons.OwnerMovesPerHour,
		reasons.NodeSettling, reasons.NamespaceMovesPerHour, reasons.NodePoolMovesPerHour,
	}
}
