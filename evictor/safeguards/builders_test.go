package safeguards

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// noon is the time for which verdicts are requested.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return noon.Add(-d) }

// config sets every limit.
func config(change ...func(*Config)) Config {
	c := Config{
		NodeSettle: time.Minute, MoveTTL: 5 * time.Minute, Cooldown: Cooldown{Base: 10 * time.Minute, Max: time.Hour},
		Breaker: Breaker{
			MaxPending: 3, PendingAfter: time.Minute, MaxUnready: 3, UnreadyAfter: 5 * time.Minute,
			MaxRefusedPercent: 50, MaxErrors: 5, Rest: 5 * time.Minute, MaxNotReadyPercent: 33,
		},
	}
	for _, by := range change {
		by(&c)
	}
	return c
}

type change func(*ledger.Move)

// move returns a move of the pod ns/web-<n> from the node hot to the node cool, recorded two hours
// ago.
func move(n int, changes ...change) ledger.Move {
	m := ledger.Move{
		Intent: ledger.Intent{
			Namespace: "ns", Pod: fmt.Sprintf("web-%d", n), PodUID: fmt.Sprintf("uid-%d", n),
			Owner: cluster.Owner{UID: "rs-1", Kind: "ReplicaSet", Name: "web"},
			From:  "hot", To: "cool", Pool: "general", TTL: 5 * time.Minute,
		},
		State: ledger.Intended, Recorded: ago(2 * time.Hour),
	}
	for _, by := range changes {
		by(&m)
	}
	return m
}

// intended makes a move one that was recorded just now.
func intended(m *ledger.Move) { m.State, m.Recorded = ledger.Intended, noon }

func evicted(before time.Duration) change {
	return func(m *ledger.Move) {
		m.State, m.Evicted, m.Node = ledger.Evicted, ago(before), m.To
		m.Recorded = m.Evicted
	}
}

// landed makes a move one that landed as soon as its pod was evicted.
func landed(before time.Duration) change {
	return func(m *ledger.Move) {
		evicted(before)(m)
		m.State, m.Ended, m.Replacement, m.ReplacementName = ledger.Landed, m.Evicted, "new-"+m.PodUID, "new-"+m.Pod
	}
}

func judged(before time.Duration, helped bool) change {
	return func(m *ledger.Move) {
		landed(before)(m)
		m.Outcome = &ledger.Outcome{Judged: ago(before), SourceCooler: helped, DestinationUnder: true, Healthy: true}
	}
}

// expired makes a move one that expired when its pod was evicted.
func expired(before time.Duration) change {
	return func(m *ledger.Move) {
		evicted(before)(m)
		m.State, m.Ended, m.Node = ledger.Expired, m.Evicted, ""
	}
}

// cancelled makes a move one whose pod was never evicted.
func cancelled(before time.Duration) change {
	return func(m *ledger.Move) { m.State, m.Recorded, m.Ended = ledger.Cancelled, ago(before), ago(before) }
}

func owned(uid string) change    { return func(m *ledger.Move) { m.Owner.UID = uid } }
func in(namespace string) change { return func(m *ledger.Move) { m.Namespace = namespace } }
func pool(name string) change    { return func(m *ledger.Move) { m.Pool = name } }
func from(node string) change    { return func(m *ledger.Move) { m.From = node } }

// facts returns Facts with moves sorted as in the ledger.
func facts(moves ...ledger.Move) Facts {
	f := Facts{Nodes: 10}
	for _, m := range moves {
		if m.InFlight() {
			f.InFlight = append(f.InFlight, m)
		} else {
			f.Ended = append(f.Ended, m)
		}
	}
	return f
}

// several returns n moves, each of a different owner.
func several(n int, changes ...change) []ledger.Move {
	moves := make([]ledger.Move, n)
	for i := range moves {
		moves[i] = move(i, append([]change{owned(fmt.Sprintf("rs-%d", i))}, changes...)...)
	}
	return moves
}

// expect compares a reason and checks that its detail contains words.
func expect(t *testing.T, what string, reason, want reasons.Reason, detail, words string) {
	t.Helper()
	if reason != want {
		t.Errorf("%s: %q (%s), want %q", what, reason, detail, want)
	}
	if (reason == "") != (detail == "") || !strings.Contains(detail, words) {
		t.Errorf("%s: %q in detail %q, want %q", what, reason, detail, words)
	}
}

// spent returns whether a budget refuses one more move of a party.
func (v *Verdict) spent(s scope, name string) (reasons.Reason, string) {
	p := party{s, name}
	return v.refuses(p, v.used(p).intended).words()
}

func (v *Verdict) troubled(namespace string) (reasons.Reason, string) {
	return v.namespace(namespace).words()
}

func (v *Verdict) ofNamespace(name string) (reasons.Reason, string) {
	return v.spent(ofNamespace, name)
}

func (v *Verdict) ofPool(name string) (reasons.Reason, string) { return v.spent(ofPool, name) }
