package history

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
)

// moved returns a move of the given owner in the ledger.
func moved(pod string, owner cluster.Owner, minute int, change ...func(*ledger.Move)) *ledger.Move {
	m := &ledger.Move{Intent: *intent(pod), State: ledger.Landed, Node: "n2", Evicted: at(minute), Accepted: true}
	m.Owner = owner
	for _, change := range change {
		change(m)
	}
	return m
}

func judged(cooler bool) func(*ledger.Move) {
	return func(m *ledger.Move) {
		m.Outcome = &ledger.Outcome{Planned: true, SourceCooler: cooler, DestinationUnder: true, Healthy: true}
	}
}

func askedBy(plugin string) func(*ledger.Move) {
	return func(m *ledger.Move) {
		decision := *m.Decision
		decision.Plugin = plugin
		m.Decision = &decision
	}
}

// Evictions and their outcomes are counted by workload: the ReplicaSets of a Deployment together,
// and what was only denied, or only would have been made, apart.
func TestByOwner(t *testing.T) {
	ofHash := func(hash string) func(*ledger.Move) { return func(m *ledger.Move) { m.TemplateHash = hash } }
	replicaSet := func(name string) cluster.Owner { return cluster.Owner{UID: name, Kind: "ReplicaSet", Name: name} }
	var entries []Entry
	for _, m := range []*ledger.Move{
		moved("web-a", replicaSet("web-7d9f"), 0, ofHash("7d9f"), judged(true), askedBy("RemoveDuplicates")),
		moved("web-b", replicaSet("web-8c2b"), 5, ofHash("8c2b"), judged(false), askedBy("LowNodeUtilization")),
		moved("web-c", replicaSet("web-8c2b"), 3, ofHash("8c2b"), func(m *ledger.Move) { m.State = ledger.Booked }, askedBy("RemoveDuplicates")),
		moved("cache-a", replicaSet("cache-7d9f"), 1, ofHash("other"), judged(true)), // a ReplicaSet without a Deployment
		moved("alone", cluster.Owner{}, 2, func(m *ledger.Move) { m.Decision, m.Plugin = nil, "RemoveDuplicates" }),
		moved("db-0", cluster.Owner{UID: "db", Kind: "StatefulSet", Name: "db"}, 0, func(m *ledger.Move) {
			m.State, m.Evicted, m.Accepted, m.Denied, m.Ended = ledger.Cancelled, time.Time{}, false, "frozen", at(9)
		}),
	} {
		e, made := OfMove(m)
		if !made {
			t.Fatalf("%s is not an entry", m.Pod)
		}
		entries = append(entries, e)
	}
	trial := entries[0]
	trial.DryRun = true
	want := []OwnerTotals{
		{Namespace: "shop", Owner: "Deployment/web", Evictions: 3, Helped: 1, NotHelped: 1, NotJudged: 1, Last: at(5), Plugins: []string{"LowNodeUtilization", "RemoveDuplicates"}},
		{Namespace: "shop", Owner: "Deployment/web", DryRun: true, Evictions: 1, Helped: 1, Last: at(0), Plugins: []string{"RemoveDuplicates"}},
		{Namespace: "shop", Owner: "Pod/alone", Evictions: 1, NotJudged: 1, Last: at(2), Plugins: []string{"RemoveDuplicates"}},
		{Namespace: "shop", Owner: "ReplicaSet/cache-7d9f", Evictions: 1, Helped: 1, Last: at(1), Plugins: []string{}},
		{Namespace: "shop", Owner: "StatefulSet/db", Denied: 1, Last: at(9), Plugins: []string{}},
	}
	if diff := cmp.Diff(want, ByOwner(append(entries, trial))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
