package usage

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
)

// Pods that were never measured, such as those of Jobs that come and go, leave
// nothing behind.
func TestOwnersThatCameAndWentLeaveNoWorkload(t *testing.T) {
	store := newStore(t, func(c *Config) { c.Recurs = forecast.Clock{Period: 24 * time.Hour} })
	for i := range 1000 {
		pod := aPod(fmt.Sprintf("job-%d", i), notStarted)
		pod.Owner = cluster.Owner{UID: pod.Name, Kind: "Job", Name: pod.Name}
		store.Ingest(snapshotOf(nodeWith("n1", pod)), readAt(60*i).node("n1", amounts(100, 0)).Batch)
	}
	if n := len(store.owners.known); n > 1 {
		t.Errorf("%d workloads are known", n)
	}
}

// A pod that is given another owner before each sample takes the space of only one workload.
func TestPodThatChangesItsOwnerTakesOneWorkload(t *testing.T) {
	store := newStore(t, func(c *Config) { c.Recurs = forecast.Clock{Period: 24 * time.Hour} })
	for i := range 1000 {
		pod := aPod("one")
		pod.Owner = cluster.Owner{UID: fmt.Sprint(i), Kind: "StatefulSet", Name: fmt.Sprint(i)}
		store.Ingest(snapshotOf(nodeWith("n1", pod)), readAt(15*i).node("n1", amounts(100, 0)).pod(pod.Name, amounts(100, 0)).Batch)
	}
	if n := len(store.owners.known); n > 10 {
		t.Errorf("%d workloads are known", n)
	}
}

// Workloads without pods are not kept any longer because other processes take over.
func TestForgottenDespiteTakeovers(t *testing.T) {
	store := newStore(t, hourly)
	hours(t, store, 1, 3, "a")
	empty := snapshotOf(nodeWith("n1"))
	for hour := 3; hour < 23; hour += 2 {
		store.Ingest(empty, readAt(hour*3600).node("n1", amounts(1, 0)).Batch)
		next := newStore(t, hourly)
		if err := next.AdoptPatterns(store.Patterns(math.MaxInt), at(hour*3600+1)); err != nil {
			t.Fatal(err)
		}
		store = next
	}
	if n := len(store.owners.known); n != 0 {
		t.Errorf("%d workloads are known twenty hours after their last pod, with a takeover each two", n)
	}
}

// If the new process's clock is seconds behind the previous one's, nothing is
// lost.
func TestPatternsOfAClockThatIsAhead(t *testing.T) {
	before := newStore(t, hourly)
	hours(t, before, 1, 4, "a")
	before.Ingest(snapshotOf(nodeWith("n1")), readAt(4*3600).node("n1", amounts(1, 0)).Batch)
	after := newStore(t, hourly)
	if err := after.AdoptPatterns(before.Patterns(math.MaxInt), at(4*3600-1)); err != nil {
		t.Fatal(err)
	}
	if len(after.owners.known) != 1 {
		t.Error("nothing was adopted because the clock is one second behind")
	}
}

// Recurring patterns are handed over before those that merely vary.
func TestPatternsThatRecurComeFirst(t *testing.T) {
	store := newStore(t, hourly)
	hours(t, store, 1, 4, "a")
	var honest Workload
	for key := range store.owners.known {
		honest = key
	}
	for i := range 5 { // noise, which is never believed
		var r forecast.Recurrence
		for part := int64(1); part < 4*forecast.Parts; part++ {
			r.Add(part, (part*part*7919+int64(i)*31)%16001)
		}
		if r.Pattern().Recurs() {
			t.Fatal("noise recurs")
		}
		store.owners.known[honest+1+Workload(i)] = &workload{Recurrence: r}
	}
	next := newStore(t, hourly)
	if err := next.AdoptPatterns(store.Patterns(patternsHeader+5*patternBytes), at(4*3600)); err != nil {
		t.Fatal(err)
	}
	if _, ok := next.owners.known[honest]; !ok {
		t.Error("the one workload that recurs was left out")
	}
}

// A pod is not expected to use more than its limit, however much other pods of its owner have used.
func TestPatternIsCappedByLimits(t *testing.T) {
	store := newStore(t, hourly)
	hours(t, store, 1, 4, "a")
	var nodes []*cluster.NodePods
	big := aPod("web-a", startedAt(3000))
	big.Owner, big.TemplateHash = cluster.Owner{UID: "set-a", Kind: "ReplicaSet", Name: "web-a"}, "a"
	nodes = append(nodes, nodeWith("n1", big))
	for i := range 10 {
		idle := aPod(fmt.Sprintf("idle-%d", i), startedAt(3000))
		idle.Owner, idle.TemplateHash = big.Owner, "a"
		idle.Limits, idle.Node = amounts(10, 100), fmt.Sprintf("n%d", i+2)
		nodes = append(nodes, nodeWith(idle.Node, idle))
	}
	snapshot := snapshotOf(nodes...)
	second := 4*3600 + 600
	for ; second < 5*3600; second += 15 {
		r := readAt(second).node("n1", amounts(100, 0)).pod("web-a", amounts(100, 0))
		for i := range 10 {
			r.node(fmt.Sprintf("n%d", i+2), amounts(1, 0)).pod(fmt.Sprintf("idle-%d", i), amounts(1, 0))
		}
		store.Ingest(snapshot, r.Batch)
	}
	view := store.View(snapshot, at(second-15), nil)
	p := view.Nodes[1].Pods[0]
	var course forecast.Course
	course.Add(p.Expected, p.Pattern)
	if _, peak := course.Peak(); peak > 10 {
		t.Errorf("a pod with a limit of 10m, which uses 1m, is expected to use %dm; it recurs: %v", peak, p.Pattern.Recurs())
	}
}

// With the shipped sample interval, the shortest allowed period of five minutes
// is detected.
func TestShortestPeriodWithTheShippedInterval(t *testing.T) {
	store := newStore(t, func(c *Config) { c.Recurs.Period = 5 * time.Minute })
	hours(t, store, 1, 6, "a")
	for _, known := range store.owners.known {
		if known.Pattern().Periods == 0 {
			t.Error("after five hours it was seen for no period")
		}
	}
}
