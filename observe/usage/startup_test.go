package usage

import (
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// starting returns a store with the shipped startup of three minutes.
func starting(t *testing.T) *Store {
	t.Helper()
	return newStore(t, func(c *Config) { c.Startup, c.MinWindow = 3*time.Minute, 150*time.Second })
}

// A starting pod may use more than its siblings, or more than its requests suggest. In every
// window, it then counts for only as much as they do when deciding whether its node is hot. When
// pods are placed, its full usage counts.
func TestStartingPodsCountAsTheirSiblings(t *testing.T) {
	cases := map[string]struct {
		owner      string
		uses, want int64
	}{
		"more than siblings": {"web", 8000, 2000},
		"less than siblings": {"web", 500, 500},
		"more than requests": {"new", 8000, 850}, // 85 % of a core
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			store := starting(t)
			old, young := aPod("old"), aPod("young", startedAt(0), owner(tc.owner))
			snapshot := snapshotOf(nodeWith("n1", old, young))
			feed(store, snapshotOf(nodeWith("n1", old)), -600, -15, amounts(2500, 300), map[string]cluster.Amounts{"old": amounts(2000, 200)})
			feed(store, snapshot, 15, 165, amounts(2500+tc.uses, 300), map[string]cluster.Amounts{"old": amounts(2000, 200), "young": amounts(tc.uses, 0)})
			got := node1(store, snapshot, 165)
			for w, current := range got.Current {
				if most := 2500 + tc.want; current[cluster.CPU] > most {
					t.Errorf("%s is %dm, want at most %dm", store.windows[w], current[cluster.CPU], most)
				}
				if least := got.Measured[w][cluster.CPU]; got.Predicted[w][cluster.CPU] < least {
					t.Errorf("%s is predicted at %dm, measured at %dm", store.windows[w], got.Predicted[w][cluster.CPU], least)
				}
			}
			if pod := got.Pods[1]; pod.Uncounted[cluster.CPU] != tc.uses-tc.want {
				t.Errorf("%dm of %dm do not count, want %dm", pod.Uncounted[cluster.CPU], tc.uses, tc.uses-tc.want)
			}
			if pod := got.Pods[1]; pod.Measured || !pod.Starting || pod.Used[cluster.CPU] < max(tc.uses, tc.want) {
				t.Errorf("the pod is %+v", pod)
			}
		})
	}
}

// A node full of starting pods that are really busy does not appear empty.
func TestBusyStartingPodsFillTheirNode(t *testing.T) {
	store := starting(t)
	pods, used := []*cluster.Pod{}, map[string]cluster.Amounts{}
	for _, name := range []string{"a", "b", "c", "d"} {
		pods, used[name] = append(pods, aPod(name, startedAt(0), owner("new"))), amounts(7000, 100)
	}
	snapshot := snapshotOf(nodeWith("n1", pods...))
	feed(store, snapshot, 15, 165, amounts(28_500, 500), used)
	got := node1(store, snapshot, 165)
	for _, w := range []int{AtLast, AtAvg5m} {
		if got.Predicted[w][cluster.CPU] < 28_000 || got.Current[w][cluster.CPU] > 500+4*850 {
			t.Errorf("%s is predicted at %v, current %v", store.windows[w], got.Predicted[w], got.Current[w])
		}
	}
}

// A pod counts as measured once the samples taken after its startup cover MinWindow, or once a
// five-minute mean lies entirely after its startup. The startup is then not part of its usage.
func TestPodsAreMeasuredAfterTheirStartup(t *testing.T) {
	restarted := func(p *cluster.Pod) { p.RunningAfter = 3600 }
	cases := map[string]struct {
		pod   *cluster.Pod
		means bool
		first int // second in which it is first measured
	}{
		"new, by samples":                {aPod("p", startedAt(0)), false, 180 + 15 + 150},
		"new, by means":                  {aPod("p", startedAt(0)), true, 180 + 300},
		"with a container restarted":     {aPod("p", restarted), false, 180 + 15 + 150},
		"with one restarted, by means":   {aPod("p", restarted), true, 180 + 300},
		"created then, by a slow clock":  {aPod("p", func(p *cluster.Pod) { p.Created = at(0) }), false, 180 + 15 + 150},
		"started next week, by its node": {aPod("p", func(p *cluster.Pod) { p.RunningAfter = 7 * 24 * 3600 }), false, 165},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			store, snapshot := starting(t), snapshotOf(nodeWith("n1", tc.pod))
			for second := 15; second <= 600; second += 15 {
				use := amounts(1000, 100)
				if second <= 180 {
					use = amounts(9000, 100)
				}
				read := readAt(second).node("n1", use)
				if tc.means {
					read.podMean("p", use)
				} else {
					read.pod("p", use)
				}
				store.Ingest(snapshot, read.Batch)
				got := node1(store, snapshot, second).Pods[0]
				if got.Measured != (second >= tc.first) {
					t.Fatalf("second %d: measured %v, want it from %d on", second, got.Measured, tc.first)
				}
				if due := second + int(got.MeasuredIn/time.Second); !got.Measured && second > 30 && (due < tc.first || due > tc.first+15) {
					t.Errorf("second %d: it is due in %v, want it measured from %d on", second, got.MeasuredIn, tc.first)
				}
				if got.Measured && (got.MeasuredIn != 0 || got.Uncounted != cluster.Amounts{}) {
					t.Errorf("second %d: it is measured, and still due: %+v", second, got)
				}
				if tc.first > 180 && got.Measured && got.Used != use {
					t.Errorf("second %d: it uses %v", second, got.Used)
				}
			}
		})
	}
}

// A pod's usage before its first sample is not attributed to the system.
func TestUnseenStartingPodIsNotTheSystem(t *testing.T) {
	store := starting(t)
	old, young := aPod("old"), aPod("young", startedAt(0), owner("new"))
	snapshot := snapshotOf(nodeWith("n1", old, young))
	for second := 15; second <= 150; second += 15 {
		read := readAt(second).node("n1", amounts(10_500, 300)).pod("old", amounts(2000, 200))
		if second > 90 {
			read.pod("young", amounts(8000, 0))
		}
		store.Ingest(snapshot, read.Batch)
	}
	if got := node1(store, snapshot, 150); got.System[cluster.CPU] != 500 || got.Current[AtAvg5m][cluster.CPU] > 500+2000+850 {
		t.Errorf("system %v, current %v", got.System, got.Current)
	}
}

// The system's share is not forgotten on a node where some pod is always
// starting.
func TestSystemBesidePodsThatComeAndGo(t *testing.T) {
	store := starting(t)
	old := aPod("old")
	var snapshot *cluster.Snapshot
	for second := 15; second <= 1200; second += 15 {
		snapshot = snapshotOf(nodeWith("n1", aPod("job", startedAt(second-20), uid("job")), old)) // the new pod is never sampled
		store.Ingest(snapshot, readAt(second).node("n1", amounts(3000+int64(second), 300)).pod("old", amounts(2000, 200)).Batch)
	}
	if got := node1(store, snapshot, 1200).System[cluster.CPU]; got < 700 {
		t.Errorf("after twenty minutes the system's share is %dm, as at their beginning", got)
	}
}

// Without a startup, pods count from their first samples.
func TestNoStartup(t *testing.T) {
	store, pod := newStore(t), aPod("p", startedAt(0))
	snapshot := snapshotOf(nodeWith("n1", pod))
	feed(store, snapshot, 15, 90, amounts(9500, 300), map[string]cluster.Amounts{"p": amounts(9000, 200)})
	if got := node1(store, snapshot, 90); !got.Pods[0].Measured || got.Pods[0].Starting || got.Current[AtAvg5m][cluster.CPU] != 9500 {
		t.Errorf("got %+v", got)
	}
}

// A pod without any sample is treated like one that was sampled, until a sample should have
// arrived.
func TestUnseenPodsAreDue(t *testing.T) {
	for age, want := range map[int]time.Duration{30: (180 + 15 + 150 - 30) * time.Second, 200: (345 - 200) * time.Second, 280: 0} {
		store, pod := starting(t), aPod("p", startedAt(0))
		snapshot := snapshotOf(nodeWith("n1", pod, aPod("waiting", startedAt(0), notStarted)))
		feed(store, snapshot, 0, age, amounts(9500, 300), nil)
		pods := node1(store, snapshot, age).Pods
		if pods[0].MeasuredIn != want || pods[1].MeasuredIn != 0 {
			t.Errorf("after %ds: due in %v and %v, want %v and 0", age, pods[0].MeasuredIn, pods[1].MeasuredIn, want)
		}
	}
}
