package usage

import (
	"fmt"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
)

// days samples pods of one Deployment every minute for some days. The clock starts at midnight.
func days(t *testing.T, store *Store, from, to time.Duration, version string, pods int, uses func(pod int, since time.Duration) int64, each func(*View, time.Duration)) {
	t.Helper()
	midnight := 12 * 3600 // in seconds after epoch, which is noon
	var nodes []*cluster.NodePods
	for i := range pods {
		pod := aPod(fmt.Sprintf("web-%s-%d", version, i), startedAt(midnight+int(from/time.Second)-600))
		pod.Owner, pod.TemplateHash, pod.Node = cluster.Owner{UID: "set-" + version, Kind: "ReplicaSet", Name: "web-" + version}, version, fmt.Sprintf("n%d", i)
		nodes = append(nodes, nodeWith(pod.Node, pod))
	}
	snapshot := snapshotOf(nodes...)
	for since := from; since < to; since += time.Minute {
		second := midnight + int(since/time.Second)
		r := readAt(second)
		for i := range pods {
			used := amounts(uses(i, since), 0)
			r.node(fmt.Sprintf("n%d", i), used).pod(fmt.Sprintf("web-%s-%d", version, i), used)
		}
		store.Ingest(snapshot, r.Batch)
		view := store.View(snapshot, at(second), nil)
		if each != nil {
			each(view, since)
		}
	}
}

const day = 24 * time.Hour

func bursts(_ int, since time.Duration) int64 {
	if of := since % day; of >= 10*time.Hour && of < 12*time.Hour {
		return 4000
	}
	return 200
}

func daily(c *Config) { c.Recurs = forecast.Clock{Period: day} }

// A smaller step, to less than half of the workload's burst usage, is recognized as soon as a large
// one.
func TestSmallStepOfAWorkloadThatRecurs(t *testing.T) {
	for name, change := range map[string]func(*Config){"recurring": daily, "lasting": func(*Config) {}} {
		t.Run(name, func(t *testing.T) {
			store := newStore(t, change)
			days(t, store, 0, 3*day+13*time.Hour, "a", 1, bursts, nil)
			hot, seen := time.Duration(0), false
			days(t, store, 3*day+13*time.Hour, 6*day, "b", 1, func(int, time.Duration) int64 { return 1500 }, func(view *View, since time.Duration) {
				node := &view.Nodes[0]
				if seen || since < 3*day+13*time.Hour+15*time.Minute {
					return
				}
				var load forecast.Load
				load.Add(node.Pods[0].Expected)
				load.Shift(node.Current[AtAvg5m][cluster.CPU] - node.Pods[0].Used[cluster.CPU])
				load.Correlate(node.Expected)
				load = load.Toward(load.Stays(2000))
				seen = load.HotMinutes(1300, 2000) >= 60
				hot += time.Minute
			})
			if hot > time.Hour {
				t.Errorf("it is hot for %v until it is expected to be for an hour of the next four", hot)
			}
		})
	}
}

// One high burst a day does not hide that the node is hot for the rest of the day either.
func TestStepBesideATallBurst(t *testing.T) {
	for name, change := range map[string]func(*Config){"recurring": daily, "lasting": func(*Config) {}} {
		t.Run(name, func(t *testing.T) {
			store := newStore(t, change)
			tall := func(_ int, since time.Duration) int64 {
				switch of := since % day; {
				case of >= 10*time.Hour && of < 10*time.Hour+30*time.Minute:
					return 30000
				case since > 4*day+11*time.Hour:
					return 4000
				}
				return 100
			}
			hot, seen := time.Duration(0), time.Duration(0)
			days(t, store, 0, 6*day, "a", 1, tall, func(view *View, since time.Duration) {
				if since < 4*day+11*time.Hour+15*time.Minute {
					return
				}
				node := &view.Nodes[0]
				var load forecast.Load
				load.Add(node.Pods[0].Expected)
				load.Shift(node.Current[AtAvg5m][cluster.CPU] - node.Pods[0].Used[cluster.CPU])
				load.Correlate(node.Expected)
				load = load.Toward(load.Stays(6000))
				hot += time.Minute
				if minutes := load.HotMinutes(3600, 6000); minutes >= 60 && seen == 0 {
					seen = hot
				}
			})
			if seen == 0 || seen > time.Hour {
				t.Errorf("of %v that it is hot, it took %v until it was expected to be for ten minutes of the next four hours", hot, seen)
			}
		})
	}
}

// A Deployment with one busy pod is scaled up by idle pods, which are not
// expected to be as busy as the first.
func TestIdlePodsOfAWorkloadThatRecurs(t *testing.T) {
	store := newStore(t, daily)
	days(t, store, 0, 3*day+13*time.Hour, "a", 1, bursts, nil)
	believed := time.Duration(0)
	idle := func(pod int, since time.Duration) int64 {
		if pod == 0 {
			return bursts(0, since)
		}
		return 1
	}
	var minutes float64
	days(t, store, 3*day+13*time.Hour, 6*day, "b", 20, idle, func(view *View, since time.Duration) {
		if p := view.Nodes[19].Pods[0]; p.Pattern.Recurs() {
			believed += time.Minute
			var course forecast.Course
			course.Add(p.Expected, p.Pattern)
			minutes = max(minutes, course.HotMinutes(3600, 6000, store.config.Recurs))
		}
	})
	if believed > time.Hour && minutes > 5 {
		t.Errorf("for %v a node with nothing but a pod that uses 1m is expected to be hot for %.0f minutes of each day", believed, minutes)
	}
}

// Pods that run only during the day, such as those of a Deployment that is
// scaled to zero at night, recur as well.
func TestDaytimeWorkloadRecurs(t *testing.T) {
	store := newStore(t, daily)
	for d := range 6 {
		from := time.Duration(d)*day + 7*time.Hour
		days(t, store, from, from+12*time.Hour, fmt.Sprint(d), 1, bursts, nil)
	}
	for _, known := range store.owners.known {
		if !known.Pattern().Recurs() {
			t.Errorf("after six days: seen for %d periods, Off %.0f, Spread %.0f, Within %.0f",
				known.Pattern().Periods, known.Pattern().Off, known.Pattern().Spread, known.Pattern().Within)
		}
	}
}

// A wrong pattern left by another process is detected within a few days,
// however reliable it claims to be.
func TestWrongPatternIsFoundOut(t *testing.T) {
	for name, spread := range map[string]float32{"spread of a burst": 1.6e6, "spread beyond all": 3e38} {
		t.Run(name, func(t *testing.T) {
			var r forecast.Recurrence
			p := &forecast.Pattern{Periods: 255, Spread: spread}
			for i := range p.Means {
				p.Means[i] = 1e12
			}
			r.Adopt(p)
			part := int64(1000 * forecast.Parts)
			parts := 0
			for ; r.Pattern().Recurs() && parts < 365*forecast.Parts; parts++ {
				r.Add(part+int64(parts), 100)
				r.Finish(part+int64(parts)+1, 0)
			}
			if parts > 7*forecast.Parts {
				t.Errorf("believed for %d days, though off by %.0g each half hour", parts/forecast.Parts, 1e12)
			}
		})
	}
}

// A pattern that is off by as much as it varies is not used, however large both
// figures are.
func TestPatternThatOverflows(t *testing.T) {
	const most = 3.4e38
	p := &forecast.Pattern{Periods: 3, Off: most, Spread: most, Within: most}
	if p.Recurs() {
		t.Error("a pattern that has foreseen nothing of what varies is believed")
	}
}
