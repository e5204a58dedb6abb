package usage

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// Whatever arrives, a view's amounts are never negative. A node is known only with a fresh sample
// of its own and enough of a window, and then all its windows are filled. Signals are numbers or
// unknown, every running pod is charged with some usage, and no ring exceeds its limit.
func TestViewInvariantsUnderRandomReadings(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 150 {
		store, second := newStore(t, wanting(t, "avg_1m", "p95_1h", "max_avg_1h", "p50_1d"), signalling(IOPressure)), 0
		pods := []*cluster.Pod{aPod("a"), aPod("b", owner("other")), aPod("c", owner(""), requesting(cluster.Amounts{}))}
		for range 60 {
			second += rng.IntN(40) - 3
			if rng.IntN(40) == 0 {
				second += rng.IntN(7200) - 600
			}
			snapshot := randomSnapshot(rng, pods, second)
			store.Ingest(snapshot, randomBatch(rng, "first", second), randomBatch(rng, "second", second))
			now := at(second).Add(time.Duration(rng.IntN(120)) * time.Second)
			checkView(t, store.View(snapshot, now, nil))
			checkBounds(t, store, len(snapshot.Nodes[0].Pods))
		}
	}
}

func randomSnapshot(rng *rand.Rand, pods []*cluster.Pod, second int) *cluster.Snapshot {
	node := nodeWith("n1")
	if rng.IntN(10) == 0 {
		node.Node.Allocatable = cluster.Amounts{}
	}
	for _, pod := range pods {
		if rng.IntN(5) == 0 {
			pod.UID, pod.Started = pod.UID+"'", at(second)
		}
		if rng.IntN(4) > 0 {
			node.Pods = append(node.Pods, pod)
		}
	}
	return snapshotOf(node)
}

// hostileValues returns values that a broken source may report.
func hostileValues() []float64 {
	return []float64{
		math.NaN(), math.Inf(1), math.Inf(-1), -1, math.Copysign(0, -1), 1e300, math.MaxFloat32, 2 * math.MaxFloat32,
		math.MaxFloat64, math.SmallestNonzeroFloat64, 1 << 63, 1 << 62, 1 << 53,
	}
}

func randomBatch(rng *rand.Rand, source string, second int) Batch {
	value := func(most float64) float64 {
		if rng.IntN(8) == 0 {
			all := hostileValues()
			return all[rng.IntN(len(all))]
		}
		return rng.Float64() * most
	}
	used := func() cluster.Amounts {
		if rng.IntN(10) == 0 {
			return cluster.Amounts{rng.Int64() - rng.Int64(), rng.Int64() - rng.Int64()}
		}
		return amounts(rng.Int64N(20000), rng.Int64N(1000))
	}
	b := readBy(source, second).measuredAt(second + rng.IntN(20) - 10)
	b.MaxAge = []time.Duration{0, 0, time.Second, 10 * time.Minute, time.Hour, math.MaxInt64}[rng.IntN(6)]
	for _, w := range []Window{Last, Avg5m, {KindAvg, 0, time.Minute}, {KindQuantile, 95, time.Hour}, {KindMaxAvg, 0, time.Hour}} {
		if rng.IntN(3) > 0 {
			b.reading("n1", CPU, w, value(30_000)).reading("n1", Memory, w, value(200*gib)).reading("n1", IOPressure, w, value(100))
		}
	}
	for _, name := range []string{"a", "b", "c", "ghost"} {
		switch rng.IntN(4) {
		case 0:
			b.pod(name, used())
		case 1:
			b.podMean(name, used())
		case 2:
			b.pod(name, used())
			b.Pods[len(b.Pods)-1].Avg5m = Sample{at(second + rng.IntN(200) - 100), used()}
		}
	}
	return b.Batch
}

func checkView(t *testing.T, view *View) {
	t.Helper()
	node := &view.Nodes[0]
	if node.Known() && (node.Source == "" || node.Sampled.IsZero() || node.Age < 0 || node.Span < 75*time.Second) {
		t.Fatalf("known of %q with age %v and span %v", node.Source, node.Age, node.Span)
	}
	if n := len(view.Windows); len(node.Measured) != n || len(node.Current) != n || len(node.Predicted) != n || len(node.SourceSpan) != n {
		t.Fatalf("%d windows, and %d, %d, %d, %d", n, len(node.Measured), len(node.Current), len(node.Predicted), len(node.SourceSpan))
	}
	for w := range view.Windows {
		for _, used := range []cluster.Amounts{node.System, node.Measured[w], node.Current[w], node.Predicted[w]} {
			if slices.Min(used[:]) < 0 {
				t.Fatalf("%s: negative in system %v, measured %v, current %v, predicted %v",
					view.Windows[w], node.System, node.Measured[w], node.Current[w], node.Predicted[w])
			}
		}
		for r := range cluster.NumResources {
			if node.Current[w][r] > node.Measured[w][r] || node.Current[w][r] > node.Predicted[w][r] {
				t.Fatalf("%s: current %v, measured %v and predicted %v are out of order", view.Windows[w], node.Current[w], node.Measured[w], node.Predicted[w])
			}
		}
		if node.SourceSpan[w] < 0 || node.SourceSpan[w] > view.Windows[w].Over {
			t.Fatalf("%s has a source span of %v", view.Windows[w], node.SourceSpan[w])
		}
		for s := range view.Signals {
			if v := node.Signals[s][w]; math.IsInf(v, 0) || v < 0 {
				t.Fatalf("%s over %s is %v", view.Signals[s], view.Windows[w], v)
			}
		}
	}
	for _, pod := range node.Pods {
		if slices.Min(pod.Used[:]) < 0 || !pod.Measured && pod.Used == (cluster.Amounts{}) {
			t.Fatalf("a pod is charged with %+v", pod)
		}
	}
}

func checkBounds(t *testing.T, store *Store, pods int) {
	t.Helper()
	if len(store.nodes) != 1 || len(store.order) != pods {
		t.Fatalf("kept %d nodes and %d pods, want 1 and %d", len(store.nodes), len(store.order), pods)
	}
	for _, series := range store.nodes["n1"].metrics {
		if h := series.history; len(h.samples.samples) > store.limits.samples || len(h.means.samples) > store.limits.means {
			t.Fatalf("kept %d samples and %d means, at most %+v", len(h.samples.samples), len(h.means.samples), store.limits)
		}
	}
	for _, series := range store.order {
		if len(series.used.samples) > store.limits.pod {
			t.Fatalf("kept %d samples of %q, at most %+v", len(series.used.samples), series.pod.Key(), store.limits)
		}
	}
}

// A known node has every window filled, so its measured value is not zero if every sample was above
// zero.
func TestKnownNodesHaveEveryWindow(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	ages := []time.Duration{0, time.Second, 10 * time.Minute, 48 * time.Hour}
	known := 0
	for range 300 {
		store, second := newStore(t, wanting(t, "avg_1m", "p1_5m", "p95_1h", "max_avg_10m", "avg_2h", "max_avg_1d")), 0
		snapshot := snapshotOf(nodeWith("n1"))
		for range 30 {
			second += 1 + rng.IntN(60)
			b := readAt(second).measuredAt(second - rng.IntN(80))
			b.MaxAge = ages[rng.IntN(len(ages))]
			given := []Window{Last, Avg5m, {KindMaxAvg, 0, MaxReach}, {KindQuantile, 95, time.Hour}}[rng.IntN(4)]
			b.reading("n1", CPU, given, 1+float64(rng.IntN(9000))).reading("n1", Memory, given, float64(1+rng.IntN(gib)))
			store.Ingest(snapshot, b.Batch)
			got := node1(store, snapshot, second+rng.IntN(1000))
			if !got.Known() {
				continue
			}
			known++
			for w, used := range got.Measured {
				if slices.Min(used[:]) < 1 {
					t.Fatalf("known with %s of %v", store.windows[w], used)
				}
			}
		}
	}
	if known < 1000 {
		t.Errorf("known in %d views only: the test proves nothing", known)
	}
}

// The same readings result in the same view, whatever the order in which nodes and pods are
// reported.
func TestSameReadingsSameView(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	pods := []*cluster.Pod{aPod("a"), aPod("b"), aPod("c")}
	snapshot := snapshotOf(nodeWith("n1", pods...))
	one, other := newStore(t), newStore(t)
	for second := 0; second <= 300; second += 15 {
		b := readAt(second).node("n1", amounts(9000, 900))
		for _, pod := range pods {
			b.pod(pod.Name, amounts(rng.Int64N(3000), rng.Int64N(300)))
		}
		one.Ingest(snapshot, b.Batch)
		b.Batch.Pods = slices.Clone(b.Batch.Pods)
		slices.Reverse(b.Batch.Pods)
		other.Ingest(snapshot, b.Batch)
	}
	first, second := one.View(snapshot, at(300), nil), other.View(snapshot, at(300), nil)
	if got, want := second.Nodes[0].Predicted[AtAvg5m], first.Nodes[0].Predicted[AtAvg5m]; got != want || second.Siblings.owners[ownerKey{"ns", "web"}] != first.Siblings.owners[ownerKey{"ns", "web"}] {
		t.Errorf("predicted %v, want %v", got, want)
	}
}
