package realusage

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/scorer"
)

// crowd sets the usage of each pod on a node, and that of the node to their sum.
func (y *yard) crowd(node int, uses, peak int64) {
	read, used := &y.observed.View.Nodes[node], cluster.Amounts{cluster.Memory: 3 << 30}
	for k := range read.Pods {
		pod := &read.Pods[k]
		pod.Used[cluster.CPU], pod.PeakMilliCores, pod.Expected = uses, peak, forecast.Constant(uses)
		used[cluster.CPU] += uses
	}
	read.Measured = []cluster.Amounts{used, used}
	read.Current, read.Predicted = read.Measured, read.Measured
}

// A full node that the cool nodes cannot cool is next to a node that became ready recently. The
// young node is no source, however full it is. As a destination, it has only the space that its
// starting pods leave, however little they use so far. Once it has settled, it is both.
//
//	node-00000 uses 31.5 of 32 cores, node-00002 9.6
func TestYoungNodesBesideFullOnes(t *testing.T) {
	starting := func(read *usage.NodeUsage) {
		for k := range read.Pods {
			read.Pods[k].Starting, read.Pods[k].Measured = true, false
		}
		read.Measured = []cluster.Amounts{{3000, 3 << 30}, {3000, 3 << 30}}
		read.Current = read.Measured
	}
	for name, tc := range map[string]struct {
		uses, peak int64
		ready      time.Duration // how long ago
		change     func(*usage.NodeUsage)
		state      thresholds.State
		from, to   string
		why        reasons.Reason
	}{
		"young and fuller":       {10_500, 30_000, 2 * time.Minute, nil, thresholds.Warm, "node-00000", "node-00002", reasons.NodeFull},
		"settled and fuller":     {10_500, 30_000, time.Hour, nil, thresholds.Hot, "node-00001", "node-00002", reasons.NodeFull},
		"young with room so far": {9000, 0, 2 * time.Minute, starting, thresholds.Warm, "node-00000", "node-00002", reasons.NodeFull},
		"settled with room":      {1000, 0, time.Hour, nil, thresholds.Cool, "node-00000", "node-00001", reasons.NodeHot},
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t, func(pod *v1.Pod) {
				pod.Spec.Containers[0].Resources = v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("4")}}
			})
			y.deps.Options.MinHotTimeSaved = 10 * time.Minute
			view := y.observed.View
			view.At = time.Unix(1_800_000_000, 0)
			y.crowd(0, 10_500, 15_000)
			y.crowd(1, tc.uses, tc.peak)
			y.crowd(2, 3200, 0)
			view.Snapshot.Nodes[1].Node.ReadySince = view.At.Add(-tc.ready)
			if tc.change != nil {
				tc.change(&view.Nodes[1])
			}
			y.observed.Board = scorer.NewBoard(view, y.observed.Lines, scorer.Config{})
			y.observed.States = y.observed.Lines.Classify(nil, thresholds.HotRule{ConsecutiveSamples: 1, Startup: 3 * time.Minute})
			if got := y.observed.States["node-00001"].State; got != tc.state {
				t.Fatalf("the node is %s, want %s", got, tc.state)
			}
			moves := y.study(t, 0, 0).Made.Plan.Moves
			if len(moves) == 0 || moves[0].From != tc.from || moves[0].To != tc.to || moves[0].Reason != tc.why {
				t.Fatalf("moves %+v, want the first from %s to %s for %s", moves, tc.from, tc.to, tc.why)
			}
			for i := range moves {
				if young := tc.ready < time.Hour; young && (moves[i].From == "node-00001" || moves[i].To == "node-00001") {
					t.Errorf("moved %s -> %s", moves[i].From, moves[i].To)
				}
			}
		})
	}
}
