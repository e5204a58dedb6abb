package realusage

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/plugin"
)

// bursts returns the pattern of a pod that has used the given CPU from 10:00 to 12:00 of each day
// and 1000 milli-cores otherwise, for three days.
func bursts(milliCores int64) *forecast.Pattern {
	clock, r := forecast.Clock{Period: 24 * time.Hour}, forecast.Recurrence{}
	for second := int64(0); second < 3*86400; second += 300 {
		used := int64(1000)
		if hour := second % 86400 / 3600; hour == 10 || hour == 11 {
			used = milliCores
		}
		r.Add(clock.Part(second), used)
	}
	r.Finish(clock.Part(3*86400), 0)
	return r.Pattern()
}

// quietYard returns a yard at midnight in which no node is hot. The pods on node-00001 burst at
// 10:00, each to the given number of milli-cores. node-00002 accepts pods.
func quietYard(t *testing.T, milliCores int64, change ...func(*v1.Pod)) *yard {
	t.Helper()
	y := newYard(t, change...)
	y.observed.States["node-00000"] = thresholds.NodeState{State: thresholds.Unknown}
	y.observed.View.At = time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)
	y.deps.Options.Recurs = forecast.Clock{Period: 24 * time.Hour}
	y.deps.Options.MinHotTimeSaved = 10 * time.Minute
	for i := range y.observed.View.Nodes {
		for k := range y.observed.View.Nodes[i].Pods {
			pod := &y.observed.View.Nodes[i].Pods[k]
			pod.Expected, pod.Lasts = forecast.Constant(pod.Used[cluster.CPU]), true
			if i == 1 {
				pod.Pattern.Pattern = bursts(milliCores)
			}
		}
	}
	return y
}

func (y *yard) movedAhead(t *testing.T) (names []string) {
	t.Helper()
	study, err := plugin.Study(t.Context(), []*plugin.Plugin{y.plugin(t)}, y.nodes, strategies.Asked{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range study.Made.Plan.Moves {
		if study.Made.Plan.Moves[i].Reason == reasons.NodeHotAhead {
			names = append(names, study.Made.Plan.Moves[i].Name)
		}
	}
	return names
}

// Nodes are relieved ahead of time if they are judged and will be hot by the pods that are on them
// then.
func TestWhatIsRelievedAhead(t *testing.T) {
	for name, tc := range map[string]struct {
		each   int64 // milli-cores in the burst; the node's evict line is at 65% of 32 cores
		change func(*yard)
		want   int
	}{
		"it will be hot":     {9000, func(*yard) {}, 1},
		"it will not be hot": {6000, func(*yard) {}, 0},
		"it is drained":      {9000, func(y *yard) { y.observed.View.Snapshot.Nodes[1].Node.Leaving = "ToBeDeletedByClusterAutoscaler" }, 0},
		"while others are coming": {9000, func(y *yard) {
			y.observed.Coming = append(y.observed.Coming, struct{ Namespace, OwnerUID, Node string }{"ns", "o", "node-00002"})
		}, 0},
		"nothing may be evicted":    {9000, func(y *yard) { y.observed.Closed = "OutsideWindow" }, 0},
		"its pods are not measured": {9000, func(y *yard) { unmeasured(y, 0, 1, 2) }, 0},
		"its owners rest":           {9000, func(y *yard) { refuseAll(y, reasons.OwnerCoolingDown) }, 0},
		"no more moves are allowed": {9000, func(y *yard) {
			y.observed.MaxMoves = 0
			y.deps.Options.MaxMoves = 0
			refuseAll(y, reasons.MovesPerHour)
		}, 0},
		"the destination is cordoned":  {9000, func(y *yard) { y.observed.View.Snapshot.Nodes[2].Node.Schedulable = false }, 0},
		"the destination is not known": {9000, func(y *yard) { y.observed.States["node-00002"] = thresholds.NodeState{State: thresholds.Unknown} }, 0},
		"the destination is hot":       {9000, func(y *yard) { y.observed.States["node-00002"] = thresholds.NodeState{State: thresholds.Hot} }, 0},
		"nothing is decided on it": {9000, func(y *yard) {
			y.observed.View.Snapshot.Nodes[1].Node.Ready = false
			y.observed.States["node-00001"] = thresholds.NodeState{State: thresholds.Unknown, Unknown: reasons.NodeNotReady}
		}, 0},
		"a pod is leaving without which it will not be hot": {9000, func(y *yard) {
			y.observed.View.Snapshot.Nodes[1].Pods[2].Terminating = true
		}, 0},
		"a pod has begun to leave without which it will not be hot": {9000, func(y *yard) {
			object := y.pods["node-00001"][2].DeepCopy()
			object.DeletionTimestamp = &y.nodes[0].CreationTimestamp
			y.pods["node-00001"][2] = object
		}, 0},
		"a Job's pod without which it will not be hot": {6000, func(y *yard) {
			y.observed.View.Snapshot.Nodes[1].Pods[2].Owner.Kind = "Job"
			pod := &y.observed.View.Nodes[1].Pods[2]
			pod.Used[cluster.CPU], pod.Pattern.Pattern, pod.Expected, pod.Lasts = 10_000, nil, forecast.Constant(10_000), false
			for w := range y.observed.View.Nodes[1].Current {
				y.observed.View.Nodes[1].Current[w][cluster.CPU] += 9000
			}
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			y := quietYard(t, tc.each)
			tc.change(y)
			if got := y.movedAhead(t); len(got) != tc.want {
				t.Errorf("%d pods are moved ahead of time (%v), want %d", len(got), got, tc.want)
			}
		})
	}
}

// Metrics count an eviction by the reason for which its pod was moved.
func TestAMoveAheadIsPlannedAsSuch(t *testing.T) {
	y := quietYard(t, 9000)
	made, err := y.plugin(t).Plan(t.Context(), &y.observed, y.nodes)
	if err != nil {
		t.Fatal(err)
	}
	planned := made.Plan.Moves
	if len(planned) != 1 || planned[0].Reason != reasons.NodeHotAhead {
		t.Errorf("planned %+v, want one move for %s", planned, reasons.NodeHotAhead)
	}
}

func unmeasured(y *yard, pods ...int) {
	for _, k := range pods {
		y.observed.View.Nodes[1].Pods[k].Measured = false
	}
}

func refuseAll(y *yard, why reasons.Reason) {
	for _, pod := range y.pods["node-00001"] {
		y.refused[pod.Name] = why
	}
}
