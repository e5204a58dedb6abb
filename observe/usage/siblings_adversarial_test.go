package usage

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
)

// Pods that only look like a version of the Deployment "web", whose ReplicaSet "web-old" is
// measured, do not count, unless they cannot be told apart from its pods.
func TestPodsThatAreNotVersions(t *testing.T) {
	kin := func(change func(*Kin)) Kin {
		k := kinOfVersion("new")
		change(&k)
		return k
	}
	cases := map[string]struct {
		kin  Kin
		want bool
	}{
		"a version":                                            {kin(func(*Kin) {}), true},
		"a pod without the label of the hash":                  {kin(func(k *Kin) { k.TemplateHash = "" }), false},
		"an owner whose name ends differently":                 {kin(func(k *Kin) { k.Owner.Name = "web-newer" }), false},
		"a Deployment in another namespace":                    {kin(func(k *Kin) { k.Namespace = "other" }), false},
		"a StatefulSet with a template hash":                   {kin(func(k *Kin) { k.Owner.Kind = "StatefulSet" }), false},
		"an independent ReplicaSet with the Deployment's name": {kin(func(k *Kin) { k.Owner.Name = "web" }), false},
		"one whose name begins the same":                       {kin(func(k *Kin) { k.Owner.Name = "web-api-new" }), false},
		"one whose hash is a part of another name":             {kin(func(k *Kin) { k.Owner.Name, k.TemplateHash = "web-api-new", "api-new" }), true},
		"an independent one that looks like a version":         {kin(func(k *Kin) { k.Owner.Name, k.TemplateHash = "web-x", "x" }), true},
		"nobody's pod":                                         {Kin{Namespace: "ns", TemplateHash: "new"}, false},
	}
	view := play(newStore(t), stage{0, map[string][]int64{"old": {100, 300}}})
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, got := view.Siblings.Of(tc.kin, cluster.Amounts{}); got != tc.want {
				t.Errorf("uses the Deployment's pods: %v, want %v", got, tc.want)
			}
		})
	}
}

// The zero Siblings knows no pod.
func TestZeroSiblings(t *testing.T) {
	for name, siblings := range map[string]Siblings{"zero": {}, "of nothing": newStore(t).View(&cluster.Snapshot{}, at(0), nil).Siblings} {
		if got, ok := siblings.Of(kinOfVersion("new"), cluster.Amounts{}); ok {
			t.Errorf("%s: a version is assumed to use %v", name, got)
		}
	}
}

// Pods that pretend to belong to a Deployment contribute nothing to its usage.
func TestUsageIsNotSharedAcrossOwners(t *testing.T) {
	stateful := kinOfVersion("old")
	stateful.Owner.Kind = "StatefulSet"
	elsewhere := kinOfVersion("old")
	elsewhere.Namespace = "other"
	bare := Kin{Namespace: "ns", Owner: cluster.Owner{UID: "bare", Kind: "ReplicaSet", Name: "web"}}
	for name, kin := range map[string]Kin{"a StatefulSet": stateful, "another namespace": elsewhere, "a bare ReplicaSet": bare} {
		t.Run(name, func(t *testing.T) {
			store, pod := newStore(t), aPod("p", ofKin(kin))
			snapshot, read := snapshotOf(nodeWith("n1", pod)), readAt(0).node("n1", amounts(16000, 900)).podMean("p", amounts(500, 64))
			read.Pods[0].Namespace = pod.Namespace
			store.Ingest(snapshot, read.Batch)
			view := store.View(snapshot, at(0), nil)
			if _, ok := view.Siblings.Of(kin, cluster.Amounts{}); !ok {
				t.Fatal("it is not measured itself")
			}
			if got, ok := view.Siblings.Of(kinOfVersion("new"), cluster.Amounts{}); ok {
				t.Errorf("a version of the Deployment is assumed to use %v", got)
			}
		})
	}
}

// Anyone who creates pods in one namespace can name an owner in another. That
// does not change the assumed usage of the owner's pods.
func TestForgedSiblingsCountForNothing(t *testing.T) {
	for name, used := range map[string]int64{"idle": 1, "busy": 15000} {
		t.Run(name, func(t *testing.T) {
			store := newStore(t)
			mine, forged := aPod("mine", owner("rs-1")), aPod("forged", owner("rs-1"))
			forged.Namespace = "other"
			snapshot, read := snapshotOf(nodeWith("n1", forged, mine)), readAt(0).node("n1", amounts(16000, 900)).
				podMean("forged", amounts(used, 64)).podMean("mine", amounts(500, 64))
			read.Pods[0].Namespace = forged.Namespace
			store.Ingest(snapshot, read.Batch)
			of := Kin{Namespace: mine.Namespace, Owner: mine.Owner}
			got, _ := store.View(snapshot, at(0), nil).Siblings.Of(of, cluster.Amounts{})
			if diff := cmp.Diff(amounts(500, 64), got); diff != "" {
				t.Errorf("assumed usage of a sibling (-want +got):\n%s", diff)
			}
		})
	}
}

// Deployments that come and go do not fill the store. If too many deleted ones are remembered, all
// of these are forgotten. Existing ones are always remembered.
func TestRememberedVersionsAreBounded(t *testing.T) {
	const deployments = mostRemembered + 1
	store, node, read := newStore(t), nodeWith("n1"), readAt(0).node("n1", amounts(16000, 900))
	named := func(i int) Kin {
		k := kinOfVersion("old")
		k.Owner.UID, k.Owner.Name = fmt.Sprint(i), fmt.Sprintf("web%d-old", i)
		return k
	}
	for i := range deployments {
		pod := aPod(fmt.Sprint(i), ofKin(named(i)))
		node.Pods = append(node.Pods, pod)
		read.podMean(pod.Name, amounts(1, 1))
	}
	full := snapshotOf(node)
	store.Ingest(full, read.Batch)
	if got := len(store.View(full, at(0), nil).Siblings.families); got != deployments {
		t.Fatalf("%d Deployments with measured pods are known, want %d", got, deployments)
	}
	for _, tc := range []struct{ stay, want int }{{1, deployments}, {0, 0}} { // one Deployment exists, and as many deleted ones are known as the limit allows; then one more
		left := snapshotOf(nodeWith("n1", node.Pods[:tc.stay]...))
		store.Ingest(left, readAt(15).node("n1", amounts(16000, 900)).Batch)
		if got := len(store.View(left, at(15), nil).Siblings.families); got != tc.want {
			t.Errorf("with %d left %d are known, want %d", tc.stay, got, tc.want)
		}
	}
}

// After a clock has gone backwards, nothing from the future is kept, because its age is unknown.
func TestVersionsFromTheFuture(t *testing.T) {
	cases := map[string]func(*Store) *View{
		"a View of an earlier time": func(store *Store) *View { return store.View(snapshotOf(nodeWith("n1")), at(3600), nil) },
		"a View of long after an earlier reading": func(store *Store) *View {
			store.Ingest(snapshotOf(nodeWith("n1")), readAt(0).node("n1", amounts(16000, 900)).Batch)
			return store.View(snapshotOf(nodeWith("n1")), at(7300), nil)
		},
	}
	for name, look := range cases {
		t.Run(name, func(t *testing.T) {
			store := newStore(t)
			play(store, stage{7200, map[string][]int64{"old": {100, 300}}})
			if got, ok := look(store).Siblings.Of(kinOfVersion("new"), cluster.Amounts{}); ok {
				t.Errorf("a new version is assumed to use %v", got)
			}
		})
	}
}

// The sum of many pods on a huge node remains a valid amount.
func TestHugeVersions(t *testing.T) {
	store, node, read := newStore(t), nodeWith("n1"), readAt(0).node("n1", amounts(16000, 900))
	node.Node.Allocatable = cluster.Amounts{mostEstimated, mostEstimated}
	for i := range 100 {
		pod := aPod(fmt.Sprint(i), ofKin(kinOfVersion("old")))
		node.Pods = append(node.Pods, pod)
		read.podMean(pod.Name, cluster.Amounts{mostEstimated, mostEstimated})
	}
	snapshot := snapshotOf(node)
	store.Ingest(snapshot, read.Batch)
	got, _ := store.View(snapshot, at(0), nil).Siblings.Of(kinOfVersion("new"), cluster.Amounts{math.MaxInt64, 1})
	if diff := cmp.Diff(cluster.Amounts{math.MaxUint32, 1}, got); diff != "" { // as much as a sample can hold, and the limit
		t.Errorf("used (-want +got):\n%s", diff)
	}
}
