package answer

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/scorer"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

const (
	keep     = extender.RejectNone
	tooHot   = extender.RejectHot
	isSource = extender.RejectSource
	notThere = extender.RejectNotDestination
)

// Before the first observation, answers are neutral: every node is kept and none is preferred.
func TestNeutralBeforeTheFirstObservation(t *testing.T) {
	b := newBridge(t)
	b.node("a", 9000)
	if diff := cmp.Diff(map[string]extender.Reject{"a": keep, "b": keep}, b.filter(webPod("new"), "a", "b")); diff != "" {
		t.Errorf("filter (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int8{"a": 0, "b": 0}, b.prioritize(webPod("new"), "a", "b")); diff != "" {
		t.Errorf("prioritize (-want +got):\n%s", diff)
	}
	if b.Asked() != 2 || !b.AskedAbout("new") || b.AskedAbout("other") {
		t.Errorf("asked %d times, about new: %v", b.Asked(), b.AskedAbout("new"))
	}
}

// An ordinary pod is kept off nodes that it would raise above the reject line of 60 %.
func TestFilterByUsage(t *testing.T) {
	b := newBridge(t)
	b.node("cool", 2000)
	b.node("edge", 5150)
	b.node("hot", 7000)
	b.node("silent", -1)
	b.observe()
	// 85 % of a core raise edge to exactly 6000m.
	got := b.filter(strange("p", 1000), "cool", "edge", "hot", "silent", "new-node")
	want := map[string]extender.Reject{"cool": keep, "edge": keep, "hot": tooHot, "silent": keep, "new-node": keep}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("filter (-want +got):\n%s", diff)
	}
	// 85 % of 1002m is one milli-core too much.
	if got := b.filter(strange("q", 1002), "edge")["edge"]; got != tooHot {
		t.Errorf("edge with 851m: %v, want %v", got, tooHot)
	}
	// A pod without a request counts with the default of 250m, not with nothing.
	if got := b.filter(strange("r", extender.Absent), "hot", "edge", "cool"); got["hot"] != tooHot || got["edge"] != keep {
		t.Errorf("without a request: %v", got)
	}
	scores := b.prioritize(strange("p", 1000), "cool", "edge", "hot", "silent")
	if diff := cmp.Diff(map[string]int8{"cool": 10, "edge": 0, "hot": 0, "silent": 0}, scores); diff != "" {
		t.Errorf("prioritize (-want +got):\n%s", diff)
	}
}

// While usage is unknown, it causes no node to be rejected or preferred. Once it is known again, it
// counts.
func TestFilterWhenUsageGoesStale(t *testing.T) {
	b := newBridge(t)
	b.node("cool", 2000)
	b.node("hot", 7000)
	b.observe()
	said := func() (map[string]extender.Reject, map[string]int8) {
		return b.filter(strange("p", 1000), "cool", "hot"), b.prioritize(strange("p", 1000), "cool", "hot")
	}
	known, unknown := map[string]extender.Reject{"cool": keep, "hot": tooHot}, map[string]extender.Reject{"cool": keep, "hot": keep}
	steps := []struct {
		name    string
		used    map[string]int64
		rejects map[string]extender.Reject
		scores  map[string]int8
	}{
		{"known", b.used, known, map[string]int8{"cool": 5, "hot": 0}},
		{"stale", map[string]int64{}, unknown, map[string]int8{"cool": 5, "hot": 5}},
		{"known again", b.used, known, map[string]int8{"cool": 5, "hot": 0}},
	}
	for _, step := range steps {
		b.used = step.used
		b.observe()
		rejects, scores := said()
		if diff := cmp.Diff(step.rejects, rejects); diff != "" {
			t.Errorf("%s: filter (-want +got):\n%s", step.name, diff)
		}
		if diff := cmp.Diff(step.scores, scores); diff != "" {
			t.Errorf("%s: prioritize (-want +got):\n%s", step.name, diff)
		}
	}
}

// A pod counts with the usage of its owner's measured pods, whatever it requests.
func TestFilterBySiblings(t *testing.T) {
	b := newBridge(t)
	b.node("a", 4000)
	b.bind("one", "a")
	b.pods = append(b.pods, podSample("web-one", 3000))
	b.observe()
	if got := b.filter(webPod("new"), "a")["a"]; got != tooHot { // 4000 + 3000
		t.Errorf("a pod requesting 200m whose sibling uses 3000m: %v, want %v", got, tooHot)
	}
	if got := b.filter(strange("p", 200), "a")["a"]; got != keep {
		t.Errorf("a stranger requesting 200m: %v, want %v", got, keep)
	}
}

// A pod of a Deployment's next version counts with the usage of the previous
// version's pods, as far as its limits allow.
func TestFilterByTheVersionBefore(t *testing.T) {
	b := newBridge(t)
	b.node("a", 4000)
	b.bindTo(&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "shop-h1-x", UID: "x", Labels: map[string]string{"pod-template-hash": "h1"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "shop-h1", UID: "shop-1", Controller: new(true)}},
		},
	}, "a")
	b.pods = append(b.pods, podSample("shop-h1-x", 3000))
	b.observe()
	next := extender.Pod{
		Namespace: "ns", Name: "shop-h2-y", UID: "y", OwnerUID: "shop-2", OwnerKind: "ReplicaSet", OwnerName: "shop-h2", TemplateHash: "h2",
		CPUMilli: 200, MemoryBytes: extender.Absent,
	}
	for name, tc := range map[string]struct {
		change func(*extender.Pod)
		want   extender.Reject
	}{
		"the next version":                 {func(*extender.Pod) {}, tooHot}, // 4000 + 3000
		"with a limit of 1 core":           {func(p *extender.Pod) { p.LimitCPUMilli = 1000 }, keep},
		"of another namespace":             {func(p *extender.Pod) { p.Namespace = "other" }, keep},
		"of another Deployment":            {func(p *extender.Pod) { p.OwnerName = "shops-h2" }, keep},
		"of a StatefulSet":                 {func(p *extender.Pod) { p.OwnerKind = "StatefulSet" }, keep},
		"without the label of its version": {func(p *extender.Pod) { p.TemplateHash = "" }, keep},
	} {
		pod := next
		pod.UID, pod.Name = name, name
		tc.change(&pod)
		if got := b.filter(&pod, "a")["a"]; got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// The cases show how requests about a replacement are answered, and on which nodes the replacement
// counts afterwards. The reservation at the planned destination stays until the replacement is
// bound.
func TestLanding(t *testing.T) {
	type said = map[string]extender.Reject
	cases := map[string]struct {
		play    func(*bridge)
		request []string
		pod     *extender.Pod
		want    said
		charged string // the node on which it counts in addition to the planned one, which is c
	}{
		"with its planned destination alone": {
			request: []string{"hot", "b", "c", "d"},
			want:    said{"hot": notThere, "b": notThere, "c": keep, "d": notThere},
		},
		"with the request's coolest node where the planned one is not in it": {
			request: []string{"hot", "d", "b"},
			want:    said{"hot": notThere, "d": notThere, "b": keep},
			charged: "b",
		},
		"with the request's coolest node where the planned one is over its ceiling": {
			play: func(b *bridge) {
				b.observer.Latest().Board.Adjust("c", cluster.Charge{Usage: cluster.Amounts{4000, 0}})
			},
			request: []string{"hot", "b", "c", "d"},
			want:    said{"hot": notThere, "b": keep, "c": notThere, "d": notThere},
			charged: "b",
		},
		"never with its source, though it were the coolest": {
			play: func(b *bridge) {
				b.observer.Latest().Board.Adjust("hot", cluster.Charge{Usage: cluster.Amounts{-7000, 0}})
			},
			request: []string{"hot", "d"},
			want:    said{"hot": notThere, "d": keep},
			charged: "d",
		},
		"like any other pod where no node of the request will do": {
			play: func(b *bridge) {
				b.observer.Latest().Board.Adjust("d", cluster.Charge{Usage: cluster.Amounts{4000, 0}})
			},
			request: []string{"hot", "d"},
			want:    said{"hot": isSource, "d": tooHot},
		},
		"where its source is all there is": { // the handler keeps the last node, whatever the answer is
			request: []string{"hot"},
			want:    said{"hot": isSource},
		},
		"next to unknown nodes, kept by the handler": {
			request: []string{"c", "new-node"},
			want:    said{"c": keep, "new-node": notThere},
		},
		"but not next to nodes with unknown usage": {
			play:    func(b *bridge) { b.node("silent", -1) },
			request: []string{"silent", "d"},
			want:    said{"silent": notThere, "d": keep},
			charged: "d",
		},
		"a pod of another template is no replacement, but has the same owner": {
			pod: func() *extender.Pod {
				pod := webPod("new")
				pod.TemplateHash = "h2"
				return pod
			}(),
			request: []string{"hot", "b", "c"},
			want:    said{"hot": isSource, "b": keep, "c": keep},
		},
		"a stranger is neither": {
			pod:     strange("p", 100),
			request: []string{"b", "c"},
			want:    said{"b": keep, "c": keep},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBridge(t)
			b.node("hot", 7000)
			b.node("b", 1000)
			b.node("c", 2000)
			b.node("d", 3000)
			b.observe()
			id := b.record(1, "hot", "c")
			if tc.play != nil {
				tc.play(b)
			}
			pod := tc.pod
			if pod == nil {
				pod = webPod("new")
			}
			b.watch(pod)
			want := b.predicted("hot", "b", "c", "d")
			if tc.charged != "" {
				want[tc.charged] += 1000
			}
			if diff := cmp.Diff(tc.want, b.filter(pod, tc.request...)); diff != "" {
				t.Errorf("filter (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, b.predicted("hot", "b", "c", "d")); diff != "" {
				t.Errorf("predicted (-want +got):\n%s", diff)
			}
			if move, _ := b.observer.Ledger().Get(id); move.Node != "c" {
				t.Errorf("reserved on %q, want the planned c", move.Node)
			}
		})
	}
}

// A replacement that has lost its destination stays on its capacity type, and in its zone if
// possible. If there is no such node, kube-scheduler chooses.
func TestLostLandingsStayAtHome(t *testing.T) {
	zone, spot := func(z string) map[string]string { return map[string]string{v1.LabelTopologyZone: z} }, map[string]string{"karpenter.sh/capacity-type": "spot"}
	sites := map[string]map[string]string{"hot": zone("1"), "there": zone("2"), "here": zone("1"), "spot": spot}
	for name, tc := range map[string]struct {
		request []string
		want    map[string]extender.Reject
	}{
		"its own zone, though another is cooler": {[]string{"there", "here", "spot"}, map[string]extender.Reject{"there": notThere, "here": keep, "spot": notThere}},
		"another zone in need":                   {[]string{"there", "spot"}, map[string]extender.Reject{"there": keep, "spot": notThere}},
		"no other capacity type":                 {[]string{"spot", "full"}, map[string]extender.Reject{"spot": keep, "full": tooHot}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBridge(t)
			for node, cpuMilli := range map[string]int64{"hot": 7000, "spot": 500, "there": 1000, "here": 3000, "full": 7000, "planned": 2000} {
				b.node(node, cpuMilli)
				b.label(node, sites[node])
			}
			b.observe()
			b.record(1, "hot", "planned")
			if diff := cmp.Diff(tc.want, b.filter(webPod("new"), tc.request...)); diff != "" {
				t.Errorf("filter (-want +got):\n%s", diff)
			}
		})
	}
}

// A replacement that has lost its destination goes only to nodes that can run it: nodes of the
// platform of its source or of its destination, even if one of these is gone.
func TestLostLandingsStayOnThePlatform(t *testing.T) {
	amd, arm := map[string]string{v1.LabelArchStable: "amd64"}, map[string]string{"beta.kubernetes.io/arch": "arm64"}
	for name, tc := range map[string]struct {
		labels map[string]map[string]string
		gone   []string
		want   string // the node that is kept; empty if kube-scheduler chooses
	}{
		"its own, though another is cooler": {labels: map[string]map[string]string{"hot": amd, "planned": amd, "cooler": arm, "cool": amd}, want: "cool"},
		"one that it was found to run on":   {labels: map[string]map[string]string{"hot": amd, "planned": arm, "cooler": arm, "cool": amd}, want: "cooler"},
		"as planned, without the source":    {labels: map[string]map[string]string{"planned": amd, "cooler": arm, "cool": amd}, gone: []string{"hot"}, want: "cool"},
		"nobody knows":                      {labels: map[string]map[string]string{"cooler": arm, "cool": amd}, gone: []string{"hot", "planned"}},
		"unknown, and all are alike":        {gone: []string{"hot", "planned"}, want: "cooler"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBridge(t)
			for node, cpuMilli := range map[string]int64{"hot": 7000, "cooler": 1000, "cool": 3000, "planned": 2000} {
				b.node(node, cpuMilli)
				b.label(node, tc.labels[node])
			}
			b.observe()
			b.record(1, "hot", "planned")
			for _, node := range tc.gone {
				b.observer.Store().DeleteNode(node)
			}
			b.observe()
			want := map[string]extender.Reject{"cooler": keep, "cool": keep}
			if tc.want != "" {
				want = map[string]extender.Reject{"cooler": notThere, "cool": notThere}
				want[tc.want] = keep
			}
			if diff := cmp.Diff(want, b.filter(webPod("new"), "cooler", "cool")); diff != "" {
				t.Errorf("filter (-want +got):\n%s", diff)
			}
		})
	}
}

// A pod of another namespace that names the owner of a move is answered like any other pod, and
// takes nothing from the real replacement.
func TestForgedOwnersTakeNoLanding(t *testing.T) {
	b := newBridge(t)
	for name, used := range map[string]int64{"from": 7000, "to": 2000, "other": 3000} {
		b.node(name, used)
	}
	b.observe()
	uid := b.record(1, "from", "to")
	planned := func() ledger.Move {
		move, _ := b.observer.Ledger().Get(uid)
		return move
	}
	before := planned()
	for _, forgedUID := range []string{"forged-1", "forged-2", "forged-3"} {
		forged := webPod(forgedUID)
		forged.Namespace = "other"
		if got := b.filter(forged, "to", "other"); got["to"] == notThere || got["other"] == notThere {
			t.Errorf("filter: %v", got)
		}
		b.prioritize(forged, "to", "other")
		b.Consider(forged).Reserve("other")
		if diff := cmp.Diff(before, planned(), cmp.AllowUnexported(ledger.Move{})); diff != "" {
			t.Errorf("the move after a forged request (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff(map[string]extender.Reject{"to": keep, "other": notThere}, b.filter(webPod("new"), "to", "other")); diff != "" {
		t.Errorf("the real replacement (-want +got):\n%s", diff)
	}
}

// After two attempts a replacement is an ordinary pod, kept away only from its
// source.
func TestLandingAttempts(t *testing.T) {
	b := newBridge(t)
	b.node("hot", 5000)
	b.node("b", 1000)
	b.node("c", 2000)
	b.observe()
	b.record(1, "hot", "c")
	for range ledger.MaxAttempts {
		if got := b.filter(webPod("new"), "hot", "b", "c"); got["c"] != keep || got["b"] != notThere {
			t.Fatalf("filter %v, want c alone", got)
		}
		b.now = b.now.Add(time.Second) // as soon as kube-scheduler tries again
	}
	want := map[string]extender.Reject{"hot": isSource, "b": keep, "c": keep}
	if diff := cmp.Diff(want, b.filter(webPod("new"), "hot", "b", "c")); diff != "" {
		t.Errorf("third time (-want +got):\n%s", diff)
	}
}

// Two replacements requested at the same time each get a node. A third pod, from a scale-up, is
// only kept off the source. Ten minutes later, no pod is.
func TestLandingByCount(t *testing.T) {
	b := newBridge(t)
	b.node("hot", 5000)
	b.node("b", 1000)
	b.node("c", 2000)
	b.observe()
	b.record(1, "hot", "c")
	b.record(2, "hot", "b")
	request := []string{"hot", "b", "c"}
	if got := b.filter(webPod("x"), request...); got["c"] != keep || got["b"] != notThere {
		t.Errorf("first: %v, want c", got)
	}
	if got := b.filter(webPod("y"), request...); got["b"] != keep || got["c"] != notThere {
		t.Errorf("second: %v, want b", got)
	}
	if got := b.filter(webPod("z"), request...); got["hot"] != isSource || got["b"] != keep || got["c"] != keep {
		t.Errorf("third: %v, want all but the source", got)
	}
	b.bind("x", "c")
	b.bind("y", "b")
	if got := b.filter(webPod("z"), request...); got["hot"] != isSource {
		t.Errorf("after the landings: %v, want the source avoided", got)
	}
	for range 3 {
		b.observe() // five minutes each
	}
	if got := b.filter(webPod("z"), request...); got["hot"] != keep {
		t.Errorf("fifteen minutes later: %v, want the source forgotten", got)
	}
}

// An answer affects the next one, so the replacements of moves without a destination do not pile up
// on one node.
func TestUnplannedMovesSpread(t *testing.T) {
	b := newBridge(t)
	b.node("from", 5000)
	b.node("b", 1000)
	b.node("c", 1500)
	b.bind("old", "from")
	b.pods = append(b.pods, podSample("web-old", 800))
	b.observe()
	var got []string
	for n, uid := range []string{"x", "y", "z"} {
		moved := string(rune('0' + n))
		b.observer.Ledger().Record(b.now, ledger.Intent{
			Namespace: "ns", Pod: "any", PodUID: moved, Owner: cluster.Owner{UID: "rs-1", Kind: "ReplicaSet"}, TemplateHash: "h1",
			From: "from", TTL: time.Hour,
		})
		b.observer.Ledger().Leaves(moved, b.now)
		for node, reject := range b.filter(webPod(uid), "from", "b", "c") {
			if reject == keep {
				got = append(got, node)
			}
		}
	}
	// Each uses 800m like the sibling: b rises to 1800, c to 2300, b to 2600.
	if diff := cmp.Diff([]string{"b", "c", "b"}, got); diff != "" {
		t.Errorf("answered (-want +got):\n%s", diff)
	}
}

// If filter is not configured, the booked node at least comes first.
func TestPrioritizePrefersTheLanding(t *testing.T) {
	b := newBridge(t)
	b.node("hot", 7000)
	b.node("b", 1000)
	b.node("c", 3000)
	b.observe()
	b.record(1, "hot", "c")
	if diff := cmp.Diff(map[string]int8{"hot": 0, "b": 0, "c": 10}, b.prioritize(webPod("new"), "hot", "b", "c")); diff != "" {
		t.Errorf("its replacement (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int8{"hot": 0, "b": 10, "c": 0}, b.prioritize(strange("p", 200), "hot", "b", "c")); diff != "" {
		t.Errorf("another pod (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int8{"hot": 0, "b": 5}, b.prioritize(webPod("new"), "hot", "b")); diff != "" {
		t.Errorf("without the landing in the request (-want +got):\n%s", diff)
	}
}

// Pods about which the extender was asked are remembered. New ones displace the oldest.
func TestRecentIsBounded(t *testing.T) {
	r := newRecent(2)
	for _, uid := range []string{"a", "b", "a", "", "c"} {
		r.add(uid)
	}
	for uid, want := range map[string]bool{"a": false, "b": true, "c": true, "": false} {
		if got := r.has(uid); got != want {
			t.Errorf("%q known: %v, want %v", uid, got, want)
		}
	}
	if len(r.known) > 2 {
		t.Errorf("%d remembered, want 2", len(r.known))
	}
}

// The index follows the observation: it finds new nodes, and an index means the same node on the
// board and in the index.
func TestIndexFollowsTheBoard(t *testing.T) {
	b := newBridge(t)
	b.node("b", 1000)
	b.observe()
	first := b.Begin().(extender.Indexed).Index()
	b.observe()
	if b.Begin().(extender.Indexed).Index() != first {
		t.Error("the same nodes are indexed anew")
	}
	b.node("a", 7000)
	b.observe()
	if got := b.filter(strange("p", 1000), "a", "b"); got["a"] != tooHot || got["b"] != keep {
		t.Errorf("after a node came: %v", got)
	}
}

// A node that a taint closes is no longer a destination, neither for a move that was planned to it
// nor for any other move. Other pods may go there but do not prefer it. If the policy drops the
// taint, the node is open at once.
func TestTaintsCloseNodes(t *testing.T) {
	var config observer.Config
	b := newBridge(t, func(c *observer.Config) {
		c.Taints = cluster.TaintRule{Leaving: []string{"drained"}, Closing: []string{"candidate"}}
		config = *c
	})
	b.node("coolest", 1000)
	b.node("cool", 2000)
	b.node("hot", 7000)
	b.record(1, "hot", "coolest")
	for _, taint := range []string{"candidate", "drained"} {
		b.taint("coolest", taint)
		b.observe()
		want := map[string]extender.Reject{"coolest": notThere, "cool": keep, "hot": notThere}
		if diff := cmp.Diff(want, b.filter(webPod("new"), "coolest", "cool", "hot")); diff != "" {
			t.Errorf("%s: replacement (-want +got):\n%s", taint, diff)
		}
		want = map[string]extender.Reject{"coolest": keep, "cool": keep, "hot": tooHot}
		if diff := cmp.Diff(want, b.filter(strange("p", 100), "coolest", "cool", "hot")); diff != "" {
			t.Errorf("%s: another pod (-want +got):\n%s", taint, diff)
		}
		if scores := b.prioritize(strange("p", 100), "coolest", "cool", "hot"); scores["coolest"] != 0 || scores["cool"] == 0 {
			t.Errorf("%s: scores %v", taint, scores)
		}
	}
	config.Taints = cluster.TaintRule{}
	if err := b.observer.Reconfigure(config); err != nil {
		t.Fatal(err)
	}
	if scores := b.prioritize(strange("q", 100), "coolest", "cool", "hot"); scores["coolest"] != scorer.MaxScore {
		t.Errorf("without the rule: scores %v", scores)
	}
}
