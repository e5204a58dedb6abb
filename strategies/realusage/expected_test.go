package realusage

import (
	"math"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// The expected usage of a hot node includes only the pods that stay, so a pod that leaves makes
// other moves neither more nor less worthwhile.
func TestLeavingPodsAreNotExpected(t *testing.T) {
	y := newYard(t)
	for i := range y.observed.View.Nodes {
		for k := range y.observed.View.Nodes[i].Pods {
			pod := &y.observed.View.Nodes[i].Pods[k]
			pod.Expected = forecast.Constant(pod.Used[cluster.CPU])
		}
	}
	expected := func() (hot, cool int64) {
		in := y.input(t)
		return in.Nodes[0].Load.Lasting(), in.Nodes[1].Load.Lasting()
	}
	if hot, cool := expected(); hot != 24_300 || cool != 3000 {
		t.Errorf("the hot node is expected to use %d, a cool one %d; want 24300 and 3000 as now", hot, cool)
	}
	y.pods["node-00000"][2].DeletionTimestamp = &metav1.Time{}
	if hot, cool := expected(); hot != 16_100 || cool != 3000 {
		t.Errorf("without the pod that leaves the hot node is expected to use %d, a cool one %d; want 16100 and 3000", hot, cool)
	}
}

// A pod that has left since the observation reduces its node's usage by the amount for which it
// counted. The usage of a starting pod beyond its estimate never counted, and neither did an
// estimate beyond the measured usage. Neither of these reduces the usage that still has to leave.
func TestPodsThatLeftReduceUsageByWhatCounted(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(node *usage.NodeUsage, pod *usage.PodUsage)
		want   int64 // of 24,300m, of which the line allows 20,800m
	}{
		"measured": {func(*usage.NodeUsage, *usage.PodUsage) {}, 24_300 - 8200},
		"starting": {func(node *usage.NodeUsage, pod *usage.PodUsage) {
			pod.Measured, pod.Starting, pod.Uncounted = false, true, cluster.Amounts{8000}
			node.Current = []cluster.Amounts{{24_300}, {24_300}}
		}, 24_300 - 200},
		"estimated": {func(node *usage.NodeUsage, pod *usage.PodUsage) {
			pod.Measured, pod.Assumed = false, cluster.Amounts{7000}
			node.Current = []cluster.Amounts{{24_300}, {24_300}}
		}, 24_300 - 1200},
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			node := &y.observed.View.Nodes[0]
			tc.change(node, &node.Pods[2])
			y.pods["node-00000"][2].DeletionTimestamp = &metav1.Time{}
			if n := y.input(t).Nodes[0]; n.Current[cluster.CPU] != tc.want || n.Need[cluster.CPU] != max(tc.want-20_800, 0) {
				t.Errorf("%dm stay and %dm have to leave, want %dm and %dm", n.Current[cluster.CPU], n.Need[cluster.CPU], tc.want, max(tc.want-20_800, 0))
			}
		})
	}
}

// If a node is hot both by CPU usage and by a signal that moving CPU relieves, as much must leave
// as the signal requires, whatever the CPU usage.
func TestWhatASignalNeedsIsDue(t *testing.T) {
	y := newYard(t)
	view := y.observed.View
	view.Signals = []usage.Metric{usage.IOPressure}
	for i := range view.Nodes {
		view.Nodes[i].Signals = [][]float64{{10, 10}}
	}
	view.Nodes[0].Signals[0] = []float64{50, 50}
	inf := math.Inf(1)
	set, err := thresholds.New([]thresholds.Pool{{Rules: []thresholds.Rule{
		{Metric: usage.CPU, Window: usage.Avg5m, Levels: thresholds.Levels{Low: 45, Reject: 60, Evict: 65, Leave: 60}},
		{Metric: usage.IOPressure, Window: usage.Avg5m, Levels: thresholds.Levels{Low: inf, Reject: inf, Evict: 45, Leave: inf}, Relieves: cluster.CPU},
	}}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	y.observed.Lines = set.Resolve(view)
	if n := y.input(t).Nodes[0]; n.NeedForSignals != 2430 || n.Need[cluster.CPU] != 3500 || n.ByCPU {
		t.Errorf("%dm have to leave for the signal, want a tenth of 24300m; %dm in all, want 3500m", n.NeedForSignals, n.Need[cluster.CPU])
	}
}

// While usage rises, the last sample is above the mean that makes a node hot. Pods that are leaving
// count in neither.
func TestTheLastSampleIsGathered(t *testing.T) {
	y := newYard(t)
	y.observed.View.Nodes[0].Current = []cluster.Amounts{{28_000}, {24_300}}
	y.pods["node-00000"][2].DeletionTimestamp = &metav1.Time{}
	n := y.input(t).Nodes[0]
	if n.LatestMilliCores != 28_000-8200 || n.Current[cluster.CPU] != 24_300-8200 {
		t.Errorf("the last sample is %dm and the mean %dm, want %dm and %dm", n.LatestMilliCores, n.Current[cluster.CPU], 28_000-8200, 24_300-8200)
	}
}
