package thresholds

import (
	"fmt"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// rig passes one node's samples through the store, the lines and Classify, as an observer with the
// default policy does.
type rig struct {
	t        *testing.T
	store    *usage.Store
	set      *Set
	snapshot *cluster.Snapshot
	states   map[string]NodeState
}

const (
	rigSize   = 32_000 // milli-cores
	rigSystem = 500
)

func newRig(t *testing.T) *rig {
	t.Helper()
	store, err := usage.NewStore(usage.Config{
		SampleInterval: interval, MaxAge: 90 * time.Second, MinWindow: 150 * time.Second, Windows: []usage.Window{usage.Avg5m, median5m},
	}, at(-3600))
	if err != nil {
		t.Fatal(err)
	}
	set, err := New([]Pool{{Name: "default", Rules: append(
		rulesOf(usage.CPU, usage.Avg5m, median5m), rulesOf(usage.Memory, usage.Avg5m, median5m)...)}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	size := cluster.Amounts{rigSize, 256 << 30}
	pod := &cluster.Pod{UID: "uid-p", Namespace: "ns", Name: "p", Node: "n", Started: at(-3600), Created: at(-3600)}
	return &rig{t: t, store: store, set: set, snapshot: &cluster.Snapshot{Nodes: []*cluster.NodePods{{
		Node: cluster.Node{Name: "n", Allocatable: size, Capacity: size, Ready: true, Schedulable: true}, Pods: []*cluster.Pod{pod},
	}}}}
}

// sample ingests one reading that was measured lag seconds ago. One pod uses everything except the
// system's share.
func (r *rig) sample(second, lag int, cpuMilli int64) State {
	measured := at(second - lag)
	r.store.Ingest(r.snapshot, usage.Batch{
		Source: "test", Received: at(second),
		Nodes: []usage.NodeSample{{Name: "n", Readings: usage.LastReadings(measured, cluster.Amounts{cpuMilli, 8 << 30})}},
		Pods: []usage.PodSample{{Namespace: "ns", Name: "p", Last: usage.Sample{
			At: measured, Used: cluster.Amounts{cpuMilli - rigSystem, 7 << 30},
		}}},
	})
	view := r.store.View(r.snapshot, at(second), nil)
	r.states = r.set.Resolve(view).Classify(r.states, HotRule{ConsecutiveSamples: 3, SampleInterval: interval})
	return r.states["n"].State
}

// load is the usage of a node that is quadrupled for some seconds, starting at second 0.
type load struct {
	basePercent int
	seconds     int // how long the usage is quadrupled
	capped      bool
	lag         int // age of readings, in seconds
	mean        int // seconds over which a reading is averaged, as rates of counters are
}

func (l load) String() string {
	return fmt.Sprintf("%d %% quadrupled for %d s, capped %v, lag %d s, means of %d s", l.basePercent, l.seconds, l.capped, l.lag, l.mean)
}

// read returns the value of the reading taken at a second.
func (l load) read(second int) int64 {
	sum := int64(0)
	for s := second - l.lag - l.mean + 1; s <= second-l.lag; s++ {
		sum += l.at(s)
	}
	return sum / int64(l.mean)
}

func (l load) at(second int) int64 {
	used := int64(l.basePercent) * rigSize / 100
	if second < 0 || second >= l.seconds {
		return used
	}
	if used *= 4; l.capped {
		used = min(used, rigSize)
	}
	return used
}

// firstHot samples every 15 s in the given range of seconds and returns the
// first second at which the node is hot.
func (l load) firstHot(t *testing.T, from, to int) (int, bool) {
	t.Helper()
	r := newRig(t)
	for second := from; second <= to; second += 15 {
		if r.sample(second, l.lag, l.read(second)) == Hot {
			return second, true
		}
	}
	return 0, false
}

// eachLoad calls do for every load from 20 % to 60 %, each mean, and each number of seconds for
// which the load is quadrupled.
func eachLoad(means []int, seconds []int, do func(load)) {
	for base := 20; base <= 60; base += 10 {
		for _, capped := range []bool{true, false} {
			for _, lag := range []int{0, 10, 15} {
				for _, mean := range means {
					for _, s := range seconds {
						do(load{basePercent: base, seconds: s, capped: capped, lag: lag, mean: mean})
					}
				}
			}
		}
	}
}

const forever = 1 << 30

// In a loop that has watched a node before, pods whose usage is quadrupled for
// 40 to 55 s never make it hot, wherever in the sample interval the spike begins:
// it affects at most 5 of the median's 21 samples.
func TestSpikeInALoop(t *testing.T) {
	eachLoad([]int{1, 15}, []int{40, 55}, func(l load) {
		for phase := range 15 {
			if second, hot := l.firstHot(t, phase-330, 420); hot {
				t.Fatalf("%v, sampled %d s after it begins: hot after %d s", l, phase, second)
			}
		}
	})
}

// Such a spike does not make the node hot in a Job either, whenever the Job starts during the
// spike. Once the window is long enough, after 150 s, most samples come from the time after the
// spike.
func TestSpikeInAJob(t *testing.T) {
	eachLoad([]int{1, 15}, []int{40, 55}, func(l load) {
		for start := 0; start < 55; start += 6 {
			if second, hot := l.firstHot(t, start, start+240); hot {
				t.Fatalf("%v: hot %d s after the start at %d", l, second-start, start)
			}
		}
	})
}

// If the same load lasts, it makes the node hot: in a loop within four minutes, as soon as the
// five-minute mean has been over the line three times.
//
//	of 20 %: 80 % has to make up 16 of 21 samples, (16·80 + 5·20)/21 = 65.7, and two more samples: 17·15 s after the first
//	of 30 %: 100 % has to make up 11 of 21, (11·100 + 10·30)/21 = 66.7, and two more: 12·15 s after the first
func TestLoadKeptUpInALoop(t *testing.T) {
	slowest := 0
	eachLoad([]int{1, 15}, []int{forever}, func(l load) {
		most := 240
		if l.basePercent == 20 {
			most = 17*15 + 15 + l.lag + l.mean
		}
		for phase := range 15 {
			second, hot := l.firstHot(t, phase-330, 420)
			if !hot || second > most {
				t.Fatalf("%v, sampled %d s after it begins: hot %v after %d s, want at most %d s", l, phase, hot, second, most)
			}
			if l.basePercent > 20 {
				slowest = max(slowest, second)
			}
		}
	})
	t.Logf("hot after at most %d s", slowest)
}

// A Job that starts 35 s after the load began finds the node hot as soon as its
// window is long enough.
func TestLoadKeptUpInAJob(t *testing.T) {
	eachLoad([]int{1, 10}, []int{forever}, func(l load) {
		if second, hot := l.firstHot(t, 35, 35+240); !hot || second-35 > 165 {
			t.Fatalf("%v: hot %v %d s after the start", l, hot, second-35)
		}
	})
}
