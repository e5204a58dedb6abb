package placement

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Three replicas repel each other by host, on three of four nodes.
func TestAntiAffinityLeavesOneLandingForOneMove(t *testing.T) {
	web := []func(*v1.Pod){podLabel("app", "web"), antiAffinity(v1.LabelHostname, selecting("app", "web"))}
	nodes := []*v1.Node{aNode("a"), aNode("b"), aNode("c"), aNode("free")}
	pods := []*v1.Pod{aPod("web-0", "a", web...), aPod("web-1", "b", web...), aPod("web-2", "c", web...)}
	f := offline(t)
	syncAll(t, f, nodes, pods)
	s := f.Begin()
	defer s.Close()

	if v := s.Fits(pods[0], "free"); !v.OK {
		t.Fatalf("first replica does not fit the free node: %+v", v)
	}
	undo := mustMove(t, s, pods[0], "free")
	want := Result{Plugin: "InterPodAffinity", Reason: "node(s) didn't match pod anti-affinity rules"}
	if diff := cmp.Diff(want, s.Fits(pods[1], "free")); diff != "" {
		t.Errorf("second replica on the node that the first has taken (-want +got):\n%s", diff)
	}
	want.Terminating = true
	if diff := cmp.Diff(want, s.Fits(pods[1], "a")); diff != "" {
		t.Errorf("second replica on the node where the first is terminating (-want +got):\n%s", diff)
	}
	undo()
	if v := s.Fits(pods[1], "free"); !v.OK {
		t.Errorf("second replica does not fit the free node after undo: %+v", v)
	}
	want.Terminating = false
	if diff := cmp.Diff(want, s.Fits(pods[1], "a")); diff != "" {
		t.Errorf("second replica beside the first after undo (-want +got):\n%s", diff)
	}
}

// Filters ignore preferences, so pods that differ only in these share a state. A pod whose
// preferences cannot be read does not share it, because it is refused.
func TestPreferencesAreFilteredAsPlainPods(t *testing.T) {
	unreadable := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "unreadable"}}}
	pods := []*v1.Pod{
		aPod("plain", "a", podLabel("app", "plain")),
		aPod("spread", "a", podLabel("app", "spread"), spreadSoftly(zoneKey, selecting("app", "spread"))),
		aPod("apart", "a", podLabel("app", "apart"), avoidsPods(v1.LabelHostname, selecting("app", "apart"))),
		aPod("unreadable", "a", podLabel("app", "unreadable"), avoidsPods(v1.LabelHostname, unreadable)),
	}
	f := offline(t)
	syncAll(t, f, []*v1.Node{aNode("a"), aNode("b")}, pods)
	s := f.Begin()
	defer s.Close()
	alike, fits := map[string]bool{}, map[string]bool{}
	var first *template
	for _, pod := range pods {
		fits[pod.Name] = s.Fits(pod, "b").OK
		if first == nil {
			first = s.last.template
		}
		alike[pod.Name] = s.last.template.like == first
	}
	want := map[string]bool{"plain": true, "spread": true, "apart": true, "unreadable": false}
	if diff := cmp.Diff(want, fits); diff != "" {
		t.Errorf("fits (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, alike); diff != "" {
		t.Errorf("shares the plain pod's state (-want +got):\n%s", diff)
	}
}

// Zone a has 3 pods, b and c have 1 each. The constraint allows a skew of 2, so moves from a must
// go to b and c in turn.
func TestSpreadFollowsMoves(t *testing.T) {
	web := []func(*v1.Pod){podLabel("app", "web"), spread(zoneKey, 1, selecting("app", "web"))}
	var nodes []*v1.Node
	for _, zone := range []string{"a", "b", "c"} {
		nodes = append(nodes, aNode(zone, nodeLabel(zoneKey, zone)), aNode(zone+"2", nodeLabel(zoneKey, zone)))
	}
	var pods []*v1.Pod
	for i, node := range []string{"a", "a", "a", "b", "c"} {
		pods = append(pods, aPod(numbered("web", i), node, web...))
	}
	f := offline(t)
	syncAll(t, f, nodes, pods)
	s := f.Begin()
	defer s.Close()

	ask := func(pod int, want map[string]bool) {
		t.Helper()
		got := map[string]bool{}
		for node := range want {
			got[node] = s.Fits(pods[pod], node).OK
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("fits of pod %d (-want +got):\n%s", pod, diff)
		}
	}
	// Without pod 0, the zones hold 2, 1, 1, and one more in a makes a skew of 2.
	ask(0, map[string]bool{"a2": false, "b2": true, "c2": true})
	mustMove(t, s, pods[0], "b2")
	// 2, 2, 1; without pod 1, it is 1, 2, 1.
	ask(1, map[string]bool{"a2": true, "b2": false, "c2": true})
	undo := mustMove(t, s, pods[1], "c2")
	// 1, 2, 2; without pod 2, it is 0, 2, 2.
	ask(2, map[string]bool{"a2": true, "b2": false, "c2": false})
	undo()
	// 2, 2, 1; without pod 2, it is 1, 2, 1.
	ask(2, map[string]bool{"a2": true, "b2": false, "c2": true})
}

func TestRequestsFillUpOverMoves(t *testing.T) {
	var pods []*v1.Pod
	for i := range 6 {
		pods = append(pods, aPod(numbered("web", i), "hot", cpu("900m")))
	}
	f := offline(t)
	syncAll(t, f, []*v1.Node{aNode("hot", allocatable(v1.ResourceCPU, "8")), aNode("cool")}, pods)
	s := f.Begin()
	defer s.Close()
	// 4 cores have space for 4 pods of 900m.
	for i, pod := range pods[:4] {
		if v := s.Fits(pod, "cool"); !v.OK {
			t.Fatalf("pod %d does not fit: %+v", i, v)
		}
		mustMove(t, s, pod, "cool")
	}
	want := Result{Plugin: "NodeResourcesFit", Reason: "Insufficient cpu"}
	if diff := cmp.Diff(want, s.Fits(pods[4], "cool")); diff != "" {
		t.Errorf("fifth pod (-want +got):\n%s", diff)
	}
}

func TestWhatLeavesCountsUntilItIsGone(t *testing.T) {
	leaver := aPod("leaver", "a", cpu("3"), hostPort(80))
	cases := map[string]struct {
		pod  *v1.Pod
		want Result
	}{
		"requests": {aPod("comer", "b", cpu("2")), Result{Plugin: "NodeResourcesFit", Reason: "Insufficient cpu", Terminating: true}},
		"host port": {aPod("comer", "b", hostPort(80)), Result{Plugin: "NodePorts", Terminating: true,
			Reason: "node(s) didn't have free ports for the requested pod ports"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := offline(t)
			syncAll(t, f, []*v1.Node{aNode("a"), aNode("b"), aNode("c")}, []*v1.Pod{leaver, tc.pod})
			s := f.Begin()
			defer s.Close()
			mustMove(t, s, leaver, "c")
			if diff := cmp.Diff(tc.want, s.Fits(tc.pod, "a")); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSessionRefusesWhatItCannotAnswer(t *testing.T) {
	f := offline(t)
	pod := aPod("web-0", "a")
	syncAll(t, f, []*v1.Node{aNode("a"), aNode("b")}, []*v1.Pod{pod})
	s := f.Begin()
	ask := func(what string, pod *v1.Pod, node string, want error) {
		t.Helper()
		if diff := cmp.Diff(Result{Reason: want.Error()}, s.Fits(pod, node)); diff != "" {
			t.Errorf("%s: Fits (-want +got):\n%s", what, diff)
		}
		if _, err := s.Move(pod, node); !errors.Is(err, want) {
			t.Errorf("%s: Move returned %v, want %v", what, err, want)
		}
	}
	ask("no pod", nil, "b", errUnknownPod)
	ask("a pod from elsewhere", aPod("stranger", "a"), "b", errUnknownPod)
	ask("a node from elsewhere", pod, "z", errUnknownNode)
	undo := mustMove(t, s, pod, "b")
	ask("a pod moved before", pod, "b", errAlreadyMoved)
	undo()
	undo() // must not undo anything twice
	undoAgain := mustMove(t, s, pod, "b")
	undo() // nor undo another move
	ask("a pod moved again", pod, "b", errAlreadyMoved)
	s.Close()
	s.Close()
	undoAgain() // must not touch the closed session
	ask("a closed session", pod, "b", errSessionClosed)
}

func TestSyncWaitsForTheSession(t *testing.T) {
	f := offline(t)
	pod := aPod("web-0", "a")
	nodes := []*v1.Node{aNode("a"), aNode("b")}
	syncAll(t, f, nodes, []*v1.Pod{pod})
	s := f.Begin()
	done := make(chan error)
	go func() { done <- f.Sync(nodes[:1], nil) }()
	for range 100 {
		if v := s.Fits(pod, "b"); !v.OK {
			t.Fatalf("the snapshot changed under an open session: %+v", v)
		}
	}
	s.Close()
	if err := <-done; err != nil {
		t.Fatalf("Sync: %v", err)
	}
	s = f.Begin()
	defer s.Close()
	if v := s.Fits(pod, "b"); v.OK {
		t.Error("the snapshot still has what Sync dropped")
	}
}

// An update removes pods that have ended, or that left for an unknown node, from the snapshot, however
// that is reported. Unknown names are an error and change nothing.
func TestUpdateDropsWhatSyncWould(t *testing.T) {
	ended, lost := aPod("ended", "a", cpu("3")), aPod("lost", "a", cpu("3"))
	for name, change := range map[string]func(*v1.Pod){
		"has ended":              func(p *v1.Pod) { p.Status.Phase = v1.PodSucceeded },
		"is on an unknown node":  func(p *v1.Pod) { p.Spec.NodeName = "gone" },
		"has no node any longer": func(p *v1.Pod) { p.Spec.NodeName = "" },
	} {
		f, asked := offline(t), aPod("asked", "b", cpu("3"))
		syncAll(t, f, []*v1.Node{aNode("a"), aNode("b")}, []*v1.Pod{asked, ended})
		newer := ended.DeepCopy()
		change(newer)
		if err := f.snapshot.update(nil, []*v1.Pod{newer}, []types.UID{keyOf(lost)}); err != nil {
			t.Fatal(err)
		}
		s := f.Begin()
		if got := s.Fits(asked, "a"); !got.OK {
			t.Errorf("the pod %s and counts: %+v", name, got)
		}
		s.Close()
		if err := f.snapshot.update(nil, []*v1.Pod{nil, lost}, []types.UID{""}); !errors.Is(err, errSkipped) {
			t.Errorf("unnamed pods: %v", err)
		}
		s = f.Begin()
		if s.Fits(asked, "a").OK {
			t.Error("a pod that arrived together with unknown ones is left out")
		}
		s.Close()
	}
}

func TestSyncKeepsWhatIsUnchanged(t *testing.T) {
	f := offline(t)
	var nodes []*v1.Node
	var pods []*v1.Pod
	for i := range 10 {
		nodes = append(nodes, aNode(numbered("node", i)))
		pods = append(pods, aPod(numbered("pod", i), nodes[i].Name))
	}
	syncAll(t, f, nodes, pods)
	infos := func() map[string]string {
		m := map[string]string{}
		for name, n := range f.snapshot.nodes {
			m[name] = fmt.Sprintf("%p", n.info)
		}
		return m
	}
	before := infos()
	nodes[1], pods[2] = nodes[1].DeepCopy(), pods[2].DeepCopy()
	cpu("2")(pods[2])
	nodes[3].ResourceVersion, pods[4].ResourceVersion = "7", "7"
	nodes[3], pods[4] = nodes[3].DeepCopy(), pods[4].DeepCopy()
	pods[5] = pods[5].DeepCopy()
	pods[5].Status.Phase = v1.PodRunning
	syncAll(t, f, nodes, pods)
	if held := f.snapshot.pods[keyOf(pods[5])].pod; held != pods[5] {
		t.Error("the older copy of a pod is kept")
	}
	changed := map[string]bool{}
	for name, info := range infos() {
		if before[name] != info {
			changed[name] = true
		}
	}
	// New objects without a resourceVersion are changes; those with the same resourceVersion are
	// not. A pod whose sums have not changed does not change its node.
	want := map[string]bool{"node-1": true, "node-2": true}
	if diff := cmp.Diff(want, changed); diff != "" {
		t.Errorf("nodes built anew (-want +got):\n%s", diff)
	}
}
