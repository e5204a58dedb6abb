package answer

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// Pods that kube-scheduler places before any of them is seen to be bound are spread as if each were
// already bound, because the answer for one pod affects the next answer.
func TestPodsOfABurstCountAtOnce(t *testing.T) {
	b := newBridge(t)
	nodes := []string{"a", "b", "c", "d"}
	for _, node := range nodes {
		b.node(node, 1000)
	}
	b.observe()
	placed := map[string]int{}
	for n := range 20 {
		pod := strange(fmt.Sprintf("p%d", n), 235) // 200m is expected
		scores := b.prioritize(pod, nodes...)
		best := nodes[0]
		for _, node := range nodes {
			if scores[node] > scores[best] {
				best = node
			}
		}
		placed[best]++
	}
	for _, node := range nodes {
		if placed[node] < 3 || placed[node] > 7 {
			t.Errorf("placed %v, want about 5 on each", placed)
		}
	}
	b.observe()
	board := b.observer.Latest().Board
	for _, node := range nodes {
		if used, _ := board.Predicted(board.Node([]byte(node))); used[cluster.CPU] != 1000 {
			t.Errorf("%s is predicted at %v long after; none of the pods came", node, used)
		}
	}
}

// kube-scheduler may learn of a burst's pods before our watch does. They are still spread, because
// each answer waits briefly for the watch. If the watch is broken, no pod waits long.
func TestABurstThatOvertakesTheWatch(t *testing.T) {
	nodes := []string{"a", "b", "c", "d"}
	for name, tc := range map[string]struct {
		pods  int
		shown bool
		most  time.Duration
	}{
		"the watch is late":        {20, true, 20 * 50 * time.Millisecond},
		"the watch has broken off": {500, false, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBridge(t)
				for _, node := range nodes {
					b.node(node, 1000)
				}
				b.observe()
				placed, began := map[string]int{}, time.Now()
				for n := range tc.pods {
					pod := strange(fmt.Sprintf("p%d", n), 235)
					if tc.shown {
						time.AfterFunc(49*time.Millisecond, func() { show(b.observer, pod) })
					}
					b.filterUnseen(pod, nodes...)
					scores := b.prioritizeUnseen(pod, nodes...)
					placed[chosen(n, scores, nodes)]++
				}
				if took := time.Since(began); took > tc.most {
					t.Errorf("it took %v, want at most %v", took, tc.most)
				}
				for _, node := range nodes {
					if share := tc.pods / len(nodes); placed[node] < share*6/10 || placed[node] > share*14/10 {
						t.Errorf("placed %v, want about %d on each", placed, share)
					}
				}
			})
		})
	}
}

// chosen returns a node with the highest score, and takes turns among equal ones.
func chosen(turn int, scores map[string]int8, nodes []string) string {
	from := turn % len(nodes)
	return slices.MaxFunc(slices.Concat(nodes[from:], nodes[:from]), func(x, y string) int { return cmp.Compare(scores[x], scores[y]) })
}

// While the watch is broken, kube-scheduler's own plugins choose among the coolest nodes, so that
// the pods of a burst do not all go to one node. They never choose a hotter node, and their own
// preference decides among equal ones.
func TestABurstWithoutTheWatch(t *testing.T) {
	b := newBridge(t)
	nodes := []string{"a", "b", "c", "d"}
	for i, node := range nodes {
		b.node(node, []int64{1000, 1300, 1600, 4500}[i])
	}
	b.observe()
	scores := b.prioritizeUnseen(strange("p", 235), nodes...)
	if scores["a"] != scores["b"] || scores["b"] != scores["c"] || scores["c"] <= scores["d"] {
		t.Errorf("scores %v, want a, b and c alike and d below", scores)
	}
	if known := b.prioritize(strange("q", 235), nodes...); known["a"] <= known["c"] {
		t.Errorf("of a pod that the watch shows %v, want a above c", known)
	}
	for _, node := range nodes {
		b.node(node, 1000)
	}
	b.observe()
	if alike := b.prioritizeUnseen(strange("r", 235), nodes...); alike["a"] != alike["d"] {
		t.Errorf("of nodes that are alike %v", alike)
	}
	b.prioritizeUnseen(strange("s", 235))
}

// If our scores tie, kube-scheduler's own plugins decide. They prefer nodes with few requests, and
// the next answer takes that into account. Half of the pods are seen to be bound at once, the
// others much later.
func TestPodsOfABurstCountWhereOtherPluginsPutThem(t *testing.T) {
	const pods, usage, cores = 60, 200, 10_000
	b := newBridge(t)
	nodes, used, requested := []string{"a", "b", "c", "d", "e", "f"}, map[string]int64{}, map[string]int64{}
	for i, node := range nodes {
		used[node] = int64(500 + 400*i)
		b.node(node, used[node])
		if i < 3 { // cool by usage, full by requests
			requested[node] = 6000
			b.bindTo(idle(fmt.Sprintf("idle-%d", i), requested[node]), node)
		}
	}
	b.observe()
	for n := range pods {
		pod := strange(fmt.Sprintf("p%d", n), 235) // 200m is expected
		scores := b.prioritize(pod, nodes...)
		total := func(node string) int64 { return 150*int64(scores[node]) + 100 - (requested[node]+235)*100/cores }
		chosen := slices.MaxFunc(nodes, func(x, y string) int { return cmp.Compare(total(x), total(y)) })
		used[chosen], requested[chosen] = used[chosen]+usage, requested[chosen]+235
		if n%2 == 0 {
			b.bindTo(idle(pod.UID, 235), chosen)
		}
	}
	least, most := int64(cores), int64(0)
	for _, cpuMilli := range used {
		least, most = min(least, cpuMilli), max(most, cpuMilli)
	}
	if most-least > 3*usage {
		t.Errorf("the nodes are at %v, want them within three pods of each other", used)
	}
}

// idle returns a pod that requests much but is not measured.
func idle(uid string, cpuMilli int64) *v1.Pod {
	request := v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(cpuMilli, resource.DecimalSI)}
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: uid, UID: types.UID(uid)},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Resources: v1.ResourceRequirements{Requests: request}}}},
	}
}

// A pod with claims is bound only once its volumes are provisioned, which may take minutes. Until
// then, or until the assumption turns out to be wrong, the pod counts on the node that the answer
// assumed.
func TestPodsCountUntilTheirVolumesAreProvisioned(t *testing.T) {
	claims := func(pod *extender.Pod) { pod.HasClaims = true }
	cases := map[string]struct {
		change  func(*extender.Pod)
		play    func(*bridge, *extender.Pod)
		samples int // of five minutes each
		want    map[string]int64
	}{
		"no claims":       {func(*extender.Pod) {}, nil, 1, map[string]int64{"a": 1000, "b": 2000}},
		"being provided":  {claims, nil, 1, map[string]int64{"a": 1200, "b": 2000}},
		"given up":        {claims, nil, 3, map[string]int64{"a": 1000, "b": 2000}},
		"bound elsewhere": {claims, func(b *bridge, pod *extender.Pod) { b.bindTo(idle(pod.UID, 235), "b") }, 0, map[string]int64{"a": 1000, "b": 2199}},
		"deleted": {claims, func(b *bridge, pod *extender.Pod) {
			b.observer.Store().SetPod(idle(pod.UID, 235))
			b.observer.Store().DeletePod("ns", pod.UID)
		}, 0, map[string]int64{"a": 1000, "b": 2000}},
		"asked about again": {claims, func(b *bridge, pod *extender.Pod) { b.filter(pod, "a", "b") }, 0, map[string]int64{"a": 1000, "b": 2000}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBridge(t)
			b.node("a", 1000)
			b.node("b", 2000)
			b.observe()
			pod := strange("p", 236) // 200m is expected
			tc.change(pod)
			b.prioritize(pod, "a", "b")
			if tc.play != nil {
				tc.play(b, pod)
			}
			for range tc.samples {
				b.observe()
			}
			board, got := b.observer.Latest().Board, map[string]int64{}
			for node := range tc.want {
				used, _ := board.Predicted(board.Node([]byte(node)))
				got[node] = used[cluster.CPU]
			}
			if diff := gocmp.Diff(tc.want, got); diff != "" {
				t.Errorf("predicted (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDescribeNamesClaims(t *testing.T) {
	cases := map[string]struct {
		volume v1.VolumeSource
		want   bool
	}{
		"a claim":              {v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}, true},
		"a claim of the pod's": {v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}}, true},
		"none":                 {v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}, false},
	}
	for name, tc := range cases {
		pod := idle("p", 100)
		pod.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: tc.volume}}
		if got := Describe(pod).HasClaims; got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
