package usage

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
)

// A pod for which one source reported a mean stays known when the next source has only samples,
// unless there was a gap.
func TestPodsOutliveTheirSource(t *testing.T) {
	mean, last := amounts(3000, 300), amounts(1000, 100)
	cases := map[string]struct {
		means, lasts []int // seconds of the readings of each source
		started      int
		at           int
		want         PodUsage
	}{
		"the next goes on at once": {
			means: []int{0}, lasts: []int{15}, started: -3600, at: 15,
			want: PodUsage{Measured: true, Span: 5 * time.Minute, Used: amounts(2000, 200)},
		},
		"the next source starts while the mean is fresh": {
			means: []int{0}, lasts: []int{90}, started: -3600, at: 91,
			want: PodUsage{Measured: true, Span: 5 * time.Minute, Used: amounts(2000, 200)},
		},
		"no samples for too long": {
			means: []int{0, 15}, lasts: []int{106}, started: -3600, at: 106,
			want: PodUsage{Measured: true, Span: 106 * time.Second, Used: amounts(2333, 233)},
		},
		"no samples for longer than a window": {
			means: []int{0}, lasts: []int{400}, started: -3600, at: 400,
			want: PodUsage{Used: amounts(1000, 716)}, // an estimate of 70 % of its memory request
		},
		"the first source's values are older than a window": {
			means: []int{0}, lasts: []int{90, 180, 270, 301}, started: -3600, at: 301,
			want: PodUsage{Measured: true, Span: 211 * time.Second, Used: last},
		},
		"a young pod is as old as it is": {
			means: []int{0}, lasts: []int{15, 30}, started: -40, at: 34,
			want: PodUsage{Span: 74 * time.Second, Used: amounts(1666, 716)},
		},
		"and is known once it is old enough": {
			means: []int{0}, lasts: []int{15, 30}, started: -40, at: 35,
			want: PodUsage{Measured: true, Span: 75 * time.Second, Used: amounts(1666, 166)},
		},
		"the first is back": {
			means: []int{0, 30}, lasts: []int{15}, started: -3600, at: 30,
			want: PodUsage{Measured: true, Span: 5 * time.Minute, Used: mean},
		},
		"the next is all there is": {
			lasts: []int{0, 15}, started: -3600, at: 15,
			want: PodUsage{Span: 15 * time.Second, Used: amounts(1000, 716)},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			store, snapshot := newStore(t), snapshotOf(nodeWith("n1", aPod("a", startedAt(tc.started))))
			means, lasts := tc.means, tc.lasts
			for len(means)+len(lasts) > 0 {
				if len(lasts) == 0 || len(means) > 0 && means[0] < lasts[0] {
					store.Ingest(snapshot, readBy("first", means[0]).means("n1", mean).podMean("a", mean).Batch)
					means = means[1:]
					continue
				}
				store.Ingest(snapshot, readBy("second", lasts[0]).node("n1", last).pod("a", last).Batch)
				lasts = lasts[1:]
			}
			got := node1(store, snapshot, tc.at).Pods[0]
			if diff := cmp.Diff(tc.want, got, cmp.Comparer(sameMiB), usedAlone()); diff != "" {
				t.Errorf("pod (-want +got):\n%s", diff)
			}
		})
	}
}

// Whichever source reports a pod, with means or with samples, a known pod stays known as long as
// reports arrive in time.
func TestKnownPodsRemainKnown(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	known := 0
	for range 300 {
		started := -rng.IntN(200)
		store, snapshot := newStore(t), snapshotOf(nodeWith("n1", aPod("a", startedAt(started))))
		measured := false
		for second := 0; second < 900; second += 15 + rng.IntN(76) {
			b := readBy([]string{"first", "second"}[rng.IntN(2)], second).node("n1", amounts(5000, 500))
			if rng.IntN(3) == 0 {
				b.podMean("a", amounts(1000, 100))
			} else {
				b.pod("a", amounts(1000, 100))
			}
			store.Ingest(snapshot, b.Batch)
			got := node1(store, snapshot, second).Pods[0]
			if measured && !got.Measured || got.Span > time.Duration(second-started)*time.Second {
				t.Fatalf("a pod of %d s is known: %v, after it was: %v; over %v", second-started, got.Measured, measured, got.Span)
			}
			if measured = got.Measured; measured {
				known++
			}
		}
	}
	if known < 1000 {
		t.Errorf("known in %d views only: the test proves nothing", known)
	}
}

// sameMiB compares amounts in whole MiB, because their memory is a mean.
func sameMiB(a, b cluster.Amounts) bool {
	return a[cluster.CPU] == b[cluster.CPU] && a[cluster.Memory]/mib == b[cluster.Memory]/mib
}

// A cool node is not charged with its pods' requests just because its source changed. Otherwise
// moves in flight to it would be given up.
func TestLandingOutlivesItsSource(t *testing.T) {
	used := cluster.Amounts{}
	var pods []*cluster.Pod
	first, second := readBy("first", 0), readBy("second", 15)
	for _, name := range []string{"a", "b", "c"} {
		pods = append(pods, aPod(name, startedAt(-100), requesting(amounts(8000, 8000))))
		first.podMean(name, amounts(300, 300))
		second.pod(name, amounts(300, 300))
		used = used.Plus(amounts(300, 300))
	}
	store, snapshot := newStore(t, wanting(t, "p50_5m", "avg_15m")), snapshotOf(nodeWith("n1", pods...))
	for past := -300; past < 0; past += 15 { // as a source with history does, which reports nodes but no pods
		store.Ingest(snapshot, readBy("first", past).node("n1", used).Batch)
	}
	store.Ingest(snapshot, first.means("n1", used).Batch)
	store.Ingest(snapshot, second.node("n1", used).Batch)
	got := node1(store, snapshot, 15)
	for w := range got.Predicted {
		if got.Predicted[w] != used {
			t.Errorf("%s is predicted at %v, want what is used: %v", store.windows[w], got.Predicted[w], used)
		}
	}
	if !got.Known() || got.Source != "second" {
		t.Errorf("the node is of %q, %q; want it known by the second source", got.Source, got.Unknown)
	}
}
