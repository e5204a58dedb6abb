package realusage

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// On a full node, the pods that get most relative to their requests are estimated to demand as much
// as they used recently. On other nodes, no pod is. The measured usage of pods, and what has to
// leave because of it, does not change.
func TestPodsOfAFullNodeWantMore(t *testing.T) {
	for name, tc := range map[string]struct {
		node, capacity int64
		unforeseen     bool
		want           []int64
		sum            int64
	}{
		"full":             {31_400, 32_000, false, []int64{0, 6300, 300}, 6600},
		"nearly but not":   {31_000, 0, false, []int64{0, 0, 0}, 0},
		"hot, but not now": {24_000, 0, false, []int64{0, 0, 0}, 0},
		"the machine has capacity that is not for pods": {31_400, 34_000, false, []int64{0, 0, 0}, 0},
		"full, and nothing is expected":                 {31_400, 32_000, true, []int64{0, 0, 0}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t, func(pod *v1.Pod) {
				pod.Spec.Containers[0].Resources = v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("4")}}
			})
			y.deps.Options.Unforeseen = tc.unforeseen
			read := &y.observed.View.Nodes[0]
			for k, peak := range []int64{20_000, 20_000, 14_000} {
				pod := &read.Pods[k]
				pod.PeakMilliCores, pod.Used[cluster.CPU] = peak, 13_700
			}
			read.Pods[0].Used[cluster.CPU] = 4000
			read.Measured[usage.AtAvg5m][cluster.CPU] = tc.node
			y.observed.View.Snapshot.Nodes[0].Node.Capacity[cluster.CPU] = tc.capacity
			in := y.input(t)
			node := &in.Nodes[0]
			for k, want := range tc.want {
				pod := &node.Pods[k]
				if pod.Unserved != want || pod.Usage[cluster.CPU] != read.Pods[k].Used[cluster.CPU] || pod.Wanted()[cluster.CPU] != pod.Usage[cluster.CPU]+want {
					t.Errorf("pod %d, measured at %d, is estimated to want %d more, want %d", k, pod.Usage[cluster.CPU], pod.Unserved, want)
				}
			}
			if line := int64(32_000 * 65 / 100); node.Unserved != tc.sum || node.Need[cluster.CPU] != tc.node-line {
				t.Errorf("%d are not served, want %d; %d have to leave", node.Unserved, tc.sum, node.Need[cluster.CPU])
			}
		})
	}
}

// A node stays full if it is full now and was full at each reading of the last hours. That is
// unknown for a node whose first reading is recent.
func TestNodesThatStayFull(t *testing.T) {
	for name, tc := range map[string]struct {
		now, least int64
		unforeseen bool
		want       bool
	}{
		"for hours":                      {now: 31_400, least: 31_100, want: true},
		"was less once":                  {now: 31_400, least: 30_900},
		"first read lately":              {now: 31_400},
		"full no more":                   {now: 30_900, least: 31_100},
		"for hours, nothing is expected": {now: 31_400, least: 31_100, unforeseen: true},
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			y.deps.Options.Unforeseen = tc.unforeseen
			read := &y.observed.View.Nodes[0]
			read.Measured[usage.AtAvg5m][cluster.CPU], read.LeastMilliCores = tc.now, tc.least
			in := y.input(t)
			if got := in.Nodes[0].FullForHours; got != tc.want {
				t.Errorf("full for hours: %v", got)
			}
		})
	}
}
