package informed

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/evenkeel/evenkeel/cluster"
)

func aNode(name string, change ...func(*v1.Node)) *v1.Node {
	n := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: v1.NodeStatus{
			Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("4"), v1.ResourceMemory: resource.MustParse("16Gi")},
			Conditions:  []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
		},
	}
	for _, c := range change {
		c(n)
	}
	return n
}

func aPod(name, node string, change ...func(*v1.Pod)) *v1.Pod {
	controller := true
	p := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"pod-template-hash": "h1"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", UID: "rs-1", Controller: &controller}},
		},
		Spec:   v1.PodSpec{NodeName: node},
		Status: v1.PodStatus{Phase: v1.PodRunning},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

func phase(phase v1.PodPhase) func(*v1.Pod) { return func(p *v1.Pod) { p.Status.Phase = phase } }

func uid(uid types.UID) func(*v1.Pod) { return func(p *v1.Pod) { p.UID = uid } }

// told is a Store with the changes that it has reported.
type told struct {
	*Store
	changes []string
}

func newTold() *told {
	s := &told{}
	s.Store = NewStore(func(c Change) {
		if c.Created != nil {
			s.changes = append(s.changes, fmt.Sprintf("?%s/%s", c.Created.UID, c.Created.Name))
		}
		if c.Dropped != nil {
			s.changes = append(s.changes, fmt.Sprintf("!%s/%s", c.Dropped.UID, c.Dropped.Name))
		}
		if c.Added != nil {
			s.changes = append(s.changes, fmt.Sprintf("+%s/%s@%s", c.Added.UID, c.Added.Name, c.Added.Node))
		}
		if c.Removed != nil {
			s.changes = append(s.changes, fmt.Sprintf("-%s/%s@%s", c.Removed.UID, c.Removed.Name, c.Removed.Node))
		}
	})
	return s
}

// placed describes a snapshot, with nodes and pods in order.
func (s *told) placed() string {
	var all []string
	s.Observe(func(snapshot *cluster.Snapshot) {
		for _, node := range snapshot.Nodes {
			names := []string{}
			for _, pod := range node.Pods {
				names = append(names, pod.Name)
			}
			all = append(all, node.Node.Name+"["+strings.Join(names, " ")+"]")
		}
	})
	return strings.Join(all, " ")
}

// The cases show which changes to pods are reported, and where pods appear.
func TestStore(t *testing.T) {
	cases := map[string]struct {
		play   func(*told)
		told   []string
		placed string
	}{
		"a pod is bound": {
			play:   func(s *told) { s.SetPod(aPod("a", "n1")) },
			told:   []string{"+uid-a/a@n1"},
			placed: "n1[a] n2[]",
		},
		"a pod that is not bound is nowhere": {
			play:   func(s *told) { s.SetPod(aPod("a", "")) },
			told:   []string{"?uid-a/a"},
			placed: "n1[] n2[]",
		},
		"told again": {
			play:   func(s *told) { s.SetPod(aPod("a", "n1")); s.SetPod(aPod("a", "n1")) },
			told:   []string{"+uid-a/a@n1"},
			placed: "n1[a] n2[]",
		},
		"a pod that changes stays": {
			play:   func(s *told) { s.SetPod(aPod("a", "n1")); s.SetPod(aPod("a", "n1", terminating)) },
			told:   []string{"+uid-a/a@n1"},
			placed: "n1[a] n2[]",
		},
		"a pod that has ended is gone": {
			play: func(s *told) {
				s.SetPod(aPod("a", "n1"))
				s.SetPod(aPod("a", "n1", phase(v1.PodSucceeded)))
				s.SetPod(aPod("a", "n1", phase(v1.PodFailed)))
			},
			told:   []string{"+uid-a/a@n1", "-uid-a/a@n1"},
			placed: "n1[] n2[]",
		},
		"a pod is deleted, twice": {
			play:   func(s *told) { s.SetPod(aPod("a", "n1")); s.DeletePod("ns", "a"); s.DeletePod("ns", "a") },
			told:   []string{"+uid-a/a@n1", "-uid-a/a@n1"},
			placed: "n1[] n2[]",
		},
		"a namesake replaces it": {
			play:   func(s *told) { s.SetPod(aPod("a", "n1")); s.SetPod(aPod("a", "n2", uid("second"))) },
			told:   []string{"+uid-a/a@n1", "-uid-a/a@n1", "+second/a@n2"},
			placed: "n1[] n2[a]",
		},
		"a namesake is not bound yet": {
			play:   func(s *told) { s.SetPod(aPod("a", "n1")); s.SetPod(aPod("a", "", uid("second"))) },
			told:   []string{"+uid-a/a@n1", "-uid-a/a@n1", "?second/a"},
			placed: "n1[] n2[]",
		},
		"a pod that waits is bound, and goes": {
			play:   func(s *told) { s.SetPod(aPod("a", "")); s.SetPod(aPod("a", "n1")); s.DeletePod("ns", "a") },
			told:   []string{"?uid-a/a", "+uid-a/a@n1", "-uid-a/a@n1"},
			placed: "n1[] n2[]",
		},
		"a pod that waits goes, twice": {
			play:   func(s *told) { s.SetPod(aPod("a", "")); s.DeletePod("ns", "a"); s.DeletePod("ns", "a") },
			told:   []string{"?uid-a/a", "!uid-a/a"},
			placed: "n1[] n2[]",
		},
		"a pod that waits ends": {
			play:   func(s *told) { s.SetPod(aPod("a", "")); s.SetPod(aPod("a", "", phase(v1.PodFailed))) },
			told:   []string{"?uid-a/a", "!uid-a/a"},
			placed: "n1[] n2[]",
		},
		"a namesake of a waiting one": {
			play:   func(s *told) { s.SetPod(aPod("a", "")); s.SetPod(aPod("a", "n2", uid("second"))) },
			told:   []string{"?uid-a/a", "!uid-a/a", "+second/a@n2"},
			placed: "n1[] n2[a]",
		},
		"a pod before its node": {
			play:   func(s *told) { s.SetPod(aPod("a", "n3")); s.SetNode(aNode("n3")) },
			told:   []string{"+uid-a/a@n3"},
			placed: "n1[] n2[] n3[a]",
		},
		"a node is deleted and comes back with its pods": {
			play:   func(s *told) { s.SetPod(aPod("a", "n1")); s.DeleteNode("n1"); s.SetNode(aNode("n1")) },
			told:   []string{"+uid-a/a@n1"},
			placed: "n1[a] n2[]",
		},
		"pods are in the order of their keys": {
			play: func(s *told) {
				s.SetPod(aPod("c", "n1"))
				s.SetPod(aPod("a", "n1"))
				s.SetPod(aPod("b", "n1"))
			},
			told:   []string{"+uid-c/c@n1", "+uid-a/a@n1", "+uid-b/b@n1"},
			placed: "n1[a b c] n2[]",
		},
		"a list replaces the previous state": {
			play: func(s *told) {
				s.SetPod(aPod("a", "n1"))
				s.SetPod(aPod("b", "n1"))
				_ = podFeed{s.Store}.Replace([]any{aPod("b", "n1"), aPod("c", "n2")}, "1")
				_ = nodeFeed{s.Store}.Replace([]any{aNode("n2")}, "1")
			},
			told:   []string{"+uid-a/a@n1", "+uid-b/b@n1", "-uid-a/a@n1", "+uid-c/c@n2"},
			placed: "n2[c]",
		},
		"a list without pods that waited": {
			play: func(s *told) {
				s.SetPod(aPod("a", ""))
				s.SetPod(aPod("b", ""))
				_ = podFeed{s.Store}.Replace([]any{aPod("b", ""), aPod("c", "")}, "1")
			},
			told:   []string{"?uid-a/a", "?uid-b/b", "!uid-a/a", "?uid-b/b", "?uid-c/c"},
			placed: "n1[] n2[]",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newTold()
			s.SetNode(aNode("n2"))
			s.SetNode(aNode("n1"))
			tc.play(s)
			if diff := cmp.Diff(tc.told, s.changes); diff != "" {
				t.Errorf("reported changes (-want +got):\n%s", diff)
			}
			if got := s.placed(); got != tc.placed {
				t.Errorf("placed %s, want %s", got, tc.placed)
			}
		})
	}
}

// A snapshot does not change when the store does, and shares unchanged nodes with the next one.
func TestSnapshotsAreImmutableAndShared(t *testing.T) {
	s := newTold()
	s.SetNode(aNode("n1"))
	s.SetNode(aNode("n2"))
	s.SetPod(aPod("a", "n1"))
	s.SetPod(aPod("b", "n2"))
	take := func() (taken *cluster.Snapshot) {
		s.Observe(func(snapshot *cluster.Snapshot) { taken = snapshot })
		return taken
	}
	first := take()
	s.SetPod(aPod("c", "n1"))
	s.SetPod(aPod("a", "n1", terminating))
	s.SetNode(aNode("n1", func(n *v1.Node) { n.Spec.Unschedulable = true }))
	s.DeletePod("ns", "c")
	second := take()
	if n1 := first.Nodes[0]; len(n1.Pods) != 1 || n1.Pods[0].Terminating || !n1.Node.Schedulable {
		t.Errorf("the first snapshot has changed: %+v", n1)
	}
	if n1 := second.Nodes[0]; len(n1.Pods) != 1 || !n1.Pods[0].Terminating || n1.Node.Schedulable {
		t.Errorf("the second snapshot lags behind: %+v", n1)
	}
	if first.Nodes[1] != second.Nodes[1] {
		t.Error("a node on which nothing changed is built anew")
	}
}

// Whatever happens to nodes and pods, existing snapshots never change.
func TestSnapshotsStayUnderRandomChanges(t *testing.T) {
	rng := rand.New(rand.NewPCG(63, 64))
	type taken struct {
		snapshot *cluster.Snapshot
		copied   []cluster.NodePods
	}
	for range 50 {
		s, kept := NewStore(nil), []taken{}
		for range 200 {
			node, pod := fmt.Sprintf("n%d", rng.IntN(2)), fmt.Sprintf("p%d", rng.IntN(8))
			switch rng.IntN(6) {
			case 0:
				s.Observe(func(snapshot *cluster.Snapshot) {
					one := taken{snapshot: snapshot}
					for _, n := range snapshot.Nodes {
						one.copied = append(one.copied, cluster.NodePods{Node: n.Node, Pods: slices.Clone(n.Pods)})
					}
					kept = append(kept, one)
				})
			case 1:
				s.SetNode(aNode(node, func(n *v1.Node) { n.Spec.Unschedulable = rng.IntN(2) == 0 }))
			case 2:
				if rng.IntN(4) == 0 {
					s.DeleteNode(node)
				}
			case 3:
				s.DeletePod("ns", pod)
			default:
				s.SetPod(aPod(pod, node, uid(types.UID(fmt.Sprint(rng.IntN(3))))))
			}
			for _, one := range kept {
				for i, n := range one.snapshot.Nodes {
					if !slices.Equal(one.copied[i].Pods, n.Pods) || !n.Node.Equal(&one.copied[i].Node) {
						t.Fatalf("a snapshot had pods %v on %s, now %v", one.copied[i].Pods, n.Node.Name, n.Pods)
					}
				}
			}
		}
	}
}

// Whatever arrives in whatever order, the store holds the latest state of each pod. Every pod is
// reported as coming and going in turn, and pods of one template share its strings.
func TestStoreUnderRandomChanges(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 62))
	for range 100 {
		last, on, waits, s := map[string]*v1.Pod{}, map[string]bool{}, map[string]string{}, NewStore(nil)
		s.onChange = func(c Change) {
			switch {
			case c.Added != nil && !on[c.Added.Name] && (waits[c.Added.Name] == "" || waits[c.Added.Name] == c.Added.UID):
				on[c.Added.Name] = true
				delete(waits, c.Added.Name)
			case c.Removed != nil && on[c.Removed.Name]:
				delete(on, c.Removed.Name)
			case c.Created != nil && !on[c.Created.Name]:
				waits[c.Created.Name] = c.Created.UID
			case c.Dropped != nil && waits[c.Dropped.Name] == c.Dropped.UID:
				delete(waits, c.Dropped.Name)
			case c.Leaving != nil && on[c.Leaving.Name]:
			default:
				t.Fatalf("%+v is reported out of turn", c)
			}
		}
		for range 200 {
			name := fmt.Sprintf("p%d", rng.IntN(8))
			if rng.IntN(4) == 0 {
				delete(last, name)
				s.DeletePod("ns", name)
				continue
			}
			pod := aPod(name, []string{"", "n1", "n2"}[rng.IntN(3)], uid(types.UID(fmt.Sprint(rng.IntN(3)))))
			pod.Labels["pod-template-hash"] = fmt.Sprint("hash-", rng.IntN(2))
			if rng.IntN(5) == 0 {
				pod.Status.Phase = v1.PodSucceeded
			}
			last[name] = pod
			s.SetPod(pod)
		}
		checkStore(t, s, last)
	}
}

func checkStore(t *testing.T, s *Store, last map[string]*v1.Pod) {
	t.Helper()
	firsts, want := map[template]string{}, 0
	for name, pod := range last {
		held := s.byKey[podKey{"ns", name}]
		if pod.Spec.NodeName == "" || podutil.IsPodTerminal(pod) {
			if held != nil {
				t.Fatalf("pod %s is still held", name)
			}
			continue
		}
		want++
		if diff := cmp.Diff(Pod(pod), held); diff != "" {
			t.Fatalf("pod %s (-want +got):\n%s", name, diff)
		}
		if !slices.Contains(s.byNode[pod.Spec.NodeName], held) {
			t.Fatalf("pod %s is not on its node", name)
		}
		of := template{held.Namespace, held.Owner, held.TemplateHash}
		if first, ok := firsts[of]; ok && unsafe.StringData(first) != unsafe.StringData(held.TemplateHash) {
			t.Fatalf("pod %s has strings of its own", name)
		}
		firsts[of] = held.TemplateHash
	}
	if len(s.byKey) != want || len(s.byNode["n1"])+len(s.byNode["n2"]) != want {
		t.Fatalf("%d pods by key, %d and %d by node; want %d", len(s.byKey), len(s.byNode["n1"]), len(s.byNode["n2"]), want)
	}
}

// If shared informers feed the store, it is synced once both have delivered their lists, and then
// follows the watch.
func TestAttach(t *testing.T) {
	client := fake.NewClientset(aNode("n1"), aPod("a", "n1"))
	factory := informers.NewSharedInformerFactory(client, 0)
	s := newTold()
	synced, err := s.Attach(factory)
	if err != nil {
		t.Fatal(err)
	}
	if synced() {
		t.Error("synced before anything was delivered")
	}
	factory.Start(t.Context().Done())
	t.Cleanup(factory.Shutdown) // once the context has ended
	if !cache.WaitForCacheSync(t.Context().Done(), synced) {
		t.Fatal("not synced")
	}
	if got := s.placed(); got != "n1[a]" {
		t.Errorf("placed %s", got)
	}
	if err := client.CoreV1().Pods("ns").Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for s.placed() != "n1[]" {
		if t.Context().Err() != nil {
			t.Fatal("the deletion was not reported")
		}
	}
}

// A deletion that the watch missed arrives as a tombstone.
func TestTombstone(t *testing.T) {
	s := newTold()
	s.SetNode(aNode("n1"))
	s.SetPod(aPod("a", "n1"))
	handler(podFeed{s.Store}).OnDelete(cache.DeletedFinalStateUnknown{Key: "ns/a", Obj: aPod("a", "n1")})
	handler(nodeFeed{s.Store}).OnDelete(cache.DeletedFinalStateUnknown{Key: "n1", Obj: aNode("n1")})
	handler(nodeFeed{s.Store}).OnDelete("nonsense")
	handler(podFeed{s.Store}).OnAdd("nonsense", false)
	if got := s.placed(); got != "" {
		t.Errorf("placed %s, want nothing", got)
	}
}

func terminating(p *v1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }

// The next Snapshot shows an added or removed taint, and applies a new TaintRule.
func TestTaintsReachTheNextSnapshot(t *testing.T) {
	s := NewStore(nil)
	look := func() (now cluster.Node) {
		s.Observe(func(snapshot *cluster.Snapshot) { now = snapshot.Nodes[0].Node })
		return now
	}
	tainted := func(keys ...string) *v1.Node {
		return aNode("n", func(n *v1.Node) {
			for _, key := range keys {
				n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: key})
			}
		})
	}
	steps := []struct {
		name string
		do   func()
		want string
	}{
		{"before there is a rule", func() { s.SetNode(tainted("a")) }, ""},
		{"a rule", func() { s.SetTaints(cluster.TaintRule{Closing: []string{"a"}, Leaving: []string{"b"}}) }, "Tainted: a"},
		{"untainted", func() { s.SetNode(tainted()) }, ""},
		{"tainted again", func() { s.SetNode(tainted("c", "a")) }, "Tainted: a"},
		{"drained", func() { s.SetNode(tainted("a", "b")) }, "Leaving: b"},
		{"another rule", func() { s.SetTaints(cluster.TaintRule{Closing: []string{"b"}}) }, "Tainted: b"},
		{"none", func() { s.SetTaints(cluster.TaintRule{}) }, ""},
	}
	for _, step := range steps {
		step.do()
		if got := look(); got.Closed() != step.want {
			t.Errorf("%s: closed %q, want %q", step.name, got.Closed(), step.want)
		}
	}
}

// Closed reports that a node is closed as soon as the watch shows it, whatever the latest Snapshot
// contains.
func TestClosedNow(t *testing.T) {
	s := newTold()
	s.SetTaints(cluster.TaintRule{Leaving: []string{"leaving"}})
	tainted := func(n *v1.Node) { n.Spec.Taints = []v1.Taint{{Key: "leaving", Effect: v1.TaintEffectNoSchedule}} }
	for _, node := range []*v1.Node{aNode("open"), aNode("cordoned"), aNode("leaving"), aNode("gone")} {
		s.SetNode(node)
	}
	s.Observe(func(*cluster.Snapshot) {})
	s.SetNode(aNode("cordoned", func(n *v1.Node) { n.Spec.Unschedulable = true }))
	s.SetNode(aNode("leaving", tainted))
	s.DeleteNode("gone")
	for node, want := range map[string]string{"open": "", "cordoned": "Cordoned", "leaving": "Leaving: leaving", "gone": "Gone", "never": "Gone"} {
		if got := s.Closed(node); got != want {
			t.Errorf("%s is closed as %q, want %q", node, got, want)
		}
	}
}
