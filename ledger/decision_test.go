package ledger

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// decided gives a move a Decision with the same bounds as in production.
func decided(i *Intent) {
	i.Decision = &Decision{
		Message: fmt.Sprintf("Node %s is hot by real usage: cpu is at 72.7 %% over avg_5m, above the evict line of 65 %%, cpu is at 71.9 %% over p95_1h, "+
			"above the evict line of 70 %%; this pod uses %s. Planned landing: node %s, at 41.2 %% of its cpu before and 45.3 %% with it.",
			i.From, i.Usage.InWords(), i.To),
		Exceeded: []Exceeded{
			{Metric: "cpu", Window: "avg_5m", Value: 72.7, Line: 65, Percent: true},
			{Metric: "cpu", Window: "p95_1h", Value: 71.9, Line: 70, Percent: true},
		},
		Policy: "0123456789ab", Cycle: "20261104T020000Z",
	}
}

// All the moves that a ledger remembers can be stored together with their decisions, in a cluster
// of many nodes with long names, random UIDs and distinct numbers.
func TestEveryMoveKeepsItsDecision(t *testing.T) {
	b := newBooks(Config{})
	h := uint64(1)
	random := func(n uint64) uint64 {
		h ^= h << 13
		h ^= h >> 7
		h ^= h << 17
		return h % n
	}
	uid := func() string {
		return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", random(1<<32), random(1<<16), random(1<<12), random(1<<16), random(1<<48))
	}
	node := func() string {
		return fmt.Sprintf("ip-10-%d-%d-%d.eu-central-1.compute.internal", random(256), random(256), random(256))
	}
	for n := range DefaultKeepEnded {
		pod := uid()
		b.Record(at(n), web(n, func(i *Intent) {
			i.PodUID, i.Owner.UID, i.From, i.To = pod, uid(), node(), node()
			i.Namespace, i.Owner.Name = fmt.Sprint("team-", random(200)), fmt.Sprintf("service-%d-%x", random(1000), random(1<<40))
			i.Pod, i.TemplateHash = fmt.Sprintf("%s-%x", i.Owner.Name, random(1<<20)), fmt.Sprintf("%x", random(1<<40))
			i.Usage[0], i.Usage[1] = int64(random(8000)), int64(random(1<<34))
			i.FromUsed[0], i.FromUsed[1] = int64(random(64000)), int64(random(1<<38))
			decided(i)
			i.Decision.Message = strings.NewReplacer("72.7", fmt.Sprint(float64(random(1000))/10), "41.2", fmt.Sprint(float64(random(1000))/10),
				"45.3", fmt.Sprint(float64(random(1000))/10)).Replace(i.Decision.Message)
			i.Decision.Exceeded[0].Value = float64(random(1000)) / 10
			i.Decision.Cycle = at(n).UTC().Format("20060102T150405Z")
		}))
		b.Accepted(pod, at(n+1))
		b.Leaves(pod, at(n+2))
		b.Expire(at(n + 2).Add(24 * time.Hour))
	}
	document := b.Export()
	data, err := document.Encode()
	if err != nil {
		t.Fatal(err)
	}
	kept, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if len(kept.Moves) != DefaultKeepEnded || kept.Moves[0].Decision == nil {
		t.Errorf("%d moves kept, want %d with their decisions", len(kept.Moves), DefaultKeepEnded)
	}
	t.Logf("%d moves take %d KiB of %d", len(kept.Moves), len(data)>>10, MaxEncodedBytes>>10)
}

// If the Decisions are too long for all of them to be stored, the oldest ones are left out, but no
// move is. The next process must know which pods were moved within a day, and how many within an
// hour. The ledger in memory keeps all Decisions.
func TestReasonsAreForgottenBeforeMoves(t *testing.T) {
	b, random := newBooks(Config{}), rand.New(rand.NewPCG(3, 4))
	for n := range DefaultKeepEnded {
		pod := fmt.Sprint("pod-", n)
		b.Record(at(n), web(n, func(i *Intent) {
			i.PodUID = pod
			message := make([]byte, MaxMessage)
			for k := range message {
				message[k] = byte('a' + random.IntN(26))
			}
			i.Decision = Decision{Message: string(message)}.Bound()
		}))
		b.Accepted(pod, at(n+1))
		b.Leaves(pod, at(n+2))
		b.Expire(at(n + 2).Add(24 * time.Hour))
	}
	document := b.Export()
	data, err := document.Encode()
	if err != nil {
		t.Fatal(err)
	}
	kept, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(kept.Moves); n != DefaultKeepEnded || kept.Moves[0].Decision != nil || kept.Moves[n-1].Decision == nil {
		t.Errorf("%d moves kept, want %d, the newest with its decision, the oldest without", n, DefaultKeepEnded)
	}
	if document.Moves[0].Decision == nil {
		t.Error("the document that was encoded has lost a decision")
	}
}

// A document of the previous version, which stored no decisions, is read as before. The previous
// version can read the current document, whose other fields are unchanged.
func TestDecisionsAreAnAddition(t *testing.T) {
	b := newBooks(Config{})
	b.Record(at(0), web(1, decided))
	b.Accepted("uid-1", at(1))
	document := b.Export()
	data, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	var today, before map[string]any
	if err := json.Unmarshal(data, &today); err != nil {
		t.Fatal(err)
	}
	document.Moves[0].Decision, document.Moves[0].Accepted = nil, false
	if data, err = json.Marshal(document); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &before); err != nil {
		t.Fatal(err)
	}
	move := today["moves"].([]any)[0].(map[string]any)
	delete(move, "decision")
	delete(move, "accepted")
	if diff := cmp.Diff(before, today); diff != "" {
		t.Errorf("beside the decision (-before +today):\n%s", diff)
	}
	if d, err := Decode(packed(data)); err != nil || d.Moves[0].Decision != nil {
		t.Errorf("the document of the version before: %+v, %v", d, err)
	}
}

// Another process learns from the document why a move is made and that the API server accepted its
// eviction, whatever that process has observed itself.
func TestDecisionsAreAdopted(t *testing.T) {
	writer := newBooks(Config{})
	writer.Record(at(0), web(1, decided))
	reader := newBooks(Config{})
	reader.Adopt(writer.Export(), at(1))
	reader.Leaves("uid-1", at(2))
	writer.Accepted("uid-1", at(2))
	reader.Adopt(writer.Export(), at(3))
	move, _ := reader.Get("uid-1")
	if want := web(1, decided).Decision; !move.Accepted || cmp.Diff(want, move.Decision) != "" {
		t.Errorf("in flight: accepted %v, decision %+v", move.Accepted, move.Decision)
	}
	writer.Leaves("uid-1", at(3))
	writer.Bound(webPod("new"), "cool", at(4))
	forgetful := newBooks(Config{})
	before := writer.Export()
	before.Moves[0].Accepted = false
	forgetful.Adopt(before, at(5))
	forgetful.Adopt(writer.Export(), at(6))
	if move, _ := forgetful.Get("uid-1"); move.State != Landed || !move.Accepted {
		t.Errorf("landed: %s, accepted %v", move.State, move.Accepted)
	}
}

// A Decision is bounded, and truncated only between characters.
func TestDecisionsAreBounded(t *testing.T) {
	long := Decision{Message: strings.Repeat("x", MaxMessage-1) + "€ and more", Exceeded: make([]Exceeded, 3*maxExceeded)}
	got := long.Bound()
	if got.Message != strings.Repeat("x", MaxMessage-1) || len(got.Exceeded) != maxExceeded {
		t.Errorf("a message of %d bytes, %d lines", len(got.Message), len(got.Exceeded))
	}
}
