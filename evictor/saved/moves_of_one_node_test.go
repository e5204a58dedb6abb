package saved

import (
	"math"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// world holds nodes, by name, with their usage and pods, in percent of a node.
type world map[string]struct {
	used int64
	pods map[string]int64
}

func (w world) view(at time.Time, nodes ...string) *usage.View {
	view := &usage.View{At: at, Windows: []usage.Window{usage.Last, usage.Avg5m}, Snapshot: &cluster.Snapshot{}}
	for _, name := range nodes { // sorted by name
		info := &cluster.NodePods{Node: cluster.Node{Name: name, Allocatable: cluster.Amounts{10_000, 100 << 30}}}
		n := usage.NodeUsage{Current: []cluster.Amounts{{100 * w[name].used}, {100 * w[name].used}}}
		for uid, percent := range w[name].pods {
			info.Pods = append(info.Pods, &cluster.Pod{UID: uid})
			n.Pods = append(n.Pods, usage.PodUsage{Measured: true, Used: cluster.Amounts{100 * percent}})
		}
		view.Snapshot.Nodes, view.Nodes = append(view.Snapshot.Nodes, info), append(view.Nodes, n)
	}
	return view
}

// sum shows a world to a watch once per minute, and returns what its moves save in total.
func sum(t *testing.T, minutes int, at func(minute int) world, moves ...ledger.Move) (total float64) {
	t.Helper()
	set := lines(t)
	w := &Watch{}
	for minute := -1; minute < minutes; minute++ {
		view := at(minute).view(landed.Add(time.Duration(minute)*time.Minute), "a", "b", "c")
		if minute < 0 {
			w.Look(view, set.Resolve(view), nil) // before the moves landed
			continue
		}
		w.Look(view, set.Resolve(view), moves)
	}
	for _, s := range w.SoFar() {
		total += s.HotMinutes
	}
	return total
}

func moved(uid, from, to, replacement string, percent int64) ledger.Move {
	return ledger.Move{
		Intent: ledger.Intent{PodUID: uid, From: from, To: to, Usage: cluster.Amounts{100 * percent, 1 << 30}},
		State:  ledger.Landed, Ended: landed, Node: to, Replacement: replacement,
	}
}

// The moves off one node together save the time for which the node would have been hot.
func TestMovesOffOneNodeSaveItsHotTimeOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		left  int64 // the remaining usage of the node, which is hot at 65
		moves []ledger.Move
	}{
		"a pod": {55, []ledger.Move{moved("1", "a", "b", "x", 15)}},
		"pods that all had to leave": {55, []ledger.Move{
			moved("1", "a", "b", "x", 15), moved("2", "a", "b", "y", 15), moved("3", "a", "b", "z", 15),
		}},
		"pods of which none alone makes it hot": {45, []ledger.Move{moved("1", "a", "b", "x", 15), moved("2", "a", "b", "y", 15)}},
	} {
		t.Run(name, func(t *testing.T) {
			now := world{"a": {tc.left, nil}, "b": {45, map[string]int64{"x": 15, "y": 15, "z": 15}}, "c": {10, nil}}
			// Without the moves, the node would have used left plus 15 for each move, which makes
			// it hot.
			if got := sum(t, 60, func(int) world { return now }, tc.moves...); math.Abs(got-60) > 1.5 {
				t.Errorf("in an hour in which one node would have been hot they saved %.0f hot minutes, want 60", got)
			}
		})
	}
}

// Without moves, a pod that was moved twice would be on one node, so it counts on only one.
func TestAPodThatMovedTwice(t *testing.T) {
	now := world{"a": {55, nil}, "b": {55, nil}, "c": {30, map[string]int64{"y": 20}}}
	got := sum(t, 60, func(int) world { return now }, moved("1", "a", "b", "x", 20), moved("x", "b", "c", "y", 20))
	if math.Abs(got-60) > 1.5 {
		t.Errorf("in an hour in which one node would have been hot they saved %.0f hot minutes, want 60", got)
	}
}

// A pod that no longer runs anywhere, because its owner was scaled down, makes no node hot.
func TestAReplacementThatIsGone(t *testing.T) {
	now := world{"a": {55, nil}, "b": {30, nil}, "c": {30, nil}}
	if got := sum(t, 60, func(int) world { return now }, moved("1", "a", "b", "x", 20)); got != 0 {
		t.Errorf("a move of a pod that is gone saved %.0f hot minutes, want 0", got)
	}
}

// A move ahead of time is credited with what it saves in the hour for which it was made, which is
// expected within a day.
func TestAMoveAheadIsWatchedUntilItsHour(t *testing.T) {
	move := moved("1", "a", "b", "x", 2)
	move.Decision = &ledger.Decision{HotMinutesSaved: 120, WithinMinutes: 24 * 60}
	set := lines(t)
	w, total, counted := &Watch{}, 0.0, 0
	for minute := -1; minute < 25*60; minute++ {
		now := world{"a": {10, nil}, "b": {10, map[string]int64{"x": 2}}, "c": {10, nil}}
		if minute >= 600 && minute < 720 { // ten hours later, both the node and the pod are busy
			now = world{"a": {45, nil}, "b": {45, map[string]int64{"x": 35}}, "c": {10, nil}}
		}
		view := now.view(landed.Add(time.Duration(minute)*time.Minute), "a", "b", "c")
		ended := []ledger.Move{move}
		if minute < 0 {
			ended = nil // before the move landed
		}
		for _, saved := range w.Look(view, set.Resolve(view), ended) {
			total, counted = total+saved, counted+1
		}
	}
	if counted != 1 || math.Abs(total-120) > 1.5 {
		t.Errorf("it is counted %d times with %.0f hot minutes saved, want once with 120", counted, total)
	}
}

// If a move lands before the first look at it, the time until then counts as nothing saved.
func TestAMoveThatLandsAfterTheFirstView(t *testing.T) {
	set := lines(t)
	now := world{"a": {55, nil}, "b": {45, map[string]int64{"x": 15}}, "c": {10, nil}}
	for name, before := range map[string]*time.Time{"of a process that has just started": nil, "after an hour": new(landed.Add(-time.Hour))} {
		w := &Watch{}
		if before != nil {
			w.Look(now.view(*before, "a", "b", "c"), set.Resolve(now.view(*before, "a", "b", "c")), nil)
		}
		move := moved("1", "a", "b", "x", 15)
		move.Ended = landed.Add(5 * time.Second)
		view := now.view(landed, "a", "b", "c")
		w.Look(view, set.Resolve(view), []ledger.Move{move})
		if got := w.SoFar()["1"]; got.HotMinutes != 0 || got.Watched != 0 {
			t.Errorf("%s: at once it has saved %.0f hot minutes, watched for %.0f", name, got.HotMinutes, got.Watched)
		}
	}
}
