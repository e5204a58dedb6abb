package usage

import (
	"math"
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
)

// A pod's usage during startup is no evidence: it counts neither as the pod's demand on a full node
// nor as its future usage.
func TestStartupIsNoPeak(t *testing.T) {
	store := starting(t)
	pod := aPod("jvm", startedAt(0))
	snapshot := snapshotOf(nodeWith("n1", pod))
	feed(store, snapshot, 15, 165, amounts(6500, 300), map[string]cluster.Amounts{"jvm": amounts(6000, 100)})
	feed(store, snapshot, 180, 1800, amounts(700, 300), map[string]cluster.Amounts{"jvm": amounts(200, 100)})
	got := node1(store, snapshot, 1800).Pods[0]
	t.Logf("half an hour after: used %d, peak %d, expected %+v", got.Used[cluster.CPU], got.PeakMilliCores, got.Expected)
	if got.PeakMilliCores > 400 {
		t.Errorf("peak of %d", got.PeakMilliCores)
	}
	if got.Expected[2].Mean > 400 {
		t.Errorf("expected in hours: %v", got.Expected[2].Mean)
	}
}

// After a restart without history, the first reading is a rate over 15 seconds and not a
// five-minute mean.
func TestOneReadingIsNoPeak(t *testing.T) {
	store := newStore(t)
	pod := aPod("web-0")
	snapshot := snapshotOf(nodeWith("n1", pod))
	feed(store, snapshot, 0, 0, amounts(4500, 300), map[string]cluster.Amounts{"web-0": amounts(4000, 100)})
	feed(store, snapshot, 15, 3600, amounts(700, 300), map[string]cluster.Amounts{"web-0": amounts(200, 100)})
	got := node1(store, snapshot, 3600).Pods[0]
	if got.PeakMilliCores > 400 {
		t.Errorf("an hour later it uses %d, and its highest mean of five minutes is %d", got.Used[cluster.CPU], got.PeakMilliCores)
	}
}

// A policy reload turns the forecast off for a minute (forecast: none, or lasting) and on again.
// The store must not forget what it has learned: the ConfigMap is read only at the beginning of a
// term, and would be overwritten after one period.
func TestForecastOffAndOn(t *testing.T) {
	store := newStore(t, hourly)
	if p := hours(t, store, 1, 8, "a").Nodes[0].Pods[0].Pattern; p.Pattern == nil {
		t.Fatal("nothing recurs")
	}
	stored := store.Patterns(math.MaxInt)
	off, on := store.config, store.config
	off.Recurs.Period = 0
	if err := store.Retune(off); err != nil {
		t.Fatal(err)
	}
	if err := store.Retune(on); err != nil {
		t.Fatal(err)
	}
	if got := store.Patterns(math.MaxInt); len(got) != len(stored) {
		t.Errorf("%d bytes are known instead of %d", len(got), len(stored))
	}
	hours(t, store, 8, 10, "a")
	again, _, err := forecast.Restore(store.Patterns(math.MaxInt), on.Recurs, at(10*3600))
	before, _, _ := forecast.Restore(stored, on.Recurs, at(8*3600))
	if err != nil || len(again) == 0 {
		t.Fatal(err, len(again))
	}
	if again[0].Pattern.Periods < before[0].Pattern.Periods {
		t.Errorf("%d periods in the ConfigMap are overwritten by %d", before[0].Pattern.Periods, again[0].Pattern.Periods)
	}
}

// Ten pods were rolled out on a node ten minutes ago. Each used two cores during startup and a
// tenth of that since. If the startup counted, the node would be expected to be hot for hours, a
// burst that ends on its own would seem to justify moves, and the node would seem a bad
// destination.
func TestARolloutIsNotExpectedToLast(t *testing.T) {
	store := starting(t)
	var pods []*cluster.Pod
	boot, then := map[string]cluster.Amounts{}, map[string]cluster.Amounts{}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		pods = append(pods, aPod(name, startedAt(0)))
		boot[name], then[name] = amounts(2000, 100), amounts(200, 100)
	}
	snapshot := snapshotOf(nodeWith("n1", pods...))
	snapshot.Nodes[0].Node.Allocatable[cluster.CPU] = 20_000
	feed(store, snapshot, 15, 165, amounts(20_000, 2000), boot)
	feed(store, snapshot, 180, 600, amounts(2000, 2000), then)
	got := node1(store, snapshot, 600)
	var load forecast.Load
	for i := range got.Pods {
		load.Add(got.Pods[i].Expected)
	}
	const line, whole = 13_000, 20_000
	if minutes := load.HotMinutes(line, whole); minutes > 1 {
		t.Errorf("ten minutes after the rollout the pods use %d of 20000, and %d are expected in the rest of the four hours: hot for %.0f minutes",
			got.Measured[AtAvg5m][cluster.CPU], load.Lasting(), minutes)
	}
	if load.Lasting() > 3000 {
		t.Errorf("%d are expected to last where 2000 are used since the startup", load.Lasting())
	}
}
