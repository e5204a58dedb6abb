package usage

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
)

// hourly makes the store look for hourly patterns, with parts of 75 seconds.
func hourly(c *Config) { c.Recurs = forecast.Clock{Period: time.Hour} }

// hours samples a Deployment's pod every 15 seconds. The pod uses much in the first ten minutes of
// each hour. version names the ReplicaSet and the pod.
func hours(t *testing.T, store *Store, from, to int, version string) *View {
	t.Helper()
	pod := aPod("web-"+version, startedAt(from*3600-600))
	pod.Owner, pod.TemplateHash = cluster.Owner{UID: "set-" + version, Kind: "ReplicaSet", Name: "web-" + version}, version
	snapshot := snapshotOf(nodeWith("n1", pod))
	for second := from * 3600; second < to*3600; second += 15 {
		used := amounts(100, 0)
		if second%3600 < 600 {
			used = amounts(900, 0)
		}
		store.Ingest(snapshot, readAt(second).node("n1", used).pod(pod.Name, used).Batch)
	}
	return store.View(snapshot, at(to*3600-15), nil)
}

// A workload's pattern is known once it has occurred twice, and outlives its
// pods and versions.
func TestPatternOfAWorkload(t *testing.T) {
	store := newStore(t, hourly)
	if p := hours(t, store, 1, 2, "a").Nodes[0].Pods[0].Pattern; p.Pattern != nil {
		t.Errorf("after one hour %+v is said to recur", p)
	}
	if p := hours(t, store, 2, 4, "a").Nodes[0].Pods[0].Pattern; p.Pattern == nil {
		t.Fatal("after three hours nothing recurs")
	}
	view := hours(t, store, 4, 5, "b")
	p := view.Nodes[0].Pods[0].Pattern
	if p.Pattern == nil {
		t.Fatal("with a new version nothing recurs")
	}
	if p.Means[0] < 800 || p.Means[30] > 200 {
		t.Errorf("the pattern is %v", p.Means)
	}
	if err := store.Retune(func() Config { c := testConfig(); return c }()); err != nil {
		t.Fatal(err)
	}
	if p := hours(t, store, 5, 6, "b").Nodes[0].Pods[0].Pattern; p.Pattern != nil {
		t.Error("a pattern is left after none is looked for")
	}
}

// A workload without pods is forgotten after three periods.
func TestWorkloadsAreForgotten(t *testing.T) {
	store := newStore(t, hourly)
	hours(t, store, 1, 3, "a")
	empty := snapshotOf(nodeWith("n1"))
	pass := func(from, to int) {
		for second := from * 3600; second < to*3600; second += 900 {
			store.Ingest(empty, readAt(second).node("n1", amounts(1, 0)).Batch)
		}
	}
	pass(3, 5)
	if len(store.owners.known) != 1 {
		t.Fatalf("%d workloads are known two hours after their last pod, want 1", len(store.owners.known))
	}
	pass(5, 7)
	if len(store.owners.known) != 0 {
		t.Errorf("%d workloads are known four hours after their last pod, want none", len(store.owners.known))
	}
}

// A pod that names an arbitrary owner does not pass for another workload.
func TestWorkloadsAreApart(t *testing.T) {
	seen := map[Workload]string{}
	for _, kin := range []Kin{
		{Namespace: "a", Owner: cluster.Owner{Kind: "ReplicaSet", Name: "web-5d"}, TemplateHash: "5d"},
		{Namespace: "b", Owner: cluster.Owner{Kind: "ReplicaSet", Name: "web-5d"}, TemplateHash: "5d"},
		{Namespace: "a", Owner: cluster.Owner{Kind: "StatefulSet", Name: "web"}},
		{Namespace: "a", Owner: cluster.Owner{Kind: "ReplicaSet", Name: "web-5d"}},
		{Namespace: "a", Owner: cluster.Owner{Kind: "Deployment/web", Name: ""}},
	} {
		key := workloadOf(&kin)
		if other, taken := seen[key]; taken {
			t.Errorf("%+v is mistaken for %s", kin, other)
		}
		seen[key] = fmt.Sprint(kin)
	}
	next := Kin{Namespace: "a", Owner: cluster.Owner{Kind: "ReplicaSet", Name: "web-77"}, TemplateHash: "77"}
	if _, known := seen[workloadOf(&next)]; !known {
		t.Error("the next version of a Deployment is another workload")
	}
}

// The store of another policy continues with what the previous store has learned, unless its period
// differs.
func TestPatternsAreInherited(t *testing.T) {
	before := newStore(t, hourly)
	want := hours(t, before, 1, 4, "a").Nodes[0].Pods[0].Pattern
	next := newStore(t, hourly)
	next.InheritPatterns(before)
	got := hours(t, next, 4, 5, "a").Nodes[0].Pods[0].Pattern
	if got.Pattern == nil || got.Periods <= want.Periods {
		t.Errorf("before %+v, then %+v", want, got)
	}
	again := hours(t, before, 4, 5, "a").Nodes[0].Pods[0].Pattern
	if again.Pattern == nil || again.Periods != got.Periods {
		t.Fatalf("the previous store has another pattern: %+v, not %+v", again, got)
	}
	for part, mean := range again.Means { // the first minutes after a start are no evidence
		if diff := math.Abs(float64(mean - got.Means[part])); diff > 0.05*float64(again.Mean()) {
			t.Errorf("part %d: %v in the store that was inherited from, %v in the other", part, mean, got.Means[part])
		}
	}
	other := newStore(t)
	other.InheritPatterns(before)
	if n := len(other.owners.known); n != 0 {
		t.Errorf("%d workloads of another period were inherited", n)
	}
}
