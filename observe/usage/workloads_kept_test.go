package usage

import (
	"math"
	"testing"
	"time"
)

// silent lets hours pass in which the node is sampled but none of its pods.
func silent(store *Store, from, to int, version string) {
	pod := aPod("web-"+version, startedAt(from*3600-4*3600))
	pod.Owner.UID, pod.Owner.Kind, pod.Owner.Name, pod.TemplateHash = "set-"+version, "ReplicaSet", "web-"+version, version
	snapshot := snapshotOf(nodeWith("n1", pod))
	for second := from * 3600; second < to*3600; second += 15 {
		store.Ingest(snapshot, readAt(second).node("n1", amounts(100, 0)).Batch)
	}
}

// Patterns are kept for the next process and the next version, even if pods were not measured for a
// while or the store looked for another period before.
func TestPatternsAreKeptWhilePodsStay(t *testing.T) {
	for name, before := range map[string]func(t *testing.T, store *Store){
		"measured all the time": func(*testing.T, *Store) {},
		"after four hours without samples": func(t *testing.T, store *Store) {
			hours(t, store, 1, 4, "a")
			silent(store, 4, 8, "a")
		},
		"after another period": func(t *testing.T, store *Store) {
			hours(t, store, 1, 8, "a")
			other := store.config
			other.Recurs.Period = 2 * time.Hour
			if err := store.Retune(other); err != nil {
				t.Fatal(err)
			}
			silent(store, 8, 8, "a")
			other.Recurs.Period = time.Hour
			if err := store.Retune(other); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := newStore(t, hourly)
			before(t, store)
			if p := hours(t, store, 8, 12, "a").Nodes[0].Pods[0].Pattern; p.Pattern == nil {
				t.Fatal("nothing recurs")
			}
			if data := store.Patterns(math.MaxInt); len(data) == 0 {
				t.Error("nothing is kept for the next process")
			}
			next := newStore(t, hourly)
			next.InheritPatterns(store)
			if len(next.owners.known) == 0 {
				t.Error("the store of another policy inherits nothing")
			}
			if p := hours(t, store, 12, 13, "b").Nodes[0].Pods[0].Pattern; p.Pattern == nil {
				t.Error("with a new version nothing recurs")
			}
		})
	}
}
