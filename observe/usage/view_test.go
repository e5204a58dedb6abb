package usage

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/reasons"
)

// A View has the same order as its Snapshot, even if the store is empty.
func TestViewIsParallelToItsSnapshot(t *testing.T) {
	store := newStore(t)
	snapshot := snapshotOf(nodeWith("n1", aPod("a"), aPod("b")), nodeWith("n2"), nodeWith("n3", aPod("c")))
	view := store.View(snapshot, at(0), nil)
	if view.Snapshot != snapshot || len(view.Nodes) != 3 {
		t.Fatalf("view of %d nodes, want the snapshot's 3", len(view.Nodes))
	}
	for i, node := range snapshot.Nodes {
		if len(view.Nodes[i].Pods) != len(node.Pods) {
			t.Errorf("node %s: %d pods read, want %d", node.Node.Name, len(view.Nodes[i].Pods), len(node.Pods))
		}
		if view.Nodes[i].Unknown != reasons.NoUsageSample {
			t.Errorf("node %s: %q, want %q", node.Node.Name, view.Nodes[i].Unknown, reasons.NoUsageSample)
		}
	}
}

// An earlier View does not change when the store does.
func TestViewIsImmutable(t *testing.T) {
	store, snapshot := newStore(t), snapshotOf(nodeWith("n1", aPod("a")))
	feed(store, snapshot, 0, 300, amounts(2000, 100), map[string]cluster.Amounts{"a": amounts(1000, 50)})
	first := store.View(snapshot, at(301), nil)
	before := first.Nodes[0]
	feed(store, snapshot, 315, 600, amounts(9000, 100), map[string]cluster.Amounts{"a": amounts(8000, 50)})
	if diff := cmp.Diff(before, first.Nodes[0]); diff != "" {
		t.Errorf("the view changed (-before +after):\n%s", diff)
	}
}

// The assumed usage of a pod comes from its own windows, otherwise from its expected usage, its
// siblings' mean, a share of its requests, or the default, in this order. It is never less than
// what was observed, and never zero for lack of data.
func TestPodEstimates(t *testing.T) {
	measured := map[string]cluster.Amounts{"a": amounts(100, 40), "b": amounts(300, 60)}
	cases := map[string]struct {
		pod      *cluster.Pod
		seen     cluster.Amounts // one sample of the pod, 20 s before the view
		expected map[string]cluster.Amounts
		want     cluster.Amounts
	}{
		"a replacement uses what its predecessor used": {
			pod:      aPod("new", startedAt(290)),
			expected: map[string]cluster.Amounts{"uid-new": amounts(2200, 512)},
			want:     amounts(2200, 512),
		},
		"one of several replicas uses what its siblings use": {
			// (100 + 300) / 2 and (40 + 60) / 2
			pod:  aPod("new", startedAt(290)),
			want: amounts(200, 50),
		},
		"a pod without siblings uses a share of its requests": {
			// 85 % of 1000m; 70 % of 1 GiB
			pod:  aPod("new", startedAt(290), owner("other")),
			want: cluster.Amounts{850, 751619276},
		},
		"pods without a controller have no siblings": {
			pod:  aPod("new", startedAt(290), owner("")),
			want: cluster.Amounts{850, 751619276},
		},
		"a pod that requests nothing uses the default": {
			pod:  aPod("new", startedAt(290), owner("other"), requesting(cluster.Amounts{})),
			want: amounts(250, 200),
		},
		"the default stays under the limit": {
			pod:  aPod("new", startedAt(290), owner("other"), requesting(cluster.Amounts{}), limited(amounts(100, 0))),
			want: amounts(100, 200),
		},
		"its observed usage already counts": {
			// the siblings' mean is 200m and 50 MiB
			pod:  aPod("new", startedAt(270)),
			seen: amounts(700, 20),
			want: amounts(700, 50),
		},
		"a pod that has not started is on its way": {
			pod:  aPod("new", notStarted),
			want: amounts(200, 50),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			store := newStore(t)
			snapshot := snapshotOf(nodeWith("n1", aPod("a"), aPod("b"), tc.pod))
			feed(store, snapshot, 0, 270, amounts(5000, 500), measured)
			last := readAt(285).node("n1", amounts(5000, 500)).pod("a", measured["a"]).pod("b", measured["b"])
			if tc.seen != (cluster.Amounts{}) {
				last.pod("new", tc.seen)
			}
			store.Ingest(snapshot, last.Batch)
			got := store.View(snapshot, at(305), tc.expected).Nodes[0].Pods[2]
			if got.Measured {
				t.Error("an estimate passes for measured")
			}
			if diff := cmp.Diff(tc.want, got.Used); diff != "" {
				t.Errorf("used (-want +got):\n%s", diff)
			}
		})
	}
}

func requesting(requests cluster.Amounts) func(*cluster.Pod) {
	return func(p *cluster.Pod) { p.Requests = requests }
}

func limited(limits cluster.Amounts) func(*cluster.Pod) {
	return func(p *cluster.Pod) { p.Limits = limits }
}

// A node's sums differ by purpose: pods that stay are evidence for hot, and pods that are on the
// node or will arrive count for placing.
func TestNodeSums(t *testing.T) {
	store := newStore(t)
	snapshot := snapshotOf(nodeWith("n1",
		aPod("going", terminating), aPod("new", startedAt(290), owner("other")), aPod("stays")))
	feed(store, snapshot, 0, 300, amounts(5000, 500), map[string]cluster.Amounts{
		"going": amounts(3000, 200), "stays": amounts(1500, 250),
	})
	got := store.View(snapshot, at(301), nil).Nodes[0]
	// System: 5000 - 3000 - 1500 and 500 - 200 - 250. "new" was charged once it had started, in one
	// of 21 samples.
	if want := amounts(500, 50); got.System != want {
		t.Errorf("system %v, want %v", got.System, want)
	}
	// Current consists of the system and the pod that stays. The new pod is left out, because there
	// is no evidence about it.
	if diff := cmp.Diff(both(amounts(2000, 300)), got.Current); diff != "" {
		t.Errorf("current (-want +got):\n%s", diff)
	}
	// Predicted consists of the system, both measured pods, and 85 % of 1000m and 70 % of 1 GiB for
	// the new pod.
	want := amounts(5000, 500).Plus(cluster.Amounts{850, 751619276})
	if diff := cmp.Diff(both(want), got.Predicted); diff != "" {
		t.Errorf("predicted (-want +got):\n%s", diff)
	}
}

// The usage of a pod that leaves is subtracted at once, although the node's own window still
// includes it. The usage of a pod that arrives counts at once, although the window does not include
// it yet.
func TestPredictionDoesNotLagBehindPods(t *testing.T) {
	store := newStore(t)
	hot := snapshotOf(nodeWith("n1", aPod("a"), aPod("b")))
	feed(store, hot, 0, 300, amounts(25000, 500), map[string]cluster.Amounts{"a": amounts(10000, 10), "b": amounts(14000, 10)})
	got := store.View(snapshotOf(nodeWith("n1", aPod("a"))), at(301), nil).Nodes[0]
	if got.Measured[AtAvg5m][cluster.CPU] != 25000 {
		t.Errorf("measured %v, want the 25000m of the window", got.Measured[AtAvg5m])
	}
	if got.Predicted[AtAvg5m][cluster.CPU] != 11000 { // 1000m for the system and 10000m for a
		t.Errorf("predicted %v, want 11000m", got.Predicted[AtAvg5m])
	}
}

// When a pod starts or ends, a node's samples contain usage that no listed pod explains. It must
// not be attributed to the system, because the system's usage stays on the node whatever is moved.
func TestSystemShareIgnoresComingsAndGoings(t *testing.T) {
	stays := aPod("stays")
	with := snapshotOf(nodeWith("n1", aPod("other"), stays))
	alone := snapshotOf(nodeWith("n1", stays))
	cases := map[string]func(*Store){
		"a pod ended and two samples still hold it": func(s *Store) {
			feed(s, with, 0, 150, amounts(9000, 90), map[string]cluster.Amounts{"stays": amounts(2000, 20), "other": amounts(6000, 60)})
			feed(s, alone, 165, 180, amounts(9000, 90), map[string]cluster.Amounts{"stays": amounts(2000, 20)})
			feed(s, alone, 195, 300, amounts(3000, 30), map[string]cluster.Amounts{"stays": amounts(2000, 20)})
		},
		"a pod started, and two samples do not contain it": func(s *Store) {
			feed(s, alone, 0, 150, amounts(3000, 30), map[string]cluster.Amounts{"stays": amounts(2000, 20)})
			feed(s, with, 165, 180, amounts(9000, 90), map[string]cluster.Amounts{"stays": amounts(2000, 20)})
			feed(s, with, 195, 300, amounts(9000, 90), map[string]cluster.Amounts{"stays": amounts(2000, 20), "other": amounts(6000, 60)})
		},
		"one sample of a pod is missing": func(s *Store) {
			feed(s, with, 0, 285, amounts(9000, 90), map[string]cluster.Amounts{"stays": amounts(2000, 20), "other": amounts(6000, 60)})
			feed(s, with, 300, 300, amounts(9000, 90), map[string]cluster.Amounts{"stays": amounts(2000, 20)})
		},
	}
	for name, play := range cases {
		t.Run(name, func(t *testing.T) {
			store := newStore(t)
			play(store)
			if got, want := store.View(with, at(301), nil).Nodes[0].System, amounts(1000, 10); got != want {
				t.Errorf("system %v, want %v", got, want)
			}
		})
	}
}

// A pod without recent samples on a node that has some is not assumed to use nothing. The node's
// usage beyond its other pods is attributed to it.
func TestPodThatIsNoLongerMeasured(t *testing.T) {
	store := newStore(t)
	snapshot := snapshotOf(nodeWith("n1", aPod("a"), aPod("silent")))
	feed(store, snapshot, 0, 300, amounts(5000, 50), map[string]cluster.Amounts{"a": amounts(1000, 10), "silent": amounts(3000, 30)})
	feed(store, snapshot, 315, 420, amounts(5000, 50), map[string]cluster.Amounts{"a": amounts(1000, 10)})
	got := store.View(snapshot, at(421), nil).Nodes[0]
	silent := got.Pods[1]
	if silent.Measured || silent.Used != amounts(3000, 30) { // its sibling uses 1000m
		t.Errorf("silent pod reads %+v, want what the node uses beyond the other", silent)
	}
	if want := amounts(1000, 10); got.System != want {
		t.Errorf("system %v, want %v: what the silent pod used last is not the system's", got.System, want)
	}
}

// A source without pods replaces one that reported them. The pods are then unmeasured but have not
// left, so only the node's own figures count.
func TestPodsAreNoLongerReported(t *testing.T) {
	pods := map[string]cluster.Amounts{"a": amounts(15_000, 50), "b": amounts(10_000, 50)}
	cases := map[string]struct {
		now      int
		pods     []*cluster.Pod
		measured map[string]cluster.Amounts // from the second source, after the first has stopped
		current  int64
	}{
		"the pods' samples are fresh, and one pod has left": {330, []*cluster.Pod{aPod("a")}, nil, 17_000},
		"the pods' samples are stale":                       {405, []*cluster.Pod{aPod("a"), aPod("b")}, nil, 27_000},
		"stale, and one has left":                           {405, []*cluster.Pod{aPod("a")}, nil, 27_000},
		"stale, and all have left":                          {405, nil, nil, 2000}, // the system's usage is no older than the window
		"stale beyond the window, and all have left":        {630, nil, nil, 27_000},
		"one of them is measured":                           {405, []*cluster.Pod{aPod("a"), aPod("b")}, map[string]cluster.Amounts{"a": amounts(15_000, 50)}, 27_000},
		"the only pod is new":                               {405, []*cluster.Pod{aPod("new", startedAt(400))}, nil, 2000},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			store, before := newStore(t), snapshotOf(nodeWith("n1", aPod("a"), aPod("b")))
			feed(store, before, 0, 300, amounts(27_000, 200), pods)
			for second := 315; second <= tc.now; second += 15 {
				b := readBy("second", second).node("n1", amounts(27_000, 200))
				for pod, used := range tc.measured {
					b.pod(pod, used)
				}
				store.Ingest(before, b.Batch)
			}
			got := node1(store, snapshotOf(nodeWith("n1", tc.pods...)), tc.now)
			if !got.Known() || got.Current[AtAvg5m][0] != tc.current {
				t.Errorf("%q, current %v; want it known at %dm", got.Unknown, got.Current[AtAvg5m], tc.current)
			}
		})
	}
}

// The usage of pods that have left or arrived shifts all windows equally, but never below zero.
func TestShiftOfEveryWindow(t *testing.T) {
	store := newStore(t, wanting(t, "max_avg_1h"))
	with := snapshotOf(nodeWith("n1", aPod("a"), aPod("b")))
	feed(store, with, 0, 285, amounts(20_000, 200), map[string]cluster.Amounts{"a": amounts(9000, 50), "b": amounts(9000, 50)})
	hour := window(t, "max_avg_1h")
	store.Ingest(with, readAt(300).node("n1", amounts(8000, 200)).pod("a", amounts(9000, 50)).pod("b", amounts(9000, 50)).
		reading("n1", CPU, Avg5m, 20_000).reading("n1", Memory, Avg5m, 200*mib).
		reading("n1", CPU, hour, 26_000).reading("n1", Memory, hour, 200*mib).Batch)
	// b has left: of 20,000m, the system uses 2,000m and a 9,000m.
	got := node1(store, snapshotOf(nodeWith("n1", aPod("a"))), 300)
	for w, want := range []int64{0, 11_000, 17_000} { // 8,000, 20,000 and 26,000, less 9,000
		if got.Current[w][0] != want || got.Predicted[w][0] != want {
			t.Errorf("%s: current %v, predicted %v, want %dm", store.windows[w], got.Current[w], got.Predicted[w], want)
		}
	}
	// A third pod has arrived, whose siblings use 9,000m. That usage is expected, but it is no
	// evidence.
	got = node1(store, snapshotOf(nodeWith("n1", aPod("a"), aPod("b"), aPod("c", startedAt(295)))), 300)
	for w, want := range []int64{8000, 20_000, 26_000} {
		if got.Current[w][0] != want || got.Predicted[w][0] != want+9000 {
			t.Errorf("%s: current %v, predicted %v, want %dm and 9000m more", store.windows[w], got.Current[w], got.Predicted[w], want)
		}
	}
}
