package incoming

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/strategies"
)

func TestArrivals(t *testing.T) {
	noon := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	move := func(owner, to, node string, state ledger.State, evicted, ended time.Time) ledger.Move {
		return ledger.Move{Intent: ledger.Intent{Owner: cluster.Owner{UID: owner}, To: to}, Node: node, State: state, Evicted: evicted, Ended: ended}
	}
	got := Arrivals([]ledger.Move{
		move("intended", "a", "a", ledger.Intended, time.Time{}, time.Time{}),
		move("evicted", "a", "", ledger.Evicted, noon, time.Time{}),
		move("booked elsewhere", "a", "b", ledger.Booked, noon, time.Time{}),
		move("unplanned", "", "", ledger.Evicted, noon, time.Time{}),
	}, []ledger.Move{
		move("landed unseen", "a", "c", ledger.Landed, noon, noon.Add(time.Second)),
		move("landed before", "a", "c", ledger.Landed, noon, noon.Add(-time.Second)),
		move("expired", "a", "c", ledger.Expired, noon, noon.Add(time.Second)),
	}, noon)
	want := []strategies.Arrival{{OwnerUID: "evicted", Node: "a"}, {OwnerUID: "booked elsewhere", Node: "b"}, {OwnerUID: "landed unseen", Node: "c"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBegun(t *testing.T) {
	noon := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	move := func(from string, state ledger.State, evicted time.Time) ledger.Move {
		return ledger.Move{Intent: ledger.Intent{From: from, To: "cool"}, State: state, Evicted: evicted}
	}
	got := Begun([]ledger.Move{move("evicted", ledger.Evicted, noon), move("intended", ledger.Intended, time.Time{})}, []ledger.Move{
		move("landed", ledger.Landed, noon.Add(-29*time.Minute)), move("long ago", ledger.Landed, noon.Add(-30*time.Minute)),
		move("cancelled", ledger.Cancelled, time.Time{}), move("refused", ledger.Cancelled, noon), move("expired", ledger.Expired, noon),
		move("a wrong clock", ledger.Landed, noon.AddDate(0, 1, 0)), move("a clock that is ahead", ledger.Landed, noon.Add(time.Minute)),
	}, noon)
	if diff := cmp.Diff(map[string]bool{"evicted": true, "landed": true, "expired": true, "a clock that is ahead": true}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A node counts as relieved for a day after pods left it because it was hot. It does not if they
// left for other reasons or have not left.
func TestRelieved(t *testing.T) {
	noon := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	move := func(from string, relieves bool, state ledger.State, evicted time.Time) ledger.Move {
		return ledger.Move{Intent: ledger.Intent{From: from, To: "cool", Relieves: relieves}, State: state, Evicted: evicted}
	}
	got := Relieved([]ledger.Move{move("evicted", true, ledger.Evicted, noon), move("intended", true, ledger.Intended, time.Time{})}, []ledger.Move{
		move("landed", true, ledger.Landed, noon.Add(-23*time.Hour)), move("long ago", true, ledger.Landed, noon.Add(-24*time.Hour)),
		move("cancelled", true, ledger.Cancelled, noon), move("preferred", false, ledger.Landed, noon),
	}, noon)
	if diff := cmp.Diff(map[string]bool{"evicted": true, "landed": true}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Only planned moves leave a node half cooled. Evictions by upstream's plugins for other reasons do
// not.
func TestUpstreamsEvictionsBeginNothing(t *testing.T) {
	noon := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	restarted := ledger.Move{Intent: ledger.Intent{From: "warm"}, State: ledger.Landed, Node: "cool", Evicted: noon}
	if diff := cmp.Diff(map[string]bool{}, Begun(nil, []ledger.Move{restarted}, noon)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A node that repeatedly becomes hot must not have precedence indefinitely. Otherwise each move
// would put it first in the next plan, and hotter nodes would wait without end.
func TestNoNodeIsFirstIndefinitely(t *testing.T) {
	noon := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	var ended []ledger.Move
	firsts := 0
	for at := noon; at.Before(noon.Add(10 * time.Hour)); at = at.Add(10 * time.Minute) {
		if Begun(nil, ended, at)["a"] {
			firsts++
		}
		ended = append(ended, ledger.Move{Intent: ledger.Intent{From: "a", To: "cool"}, State: ledger.Landed, Evicted: at})
	}
	if firsts > 30 {
		t.Errorf("it is first in %d of 60 plans, want half of them at most", firsts)
	}
}

// Pods that planned moves have brought count as moved for a day, wherever they landed. Pods that
// were only evicted, or whose move was not completed, do not.
func TestMoved(t *testing.T) {
	noon := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	move := func(replacement, to, node string, state ledger.State, ended time.Time) ledger.Move {
		return ledger.Move{Intent: ledger.Intent{PodUID: "of " + replacement, To: to}, Node: node, Replacement: replacement, State: state, Ended: ended}
	}
	got := Moved([]ledger.Move{
		move("now", "a", "a", ledger.Landed, noon), move("elsewhere", "a", "b", ledger.Landed, noon.Add(-23*time.Hour)),
		move("a day ago", "a", "a", ledger.Landed, noon.Add(-24*time.Hour)), move("unplanned", "", "a", ledger.Landed, noon),
		move("expired", "a", "", ledger.Expired, noon), move("", "a", "a", ledger.Landed, noon),
		move("a wrong clock", "a", "a", ledger.Landed, noon.AddDate(1, 0, 0)), move("a clock that is ahead", "a", "a", ledger.Landed, noon.Add(time.Minute)),
	}, noon)
	if diff := cmp.Diff(map[string]bool{"now": true, "elsewhere": true, "a clock that is ahead": true}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
