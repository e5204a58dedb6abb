package usage

import (
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// A running pod without a fresh sample has not left. Its node counts as hot as it is measured,
// whatever the estimate for the pod.
func TestUnsampledPodsStayCounted(t *testing.T) {
	hidden := func(change ...func(*cluster.Pod)) []*cluster.Pod {
		var pods []*cluster.Pod
		for _, name := range []string{"u1", "u2", "u3", "u4", "u5"} {
			pods = append(pods, aPod(name, append([]func(*cluster.Pod){owner("hidden"), requesting(amounts(2500, 100))}, change...)...))
		}
		return pods
	}
	cases := map[string]struct {
		pods    []*cluster.Pod
		startup bool
		current int64 // of 30,080m measured, 15,000m belong to a sampled pod
	}{
		"they request what they use":      {hidden(), false, 30_080},
		"shipped startup":                 {hidden(), true, 30_080},
		"they request nothing":            {hidden(requesting(cluster.Amounts{})), false, 30_080},
		"they request more than there is": {hidden(requesting(amounts(20_000, 100))), false, 30_080},
		"their siblings use less":         {hidden(owner("web")), false, 30_080},
		"one is terminating":              {append(hidden()[:4], aPod("u5", owner("hidden"), requesting(amounts(2500, 100)), terminating)), false, 30_080 - 2125},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			store := newStore(t)
			if tc.startup {
				store = starting(t)
			}
			snapshot := snapshotOf(nodeWith("n1", append(tc.pods, aPod("big"))...))
			feed(store, snapshot, -600, 300, amounts(30_080, 600), map[string]cluster.Amounts{"big": amounts(15_000, 100)})
			got := node1(store, snapshot, 300)
			if got.Current[AtAvg5m][cluster.CPU] != tc.current {
				t.Errorf("counts as %dm, want %dm", got.Current[AtAvg5m][cluster.CPU], tc.current)
			}
			sum := got.System
			for _, pod := range got.Pods {
				sum = sum.Plus(pod.Used)
			}
			if got.Predicted[AtAvg5m] != sum {
				t.Errorf("predicted at %v, and its system and pods use %v", got.Predicted[AtAvg5m], sum)
			}
		})
	}
}

// When a pod leaves, its usage is subtracted, even if other pods on the node
// have no sample.
func TestPodsThatLeaveUnsampledOnesBehind(t *testing.T) {
	for name, means := range map[string]bool{"samples": false, "means of five minutes": true} {
		t.Run(name, func(t *testing.T) {
			store := newStore(t)
			a, b, hidden := aPod("a"), aPod("b"), aPod("hidden", owner("hidden"), requesting(amounts(5000, 100)))
			all, left := snapshotOf(nodeWith("n1", a, b, hidden)), snapshotOf(nodeWith("n1", a, hidden))
			tell := func(snapshot *cluster.Snapshot, second int, node cluster.Amounts, pods ...string) {
				read := readAt(second)
				if means {
					read.means("n1", node)
				} else {
					read.node("n1", node)
				}
				for _, pod := range pods {
					if means {
						read.podMean(pod, amounts(10_000, 100))
					} else {
						read.pod(pod, amounts(10_000, 100))
					}
				}
				store.Ingest(snapshot, read.Batch)
			}
			second := 0
			for ; second <= 600; second += 15 { // 4,250m belong to the hidden pod, 1,000m to the system
				tell(all, second, amounts(25_250, 300), "a", "b")
			}
			for gone := 0; gone < 300; gone += 15 {
				node := amounts(15_250, 200)
				if means {
					node = amounts(25_250-10_000*int64(gone)/300, 200)
				}
				if gone > 0 {
					tell(left, second+gone, node, "a")
				}
				if got := node1(store, left, second+gone).Current[AtAvg5m][cluster.CPU]; got != 15_250 {
					t.Errorf("%d s after: counts as %dm, want 15250m", gone, got)
				}
			}
		})
	}
}

// If samples of pods arrive rarely, the pods do not seem to leave and return.
func TestPodsOfSparseSourcesStayCounted(t *testing.T) {
	store := newStore(t)
	snapshot := snapshotOf(nodeWith("n1", aPod("a"), aPod("sparse", owner("other"))))
	for second := 0; second <= 1200; second += 5 {
		if second%15 == 0 {
			read := readAt(second).node("n1", amounts(20_000, 200)).pod("a", amounts(9000, 90))
			if second%150 == 0 {
				read.pod("sparse", amounts(10_000, 100))
			}
			store.Ingest(snapshot, read.Batch)
		}
		if second < 300 {
			continue
		}
		for w, used := range node1(store, snapshot, second).Current {
			if used != amounts(20_000, 200) {
				t.Fatalf("second %d: %s counts as %v, want all that is measured", second, store.windows[w], used)
			}
		}
	}
}

// A node whose high usage comes from a pod without a sample is predicted high because of the usage
// assumed for that pod. Without the pod, it is not. While the pod starts, this is no evidence that
// the node is hot.
func TestNodesArePredictedWithUnsampledPods(t *testing.T) {
	bg := aPod("bg", owner("bg"))
	unsampled := aPod("unsampled", startedAt(305), owner("new"), requesting(amounts(100, 100)))
	alone, both := snapshotOf(nodeWith("n1", bg)), snapshotOf(nodeWith("n1", bg, unsampled))
	background := map[string]cluster.Amounts{"bg": amounts(1000, 200)}
	store := starting(t)
	feed(store, alone, 0, 300, amounts(1200, 400), background)
	feed(store, both, 315, 480, amounts(8200, 400), background)
	with, without := node1(store, both, 480), node1(store, alone, 480)
	measured := with.Measured[AtAvg5m][cluster.CPU]
	if got := with.Predicted[AtAvg5m][cluster.CPU]; measured < 4000 || got != measured {
		t.Errorf("predicted at %dm, measured at %dm", got, measured)
	}
	if got, want := with.Current[AtAvg5m], without.Current[AtAvg5m]; got != want {
		t.Errorf("counts as %v, want %v, as without the pod", got, want)
	}
	if got := with.Predicted[AtAvg5m].Minus(with.Pods[1].Used); got != without.Predicted[AtAvg5m] {
		t.Errorf("predicted at %v without what the pod uses, want %v", got, without.Predicted[AtAvg5m])
	}
	if got := with.Pods[1].Uncounted[cluster.CPU]; got != measured-1200 {
		t.Errorf("%dm of the pod do not count, want %dm", got, measured-1200)
	}
}

// When a pod leaves, its node's usage falls by exactly the amount that the pod counted for.
func TestCountedUsageLeavesWithThePod(t *testing.T) {
	for name, tc := range map[string]struct {
		pod  *cluster.Pod
		uses int64 // as sampled; 0 if it is not sampled
		want int64
	}{
		"measured":                             {aPod("p", owner("new")), 3000, 3000},
		"starting, above its estimate":         {aPod("p", owner("new"), startedAt(0), requesting(amounts(1000, 0))), 3000, 850},
		"starting, below its estimate":         {aPod("p", owner("new"), startedAt(0), requesting(amounts(5000, 0))), 3000, 3000},
		"never sampled, above its estimate":    {aPod("p", owner("new"), requesting(amounts(1000, 0))), 0, 850},
		"never sampled, below its estimate":    {aPod("p", owner("new"), requesting(amounts(5000, 0))), 0, 3500}, // all that the other pod does not use
		"starting, and never sampled":          {aPod("p", owner("new"), startedAt(0), requesting(amounts(1000, 0))), 0, 0},
		"starting, never sampled, small usage": {aPod("p", owner("new"), startedAt(0), requesting(amounts(5000, 0))), 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			store := newStore(t, func(c *Config) { c.Startup = 20 * time.Minute })
			pods := map[string]cluster.Amounts{"other": amounts(2000, 0)}
			if tc.uses > 0 {
				pods["p"] = amounts(tc.uses, 0)
			}
			snapshot, leaves := snapshotOf(nodeWith("n1", aPod("other"), tc.pod)), *tc.pod
			leaves.Terminating = true
			system := int64(500)
			feed(store, snapshotOf(nodeWith("n1", aPod("other"))), -600, -15, amounts(2000+system, 0), map[string]cluster.Amounts{"other": amounts(2000, 0)})
			feed(store, snapshot, 15, 600, amounts(5000+system, 0), pods)
			now := node1(store, snapshot, 600)
			left := node1(store, snapshotOf(nodeWith("n1", aPod("other"), &leaves)), 600)
			counted := now.Pods[1].Counted()[cluster.CPU]
			if less := now.Current[AtAvg5m].Minus(left.Current[AtAvg5m])[cluster.CPU]; counted != less || counted != tc.want {
				t.Errorf("%dm of the pod count, and %dm leave with it, want %dm: %+v", counted, less, tc.want, now.Pods[1])
			}
		})
	}
}
