package evictor

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/reasons"
)

// looking is an Observer with a fixed observation.
type looking struct {
	Observer

	latest *observer.Observation
}

func (l *looking) Latest() *observer.Observation { return l.latest }

// populated returns an observation of nodes with pods.
func populated(t *testing.T, pods map[string][]*cluster.Pod, change func(*cluster.Node)) *observer.Observation {
	latest := seen(t, 9700)
	for _, info := range latest.View.Snapshot.Nodes {
		info.Pods = pods[info.Node.Name]
		change(&info.Node)
	}
	return latest
}

func inhabitant(namespace, owner string) *cluster.Pod {
	return &cluster.Pod{Namespace: namespace, Owner: cluster.Owner{UID: owner}}
}

// Shares of everything and of namespaces count only pods on nodes that take part, and an owner's
// share counts all its pods. A terminating pod is not counted, because its replacement is.
func TestCensus(t *testing.T) {
	leaving := inhabitant("ns", "rs-1")
	leaving.Terminating = true
	pods := map[string][]*cluster.Pod{
		"cool": {inhabitant("ns", "rs-1"), inhabitant("ns", ""), leaving},
		"hot":  {inhabitant("ns", "rs-1"), inhabitant("other", "rs-1"), inhabitant("ns", "rs-2")},
		"warm": {inhabitant("ns", "rs-1"), inhabitant("far", "rs-9")},
	}
	e := newEstate(t)
	unselected := func(n *cluster.Node) { n.Unselected = n.Name == "warm" }
	look := &looking{e.config.Observer, populated(t, pods, unselected)}
	e.config.Observer = look
	want := &safeguards.Census{
		All: 5, Namespaces: map[string]int{"ns": 4, "other": 1},
		Owners: map[safeguards.Whose]int{
			{Namespace: "ns", OwnerUID: "rs-1"}: 3, {Namespace: "ns", OwnerUID: "rs-2"}: 1, {Namespace: "other", OwnerUID: "rs-1"}: 1, {Namespace: "far", OwnerUID: "rs-9"}: 1,
		},
	}
	got := e.census()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("census (-want +got):\n%s", diff)
	}
	if again := e.census(); again != got {
		t.Error("the pods of one observation are counted twice")
	}
	look.latest = populated(t, map[string][]*cluster.Pod{"hot": {inhabitant("ns", "rs-1")}}, unselected)
	if next := e.census(); next.All != 1 {
		t.Errorf("%d pods in the next observation, want 1", next.All)
	}
	look.latest = nil
	if diff := cmp.Diff(&safeguards.Census{}, e.census()); diff != "" {
		t.Errorf("census before an observation (-want +got):\n%s", diff)
	}
}

// The shares of an owner and of a namespace follow the observed pods, whether for a move, for the
// number of remaining moves or for a plan.
func TestSharesFollowTheObservation(t *testing.T) {
	many := func(namespace, owner string, n int) (pods []*cluster.Pod) {
		for range n {
			pods = append(pods, inhabitant(namespace, owner))
		}
		return pods
	}
	member := func(*cluster.Node) {}
	e := newEstate(t)
	look := &looking{Observer: e.config.Observer}
	e.config.Observer = look
	e.config.Settings.Safeguards = safeguards.New(safeguards.Config{MaxPercentPerHour: 5, MaxPercentPerHourOfOwner: 50, Breaker: lenient})
	var moves []ledger.Move
	for n := range 4 {
		moves = append(moves, ledger.Move{
			Intent: ledger.Intent{Namespace: "ns", PodUID: string(rune('a' + n)), From: "elsewhere", Owner: cluster.Owner{UID: "rs-1"}},
			State:  ledger.Landed, Recorded: noon.Add(-time.Minute), Evicted: noon.Add(-time.Minute), Ended: noon.Add(-time.Minute),
		})
	}
	e.ledger.Adopt(ledger.Document{Generation: 1, Moves: moves}, noon)
	for _, tc := range []struct {
		pods, left int
		want       reasons.Reason
	}{{4, 46, reasons.OwnerMovesPerHour}, {8, 46, reasons.OwnerMovesPerHour}, {10, 46, ""}, {2_000, 96, ""}} {
		look.latest = populated(t, map[string][]*cluster.Pod{"hot": many("ns", "rs-1", tc.pods)}, member)
		e.verdict = nil
		next := ledger.Intent{Namespace: "ns", PodUID: "next", From: "hot", To: "cool", Owner: cluster.Owner{UID: "rs-1"}}
		if got, detail := e.allowance().Refuse(&next); got != tc.want {
			t.Errorf("%d pods: refused for %q (%s), want %q", tc.pods, got, detail, tc.want)
		}
		asked := next // requested by another plugin, which names no destination
		asked.To = ""
		if got, detail := e.allowance().Refuse(&asked); got != "" {
			t.Errorf("%d pods: another plugin's eviction is refused for %q (%s)", tc.pods, got, detail)
		}
		observed := e.Observe()
		if got, _ := observed.Beside(inhabitant("ns", "rs-1"), 0, 0); got != tc.want {
			t.Errorf("%d pods: a plan is refused for %q, want %q", tc.pods, got, tc.want)
		}
		if left, _ := e.Standing(); left != tc.left || observed.MaxMoves != tc.left {
			t.Errorf("%d pods: %d and %d are left, want %d", tc.pods, left, observed.MaxMoves, tc.left)
		}
	}
}
