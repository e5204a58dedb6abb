package usage

import (
	"fmt"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
)

// A node's course is based on what was measured on that node, whichever of its pods share a
// pattern.
func TestCourseOfANodeThatWasNeverHot(t *testing.T) {
	const line, whole = 650, 1000
	for name, tc := range map[string]struct {
		// pods returns, by node, the usage of a workload's pods in a second of an hour.
		pods func(second int) map[string][]int64
		// besides is the usage of a pod without an owner on n2.
		besides int64
	}{
		"two pods that are alike": {func(second int) map[string][]int64 {
			if second < 600 {
				return map[string][]int64{"n1": {300}, "n2": {300}}
			}
			return map[string][]int64{"n1": {50}, "n2": {50}}
		}, 300},
		"a leader and a follower": {func(second int) map[string][]int64 {
			if second < 600 {
				return map[string][]int64{"n1": {600}, "n2": {150}}
			}
			return map[string][]int64{"n1": {50}, "n2": {50}}
		}, 300},
		"as much, by one pod at night and five by day": {func(second int) map[string][]int64 {
			if second < 1200 {
				return map[string][]int64{"n2": {500}}
			}
			return map[string][]int64{"n2": {100, 100, 100, 100, 100}}
		}, 50},
	} {
		t.Run(name, func(t *testing.T) {
			store, most := newStore(t, hourly), int64(0)
			var view *View
			for second := 3600; second < 8*3600-15; second += 15 {
				nodes, batch := []*cluster.NodePods{}, readAt(second)
				for _, n := range []string{"n1", "n2"} {
					info := nodeWith(n)
					info.Node.Allocatable[cluster.CPU] = whole
					total := int64(0)
					for i, used := range tc.pods(second % 3600)[n] {
						pod := aPod(fmt.Sprintf("web-%s-%d", n, i), startedAt(0))
						pod.Node = n
						info.Pods = append(info.Pods, pod)
						batch, total = batch.pod(pod.Name, amounts(used, 0)), total+used
					}
					if n == "n2" {
						pod := aPod("other", startedAt(0))
						pod.Node, pod.Owner = n, cluster.Owner{}
						info.Pods = append(info.Pods, pod)
						batch, total = batch.pod(pod.Name, amounts(tc.besides, 0)), total+tc.besides
						most = max(most, total)
					}
					nodes, batch = append(nodes, info), batch.node(n, amounts(total, 0))
				}
				snapshot := snapshotOf(nodes...)
				store.Ingest(snapshot, batch.Batch)
				view = store.View(snapshot, at(second), nil)
			}
			var course forecast.Course
			for _, pod := range view.Nodes[1].Pods {
				course.Add(pod.Expected, pod.Pattern)
			}
			course.Shift(view.Nodes[1].System[cluster.CPU])
			_, peak := course.Peak()
			if minutes := course.HotMinutes(line, whole, store.config.Recurs); minutes > 3 {
				t.Errorf("n2 is expected to be hot for %.0f minutes and to use %d; it never used more than %d, its line is at %d", minutes, peak, most, line)
			}
		})
	}
}

// A workload that arrived while too many others were known is observed once there is space.
func TestAWorkloadIsWatchedOnceThereIsSpace(t *testing.T) {
	store := newStore(t, hourly)
	part := store.config.Recurs.Part(at(3600).Unix())
	store.owners.part = part
	for i := range mostWorkloads {
		store.owners.known[Workload(i)] = &workload{without: partsWithout - 2} // soon to be forgotten
	}
	hours(t, store, 1, 5, "a")
	if n := len(store.owners.known); n > 1 {
		t.Fatalf("%d are still known", n)
	}
	if p := hours(t, store, 5, 12, "a").Nodes[0].Pods[0].Pattern; p.Pattern == nil {
		t.Error("seven hours later nothing recurs")
	}
}

// A clock that was wrong for one sample loses at most the samples of that time.
func TestPatternsOutliveAWrongClock(t *testing.T) {
	for name, ahead := range map[string]int{"by two hours": 2, "by four hours": 4} {
		t.Run(name, func(t *testing.T) {
			store := newStore(t, hourly)
			before := hours(t, store, 1, 6, "a").Nodes[0].Pods[0].Pattern
			hours(t, store, 6+ahead, 6+ahead, "a")
			wrong := (6+ahead)*3600 + 1800
			pod := aPod("web-a", startedAt(0))
			pod.Owner, pod.TemplateHash = cluster.Owner{UID: "set-a", Kind: "ReplicaSet", Name: "web-a"}, "a"
			store.Ingest(snapshotOf(nodeWith("n1", pod)), readAt(wrong).node("n1", amounts(100, 0)).pod(pod.Name, amounts(100, 0)).Batch)
			view := hours(t, store, 6, 7, "a")
			after := view.Nodes[0].Pods[0].Pattern
			if before.Pattern == nil || after.Pattern == nil {
				t.Fatalf("before %v, after %v", before, after)
			}
			if after.Periods <= before.Periods {
				t.Errorf("an hour later it was seen for %d periods, before for %d", after.Periods, before.Periods)
			}
		})
	}
}

// If a node is hot because a workload uses more than it ever did at that hour, as a new version
// may, the node is expected to stay hot, just as without a pattern.
func TestAStepOfAWorkloadThatRecursIsExpectedToStay(t *testing.T) {
	const line, whole = 450, 1000
	for name, period := range map[string]time.Duration{"without patterns": 0, "with patterns": 24 * time.Hour} {
		store := newStore(t, func(c *Config) {
			c.Recurs.Period, c.SampleInterval, c.MinWindow, c.MaxAge = period, time.Minute, 3*time.Minute, 5*time.Minute
		})
		pod := aPod("web-a", startedAt(0))
		info := nodeWith("n1", pod)
		info.Node.Allocatable[cluster.CPU] = whole
		snapshot, step := snapshotOf(info), 4*1440+14*60
		for minute := 0; minute <= step+240; minute++ {
			used := int64(100)
			switch of := minute % 1440; {
			case of >= 600 && of < 720: // its daily burst
				used = 900
			case minute >= step: // much more than ever before at that hour
				used = 500
			}
			store.Ingest(snapshot, readAt(60*minute).node("n1", amounts(used, 0)).pod(pod.Name, amounts(used, 0)).Batch)
			view := store.View(snapshot, at(60*minute), nil)
			if since := minute - step; since == 15 || since == 60 || since == 120 || since == 240 {
				var load forecast.Load
				load.Add(view.Nodes[0].Pods[0].Expected)
				load.Correlate(view.Nodes[0].Expected)
				load = load.Toward(load.Stays(whole))
				if minutes := load.HotMinutes(line, whole); minutes < 60 {
					t.Errorf("%s: a node that has used %d for %d minutes, above its line of %d, is expected to be hot for %.0f minutes of the next 240",
						name, used, since, line, minutes)
				}
			}
		}
	}
}

// Once a new version has been observed for as long as a pattern requires, its expected usage is
// derived from its own usage.
func TestAVersionThatUsesHalf(t *testing.T) {
	store := newStore(t, hourly)
	hours(t, store, 1, 8, "a") // 900 in the first ten minutes of an hour
	pod := aPod("web-b", startedAt(8*3600-600))
	pod.Owner, pod.TemplateHash = cluster.Owner{UID: "set-b", Kind: "ReplicaSet", Name: "web-b"}, "b"
	snapshot := snapshotOf(nodeWith("n1", pod))
	for second := 8 * 3600; second < 11*3600; second += 15 {
		used := int64(50)
		if second%3600 < 600 {
			used = 450
		}
		store.Ingest(snapshot, readAt(second).node("n1", amounts(used, 0)).pod(pod.Name, amounts(used, 0)).Batch)
		if p := store.View(snapshot, at(second), nil).Nodes[0].Pods[0].Pattern; (second+15)%3600 == 0 {
			if p.Pattern == nil {
				t.Logf("after %d hours nothing recurs", second/3600-7)
				continue
			}
			if got := p.At(0); second/3600-7 >= 2 && got > 500 {
				t.Errorf("seen to use 450 in the bursts of %d hours, %.0f is expected of it", second/3600-7, got)
			}
		}
	}
}
