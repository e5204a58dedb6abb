package usage

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/evenkeel/evenkeel/cluster"
)

// However pods arrive, leave, change places and are replaced by others of the same name, the usage
// reported for a pod is attributed to that pod.
func TestPodsAreMatched(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	store, used := newStore(t), map[string]int64{} // by UID
	pods := map[string]*cluster.Pod{}              // by name
	for round := range 200 {
		second, left := 15*round, map[string]bool{}
		for _, name := range slices.Sorted(maps.Keys(pods)) {
			if rng.IntN(10) == 0 {
				delete(pods, name)
				left[name] = rng.IntN(2) == 0 // the source may not have noticed yet
			}
		}
		for range 3 {
			name := fmt.Sprintf("pod-%02d", rng.IntN(40))
			id := fmt.Sprintf("%s-%d", name, round)
			pods[name], used[id] = aPod(name, uid(id), owner("")), rng.Int64N(1000)
			left[name] = false
		}
		for _, name := range slices.Sorted(maps.Keys(pods)) {
			if rng.IntN(4) == 0 {
				pods[name] = aPod(name, uid(pods[name].UID), owner([]string{"", "web", "db", fmt.Sprint("job-", round)}[rng.IntN(4)]))
			}
		}
		nodes := []*cluster.NodePods{nodeWith("n1"), nodeWith("n2"), nodeWith("n3")}
		b := readAt(second)
		for _, pod := range shuffled(rng, pods) {
			node := nodes[rng.IntN(3)]
			node.Pods = append(node.Pods, pod)
			b.pod(pod.Name, amounts(used[pod.UID], 1))
		}
		want := map[Cause]int{}
		for name, told := range left {
			if told {
				b.pod(name, amounts(77_777, 1))
				want[UnmatchedPod]++
			}
		}
		if rng.IntN(4) > 0 { // most sources keep their order
			slices.SortFunc(b.Pods, func(a, b PodSample) int { return strings.Compare(a.Name, b.Name) })
		}
		if diff := cmp.Diff(want, counts(store.Ingest(snapshotOf(nodes...), b.Batch)), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("round %d (-want +got):\n%s", round, diff)
		}
		checkOwners(t, store, pods, second)
		if rng.IntN(2) == 0 { // a view of a cluster that has changed in the meantime
			nodes[0], nodes[2] = nodes[2], nodes[0]
			nodes[1].Pods = append(nodes[1].Pods, aPod("pod-99", uid("nobody's")))
		}
		view := store.View(snapshotOf(nodes...), at(second), nil)
		for i, node := range nodes {
			for j, pod := range node.Pods {
				got := view.Nodes[i].Pods[j]
				if pod.Name == "pod-99" {
					continue
				}
				if newest, _ := store.index.pod("ns", pod.Name).used.newest(); int64(newest.cpuMilli) != used[pod.UID] || got.Used[0] < used[pod.UID] {
					t.Fatalf("round %d: %s reads %+v, newest %v, want %dm", round, pod.UID, got, newest, used[pod.UID])
				}
			}
		}
		if len(store.order) != len(pods) {
			t.Fatalf("round %d: kept %d pods, want %d", round, len(store.order), len(pods))
		}
	}
}

// A snapshot that lists a pod more than once causes no error, neither at that time nor once the pod
// is gone.
func TestPodsListedTwice(t *testing.T) {
	store := newStore(t)
	pod, other := aPod("a", owner("web")), aPod("b", owner("web"))
	for round, pods := range [][]*cluster.Pod{{pod, pod}, {pod, other, pod}, {other, pod, pod}, {other}, {pod, pod, other}, nil, {pod, pod, pod}, {pod}} {
		b := readAt(15 * round)
		for _, pod := range pods {
			b.pod(pod.Name, amounts(500, 5))
		}
		store.Ingest(snapshotOf(nodeWith("n1", pods...)), b.Batch)
		for _, pod := range pods {
			if ps := store.index.pod(pod.Namespace, pod.Name); ps == nil || ps.pod.UID != pod.UID {
				t.Fatalf("round %d: %q is found as %v", round, pod.Key(), ps)
			}
		}
		for _, known := range store.owners.list {
			if known.pods < 0 || known.pods > len(pods) {
				t.Fatalf("round %d: owner %q has %d of %d pods", round, known.uid, known.pods, len(pods))
			}
		}
	}
}

// checkOwners checks that the pods of each owner are counted, and averaged if they are measured.
func checkOwners(t *testing.T, store *Store, pods map[string]*cluster.Pod, second int) {
	t.Helper()
	want, got := map[string]int{}, map[string]int{}
	for _, pod := range pods {
		if pod.Owner.UID != "" {
			want[pod.Owner.UID]++
		}
	}
	for _, known := range store.owners.list[1:] {
		if known.pods > 0 {
			got[known.uid] += known.pods
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(store.owners.numbers) != len(want) || len(store.owners.list) > 1+len(store.order) {
		t.Fatalf("%d of %d owners are known by their UIDs; pods of each (-want +got):\n%s", len(store.owners.numbers), len(store.owners.list), diff)
	}
	sums, counted := map[string]cluster.Amounts{}, map[string]int64{}
	node := nodeWith("n1", slices.Collect(maps.Values(pods))...)
	view := store.View(snapshotOf(node), at(second), nil)
	for j, pod := range node.Pods {
		if usage := view.Nodes[0].Pods[j]; usage.Measured && pod.Owner.UID != "" {
			sums[pod.Owner.UID] = sums[pod.Owner.UID].Plus(usage.Used)
			counted[pod.Owner.UID]++
		}
	}
	means := map[ownerKey]cluster.Amounts{}
	for uid, sum := range sums {
		means[ownerKey{"ns", uid}] = cluster.Amounts{sum[0] / counted[uid], sum[1] / counted[uid]}
	}
	if diff := cmp.Diff(means, view.Siblings.owners); diff != "" {
		t.Fatalf("means of owners (-want +got):\n%s", diff)
	}
}

func shuffled(rng *rand.Rand, pods map[string]*cluster.Pod) []*cluster.Pod {
	var all []*cluster.Pod
	for _, name := range slices.Sorted(maps.Keys(pods)) {
		all = append(all, pods[name])
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}
