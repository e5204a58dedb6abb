package ledger

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
)

// The cases show how a move of a pod with 2,200 milli-cores and 1 GiB off a node with 9,000
// milli-cores and 20 GiB is judged. The facts of each case differ in one point from those of a move
// that helped.
func TestAssess(t *testing.T) {
	const gib = 1 << 30
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	landed := Move{State: Landed, Node: "cool", Intent: Intent{
		From: "hot", To: "cool", Usage: cluster.Amounts{2200, gib}, FromUsed: cluster.Amounts{9000, 20 * gib},
	}}
	good := OutcomeFacts{Now: now, Replacement: Replacement{Exists: true, Ready: true}, SourceUsed: cluster.Amounts{6800, 19 * gib}}
	helped := Outcome{Judged: now, Planned: true, SourceCooler: true, DestinationUnder: true, Healthy: true}
	hot := func(used cluster.Amounts) func(*Move, *OutcomeFacts) {
		return func(_ *Move, f *OutcomeFacts) { f.SourceHot, f.SourceUsed = true, used }
	}
	cases := map[string]struct {
		change func(*Move, *OutcomeFacts)
		want   func(*Outcome)
		helped bool
	}{
		"as planned": {helped: true},
		"landed elsewhere": {
			change: func(m *Move, _ *OutcomeFacts) { m.Node = "other" },
			want:   func(o *Outcome) { o.Planned = false }, helped: true,
		},
		"planned by nobody": {
			change: func(m *Move, _ *OutcomeFacts) { m.To, m.Node = "", "" },
			want:   func(o *Outcome) { o.Planned = false }, helped: true,
		},
		"the source is still hot, but cooler by half of the pod's CPU": {
			change: hot(cluster.Amounts{7900, 20 * gib}), helped: true,
		},
		"cooler by a little less than half": {
			change: hot(cluster.Amounts{7901, 20 * gib}), want: func(o *Outcome) { o.SourceCooler = false },
		},
		"cooler by half of the pod's memory, which is the smaller share of the node's": {
			change: hot(cluster.Amounts{9500, 19*gib + gib/2}), want: func(o *Outcome) { o.SourceCooler = false },
		},
		"hotter than before": {
			change: hot(cluster.Amounts{9500, 21 * gib}), want: func(o *Outcome) { o.SourceCooler = false },
		},
		"hotter, but not hot by its lines": {
			change: func(_ *Move, f *OutcomeFacts) { f.SourceUsed = cluster.Amounts{9500, 21 * gib} }, helped: true,
		},
		"hot, and not measured": {
			change: hot(cluster.Amounts{}), want: func(o *Outcome) { o.SourceCooler = false },
		},
		"hot, and not measured when the move was planned": {
			change: func(m *Move, f *OutcomeFacts) { m.FromUsed, f.SourceHot = cluster.Amounts{}, true },
			want:   func(o *Outcome) { o.SourceCooler = false },
		},
		"hot, and a pod that was never measured": {
			change: func(m *Move, f *OutcomeFacts) { m.Usage, f.SourceHot = cluster.Amounts{}, true },
			want:   func(o *Outcome) { o.SourceCooler = false },
		},
		"the source is gone": {
			change: func(_ *Move, f *OutcomeFacts) { f.SourceUsed = cluster.Amounts{} }, helped: true,
		},
		"the destination is over": {
			change: func(_ *Move, f *OutcomeFacts) { f.DestinationOver = true },
			want:   func(o *Outcome) { o.DestinationUnder = false },
		},
		"the replacement is not ready": {
			change: func(_ *Move, f *OutcomeFacts) { f.Ready = false }, want: func(o *Outcome) { o.Healthy = false },
		},
		"the replacement has restarted": {
			change: func(_ *Move, f *OutcomeFacts) { f.Restarts = 1 }, want: func(o *Outcome) { o.Healthy = false },
		},
		"the replacement was deleted since": {
			change: func(_ *Move, f *OutcomeFacts) { f.Exists, f.Ready, f.Restarts = false, false, 3 }, helped: true,
		},
		"usage that cannot be": {
			change: func(m *Move, f *OutcomeFacts) {
				m.FromUsed, m.Usage = cluster.Amounts{1<<63 - 1, -1 << 63}, cluster.Amounts{1<<63 - 1, 1}
				f.SourceHot, f.SourceUsed = true, cluster.Amounts{-1 << 63, 1<<63 - 1}
			},
			want: func(o *Outcome) { o.SourceCooler = false },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			move, facts, want := landed, good, helped
			if tc.change != nil {
				tc.change(&move, &facts)
			}
			if tc.want != nil {
				tc.want(&want)
			}
			got := Assess(move, facts)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
			if got.Helped() != tc.helped {
				t.Errorf("helped: %v, want %v", got.Helped(), tc.helped)
			}
		})
	}
}

// The savings of a move are available to readers, and a longer observation replaces a shorter one.
func TestSaved(t *testing.T) {
	b := lived()
	var landed string
	_, ended := b.Moves()
	for i := range ended {
		if ended[i].State == Landed {
			landed = ended[i].PodUID
		}
	}
	if landed == "" {
		t.Fatal("no move has landed")
	}
	saved := func(l *Ledger) *Saved {
		_, ended := l.Moves()
		for i := range ended {
			if ended[i].PodUID == landed {
				return ended[i].Saved
			}
		}
		return nil
	}
	before := b.Revision()
	b.SetOutcome(landed, nil, &Saved{HotMinutes: 12, Watched: 60})
	b.SetOutcome("unknown", nil, &Saved{HotMinutes: 1})
	if diff := cmp.Diff(&Saved{HotMinutes: 12, Watched: 60}, saved(b.Ledger)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if b.Revision() != before {
		t.Error("the ledger has to be stored for it")
	}
	document := b.Export()
	other := New(Config{})
	other.Adopt(document, at(10))
	b.SetOutcome(landed, nil, &Saved{HotMinutes: 20, Watched: 120})
	other.Adopt(b.Export(), at(11))
	other.Adopt(document, at(12)) // a late one
	if diff := cmp.Diff(&Saved{HotMinutes: 20, Watched: 120}, saved(other)); diff != "" {
		t.Errorf("in another process (-want +got):\n%s", diff)
	}
}
