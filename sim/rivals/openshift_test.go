package rivals_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/sim/rivals"
)

var now = time.Date(2026, 1, 5, 12, 0, 30, 0, time.UTC)

// node returns a node with 1000 milli-cores and 1000 bytes.
func node(name string, cpu, memory int64, pods ...rivals.Pod) rivals.Node {
	demand := cluster.Amounts{cpu, memory}
	used := cluster.Amounts{min(cpu, 1000), min(memory, 1000)}
	return rivals.Node{Name: name, Capacity: cluster.Amounts{1000, 1000}, Demand: demand, Used: used, Pods: pods}
}

// The expected distances were calculated by hand from the recording rules.
func TestDistances(t *testing.T) {
	for name, tc := range map[string]struct {
		nodes []rivals.Node
		want  []int
	}{
		// The mean is 51%. 11.5 points above it, times three, are 34.5.
		"one resource": {[]rivals.Node{node("a", 405, 0), node("b", 500, 0), node("c", 625, 0)}, []int{0, 0, 34}},
		// 6 points of CPU and 8 of memory above the means are a distance of 10.
		"two resources": {[]rivals.Node{node("a", 440, 420), node("b", 560, 580)}, []int{0, 30}},
		// Three times 35 points above the mean is above 1.
		"clipped": {[]rivals.Node{node("a", 100, 0), node("b", 800, 0)}, []int{0, 100}},
		// The demand on b is 1250 of 1000, so it uses everything, and a fifth waits. The means are
		// 95% and 10%: three times sqrt(0.05² + 0.1²) = 0.1118.
		"pressure": {[]rivals.Node{node("a", 900, 0), node("b", 1250, 0)}, []int{0, 33}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, rivals.Distances(tc.nodes)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLevelsAndTaints(t *testing.T) {
	for name, tc := range map[string]struct {
		distances []int
		levels    []rivals.Level
		taints    []int
	}{
		// The mean is 20: nodes up to it are low, and those above 30 high.
		"all three": {[]int{0, 20, 30, 30}, []rivals.Level{rivals.Low, rivals.Low, rivals.Middle, rivals.Middle}, []int{0, 0, 1, 1}},
		"high":      {[]int{0, 0, 10, 70}, []rivals.Level{rivals.Low, rivals.Low, rivals.Low, rivals.High}, []int{0, 0, 0, 2}},
		"all alike": {[]int{7, 7, 7}, []rivals.Level{rivals.Low, rivals.Low, rivals.Low}, []int{0, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			levels := rivals.Levels(tc.distances)
			if diff := cmp.Diff(tc.levels, levels); diff != "" {
				t.Errorf("levels (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.taints, rivals.Taints(levels)); diff != "" {
				t.Errorf("taints (-want +got):\n%s", diff)
			}
		})
	}
	if diff := cmp.Diff([]int{0, 2}, rivals.Taints([]rivals.Level{rivals.Middle, rivals.High})); diff != "" {
		t.Errorf("taints where no node is low (-want +got):\n%s", diff)
	}
}

func podsOf(first, n int) (pods []rivals.Pod) {
	for i := range n {
		pods = append(pods, rivals.Pod{ID: first + i, Owner: first + i})
	}
	return pods
}

// At most two pods leave a node, and five all nodes together, the hottest node first. Refused and
// fixed pods are skipped.
func TestOpenShiftKeepsItsLimits(t *testing.T) {
	hot := node("hot", 900, 0, podsOf(0, 4)...)
	hot.Pods[0].Fixed = true
	nodes := []rivals.Node{
		node("warm", 700, 0, podsOf(20, 4)...), node("warmer", 800, 0, podsOf(10, 4)...), hot, node("a", 0, 0), node("b", 0, 0), node("c", 0, 0),
	}
	var evicted []int
	rivals.NewOpenShift().Balance(now, nodes, func(pod *rivals.Pod) bool {
		if pod.ID == 1 {
			return false
		}
		evicted = append(evicted, pod.ID)
		return true
	})
	// The mean is 40%, and the distances are 90, 100 and 100, so warmer comes before hot, as in the
	// arguments.
	if diff := cmp.Diff([]int{10, 11, 2, 3, 20}, evicted); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A moved pod must stay for a time that doubles with every move.
func TestOpenShiftCoolsDown(t *testing.T) {
	for moves, want := range []time.Duration{
		1: 15 * time.Minute, 2: 30 * time.Minute, 3: time.Hour, 4: 2 * time.Hour, 5: 4 * time.Hour, 6: 6 * time.Hour, 99: 6 * time.Hour,
	} {
		if got := rivals.Cooldown(moves); want > 0 && got != want {
			t.Errorf("after %d moves %v, want %v", moves, got, want)
		}
	}
	o := rivals.NewOpenShift()
	nodes := []rivals.Node{node("hot", 900, 0, podsOf(1, 1)...), node("cool", 100, 0)}
	var at []time.Duration
	for passed := time.Duration(0); passed < 2*time.Hour; passed += 5 * time.Minute {
		o.Balance(now.Add(passed), nodes, func(*rivals.Pod) bool { at = append(at, passed); return true })
	}
	if want := []time.Duration{0, 15 * time.Minute, 45 * time.Minute, 105 * time.Minute}; !slices.Equal(at, want) {
		t.Errorf("evicted at %v, want %v", at, want)
	}
}
