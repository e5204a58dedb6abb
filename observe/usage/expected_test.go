package usage

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
)

// The expected usage of a measured pod and of its node follows from all samples. An unmeasured pod
// is expected to use its estimate.
func TestExpected(t *testing.T) {
	store := newStore(t)
	snapshot := snapshotOf(nodeWith("n1", aPod("web-0", owner("web")), aPod("late-0", owner("late"))))
	for second := 0; second <= 3600; second += 15 {
		used := amounts(1000, 100)
		if second > 3300 {
			used = amounts(3000, 100)
		}
		node := used.Plus(amounts(500, 0))
		store.Ingest(snapshot, readAt(second).node("n1", node).pod("web-0", used).Batch)
		store.View(snapshot, at(second), nil)
	}
	node := store.View(snapshot, at(3600), nil).Nodes[0]
	web, late := node.Pods[0], node.Pods[1]
	if web.Used[cluster.CPU] < 2900 {
		t.Fatalf("it used %v in the last five minutes", web.Used)
	}
	if web.PeakMilliCores != web.Used[cluster.CPU] || late.PeakMilliCores != 0 {
		t.Errorf("peaks of %d where %d is the most, and of %d where nothing was measured", web.PeakMilliCores, web.Used[cluster.CPU], late.PeakMilliCores)
	}
	var used forecast.Pool
	levels := store.PodCPU()
	counted := levels["uid-web-0"]
	if used.Add(&counted.Levels); counted.MilliCores != web.Used[cluster.CPU] || used.Count() < 10 || used.At(50) < 940 || used.At(50) > 1060 || used.At(100) < 2500 || len(levels) != 1 {
		t.Errorf("%d means, p50 %d, peak %d; usage of %d pods", used.Count(), used.At(50), used.At(100), len(levels))
	}
	for of, e := range map[string]forecast.Expected{"pod": web.Expected, "node": node.Expected} {
		if !(e[0].Mean > e[1].Mean && e[1].Mean > e[2].Mean && e[2].Mean >= 1000 && e[2].Mean < 1600 && e[2].Variance > 0) {
			t.Errorf("a peak of five minutes makes one expect of the %s %v", of, e)
		}
	}
	if diff := cmp.Diff(forecast.Constant(late.Used[cluster.CPU]), late.Expected); diff != "" || late.Measured {
		t.Errorf("of an unmeasured pod (-want +got):\n%s", diff)
	}
}

// A node's lowest usage, including its reserve, is known after some hours. It is unknown for a node
// that was not read for a while or is read for the first time.
func TestLeastThatANodeUsed(t *testing.T) {
	const hour = 3600
	for name, tc := range map[string]struct {
		hours      int
		idle, gone func(second int) bool
		want       int64
	}{
		"four hours":             {hours: 4, want: 4000},
		"one reading":            {hours: 0},
		"an hour":                {hours: 1},
		"ten minutes of less":    {hours: 4, idle: func(s int) bool { return s >= 3*hour && s < 3*hour+600 }, want: 1000},
		"less, eight hours ago":  {hours: 12, idle: func(s int) bool { return s < 4*hour }, want: 4000},
		"half an hour not read":  {hours: 4, gone: func(s int) bool { return s >= 3*hour && s < 3*hour+1800 }},
		"two minutes not read":   {hours: 4, gone: func(s int) bool { return s >= 3*hour && s < 3*hour+120 }, want: 4000},
		"back since eight hours": {hours: 12, gone: func(s int) bool { return s >= 3*hour && s < 4*hour }, want: 4000},
	} {
		t.Run(name, func(t *testing.T) {
			store, snapshot := newStore(t), snapshotOf(nodeWith("n1"))
			snapshot.Nodes[0].Node.Capacity = amounts(4000, 1000)
			snapshot.Nodes[0].Node.Allocatable = amounts(3500, 1000)
			for second := 0; second <= tc.hours*hour; second += 15 {
				if used := amounts(4000, 100); tc.gone == nil || !tc.gone(second) {
					if tc.idle != nil && tc.idle(second) {
						used = amounts(1000, 100)
					}
					store.Ingest(snapshot, readAt(second).node("n1", used).Batch)
				}
				store.View(snapshot, at(second), nil)
			}
			if got := store.View(snapshot, at(tc.hours*hour), nil).Nodes[0].LeastMilliCores; got != tc.want {
				t.Errorf("%d, want %d", got, tc.want)
			}
		})
	}
}

// The highest usage of a node in the last hours includes everything on the machine.
func TestPeakOfANode(t *testing.T) {
	const hour = 3600
	store, snapshot := newStore(t), snapshotOf(nodeWith("n1"))
	snapshot.Nodes[0].Node.Capacity = amounts(4000, 1000)
	snapshot.Nodes[0].Node.Allocatable = amounts(3500, 1000)
	for second := 0; second <= 10*hour; second += 15 {
		used := amounts(1000, 100)
		if second > hour && second <= 2*hour {
			used = amounts(4000, 100)
		}
		store.Ingest(snapshot, readAt(second).node("n1", used).Batch)
		want := int64(1000)
		switch {
		case second <= hour+300 || second > 2*hour && second < 2*hour+300: // partly
			want = 0
		case second <= 4*hour:
			want = 4000
		case second <= 6*hour+300: // for two to four hours, depending on when it was
			want = 0
		}
		if got := store.View(snapshot, at(second), nil).Nodes[0].PeakMilliCores; want > 0 && got != want {
			t.Fatalf("after %d seconds %d, want %d", second, got, want)
		}
	}
}

// A pod that follows another of the same name starts without its history.
func TestExpectedOfANamesake(t *testing.T) {
	store := newStore(t)
	before := snapshotOf(nodeWith("n1", aPod("db-0", owner("db"))))
	feed(store, before, 0, 300, amounts(5000, 100), map[string]cluster.Amounts{"db-0": amounts(4000, 50)})
	after := snapshotOf(nodeWith("n1", aPod("db-0", owner("db"), uid("second"), startedAt(305))))
	feed(store, after, 315, 600, amounts(2000, 100), map[string]cluster.Amounts{"db-0": amounts(1000, 50)})
	pod := store.View(after, at(600), nil).Nodes[0].Pods[0]
	if diff := cmp.Diff(forecast.Constant(1000), pod.Expected); diff != "" || pod.PeakMilliCores != 1000 {
		t.Errorf("a peak of %d, expected (-want +got):\n%s", pod.PeakMilliCores, diff)
	}
}
