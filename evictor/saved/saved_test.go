package saved

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
)

var landed = time.Date(2026, 11, 4, 2, 0, 0, 0, time.UTC)

// use is the usage of source, destination and replacement in percent of a node; negative if
// unknown.
type use struct{ source, destination, replacement int64 }

// lines returns lines that make a node hot above 65% of CPU.
func lines(t *testing.T) *thresholds.Set {
	t.Helper()
	set, err := thresholds.New([]thresholds.Pool{{Rules: []thresholds.Rule{
		{Metric: usage.CPU, Window: usage.Avg5m, Levels: thresholds.Levels{Low: 45, Reject: 60, Evict: 65, Leave: 60}},
	}}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// look shows usage to a watch for the given number of minutes, with one view per minute.
func look(t *testing.T, w *Watch, from, minutes int, u use, moves ...ledger.Move) (saved []float64) {
	t.Helper()
	set := lines(t)
	for minute := from; minute < from+minutes; minute++ {
		view := &usage.View{At: landed.Add(time.Duration(minute) * time.Minute), Windows: []usage.Window{usage.Last, usage.Avg5m}, Snapshot: &cluster.Snapshot{}}
		for name, percent := range map[string]int64{"from": u.source, "to": u.destination} {
			size := cluster.Amounts{10_000, 100 << 30}
			info := &cluster.NodePods{Node: cluster.Node{Name: name, Allocatable: size}}
			n := usage.NodeUsage{Current: []cluster.Amounts{{100 * percent}, {100 * percent}}}
			if percent < 0 {
				n.Unknown = reasons.UsageStale
			}
			if name == "to" {
				info.Pods = append(info.Pods, &cluster.Pod{UID: "second"})
				n.Pods = append(n.Pods, usage.PodUsage{Measured: u.replacement >= 0, Used: cluster.Amounts{100 * u.replacement}})
			}
			view.Snapshot.Nodes, view.Nodes = append(view.Snapshot.Nodes, info), append(view.Nodes, n)
		}
		if view.Snapshot.Nodes[0].Node.Name == "to" { // sorted by name
			view.Snapshot.Nodes[0], view.Snapshot.Nodes[1] = view.Snapshot.Nodes[1], view.Snapshot.Nodes[0]
			view.Nodes[0], view.Nodes[1] = view.Nodes[1], view.Nodes[0]
		}
		saved = append(saved, w.Look(view, set.Resolve(view), moves)...)
	}
	return saved
}

func aMove() ledger.Move {
	return ledger.Move{
		Intent: ledger.Intent{PodUID: "first", From: "from", To: "to", Usage: cluster.Amounts{2000, 1 << 30}},
		State:  ledger.Landed, Ended: landed, Node: "to", Replacement: "second",
	}
}

func TestWatch(t *testing.T) {
	whole := int(forecast.Horizon.Minutes())
	for name, tc := range map[string]struct {
		first, then use // first is the usage for an hour, then the usage afterwards
		want        float64
	}{
		"heat that lasts":          {use{60, 40, 20}, use{60, 40, 20}, float64(whole) - 1},
		"an hour of heat":          {use{60, 40, 20}, use{40, 40, 20}, 60},
		"a pod that went quiet":    {use{60, 40, 20}, use{60, 40, 2}, 60},
		"the source is hot anyway": {use{80, 40, 20}, use{80, 40, 20}, 0},
		"the destination got hot":  {use{40, 70, 20}, use{40, 40, 20}, -60},
		"the heat went with it":    {use{60, 70, 20}, use{40, 40, 20}, 0},
		"by its former usage":      {use{60, 40, -1}, use{40, 40, -1}, 60},
		"the nodes are unknown":    {use{-1, -1, 20}, use{-1, -1, 20}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := &Watch{}
			look(t, w, -1, 1, tc.first) // before the move landed
			got := look(t, w, 0, 60, tc.first, aMove())
			got = append(got, look(t, w, 60, whole, tc.then, aMove())...)
			if diff := cmp.Diff([]float64{tc.want}, got, cmp.Comparer(func(a, b float64) bool { return a-b < 1.5 && b-a < 1.5 })); diff != "" {
				t.Errorf("minutes saved (-want +got):\n%s", diff)
			}
		})
	}
}

// A move is counted once, at the latest when the ledger forgets it. A move that landed before
// watching began is not counted.
func TestWatchHoldsWhatTheLedgerHolds(t *testing.T) {
	w := &Watch{}
	if got := look(t, w, 30, 10, use{60, 40, 20}, aMove()); got != nil || len(w.watched) != 0 {
		t.Errorf("of a move that landed half an hour ago: %v, %v", got, w.watched)
	}
	w = &Watch{}
	look(t, w, -1, 1, use{60, 40, 20})
	look(t, w, 0, 10, use{60, 40, 20}, aMove())
	if got := look(t, w, 10, 5, use{60, 40, 20}); len(got) != 1 || len(w.watched) != 0 {
		t.Errorf("of a move that the ledger dropped: %v, %v", got, w.watched)
	}
	w = &Watch{}
	look(t, w, -1, 1, use{60, 40, 20})
	cancelled := aMove()
	cancelled.State = ledger.Cancelled
	look(t, w, 0, 10, use{60, 40, 20}, cancelled)
	if len(w.watched) != 0 {
		t.Errorf("of a move that was never made: %v", w.watched)
	}
}

// After a time without views, such as another leader's term, moves that landed earlier are not
// counted, because it is unknown what they saved during that time.
func TestWatchBeginsAnewAfterAGap(t *testing.T) {
	w := &Watch{}
	look(t, w, -1, 1, use{60, 40, 20})
	look(t, w, 0, 10, use{60, 40, 20}, aMove())
	if len(w.watched) != 1 {
		t.Fatalf("%v is watched, want the move", w.watched)
	}
	meanwhile := aMove()
	meanwhile.PodUID, meanwhile.Ended = "other", landed.Add(20*time.Minute)
	later := aMove()
	later.PodUID, later.Ended = "later", landed.Add(45*time.Minute)
	if got := look(t, w, 40, 20, use{60, 40, 20}, aMove(), meanwhile, later); got != nil {
		t.Errorf("counted %v", got)
	}
	if _, watched := w.watched["later"]; len(w.watched) != 1 || !watched {
		t.Errorf("%v is watched, want only what landed after the gap", w.watched)
	}
}
