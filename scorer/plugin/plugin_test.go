package plugin

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/scorer"
)

const (
	hotMessage     = "node real usage above the reject line"
	sourceMessage  = "pod was just evicted from this node"
	landingMessage = "evenkeel planned another node for this pod"
	otherMessage   = "another plugin"
)

func (s *stand) want(o outcome, feasible []string, refused map[string]string) {
	s.t.Helper()
	if diff := cmp.Diff(feasible, o.feasible); diff != "" {
		s.t.Errorf("feasible (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(refused, o.refused); diff != "" {
		s.t.Errorf("refused (-want +got):\n%s", diff)
	}
}

// Nodes above the reject line of 60 % are refused as long as another node accepts the pod. Only
// nodes that pass the other filters count as such.
func TestHotNodesAreRefusedWhileOthersTakeThePod(t *testing.T) {
	cases := map[string]struct {
		others   func(node string) bool
		feasible []string
		refused  map[string]string
	}{
		"all nodes would do":              {nil, []string{"cool", "silent", "warm"}, map[string]string{"hot": hotMessage, "hotter": hotMessage}},
		"only hot nodes would do":         {func(n string) bool { return n == "hot" || n == "hotter" }, []string{"hot", "hotter"}, map[string]string{"cool": otherMessage, "silent": otherMessage, "warm": otherMessage}},
		"one hot node and an unknown one": {func(n string) bool { return n == "hot" || n == "silent" }, []string{"silent"}, map[string]string{"cool": otherMessage, "hot": hotMessage, "hotter": otherMessage, "warm": otherMessage}},
		"no node would do":                {func(string) bool { return false }, nil, map[string]string{"cool": otherMessage, "hot": otherMessage, "hotter": otherMessage, "silent": otherMessage, "warm": otherMessage}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStand(t)
			s.node("hot", 7000)
			s.node("cool", 2000)
			s.node("hotter", 9000)
			s.node("warm", 5500)
			s.node("silent", -1)
			s.observe()
			s.others = tc.others
			s.want(s.schedule(strange("p", "500m")), tc.feasible, tc.refused)
		})
	}
}

// If no node is hot, the other filters are not run.
func TestOtherFiltersAreAskedOnlyForARefusal(t *testing.T) {
	s := newStand(t)
	for _, name := range []string{"a", "b", "c"} {
		s.node(name, 2000)
	}
	s.observe()
	s.schedule(strange("p", "100m"))
	if len(s.probed) > 0 {
		t.Errorf("the other filters were asked about %q", s.probed)
	}
	s.node("hot", 9000)
	s.observe()
	s.schedule(strange("q", "100m"))
	if n := len(s.probed); n == 0 || n > 4 {
		t.Errorf("the other filters were asked about %q, want at most four nodes once", s.probed)
	}
}

// Scores are spread over the nodes of the pod, from 0 to 100.
//
//	cool 20 + 5 = 25 % is the coolest: 100; warm 45 + 5 = 50 % the hottest: 0; middle 40 % in between:
//	100·(50−40)/(50−25) = 40. The load is (cpu + (cpu+memory)/2)/2 with memory at 0, which scales all alike.
func TestScores(t *testing.T) {
	s := newStand(t)
	s.node("cool", 2000)
	s.node("middle", 3500)
	s.node("warm", 4500)
	s.node("silent", -1)
	s.observe()
	got := s.schedule(strange("p", "500m"))
	if diff := cmp.Diff(map[string]int64{"cool": 100, "middle": 40, "warm": 0, "silent": 40}, got.scores); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
}

// From Reserve on, a pod counts on its node, so the next pod sees it. Unreserve removes it.
func TestReserveCountsAtOnce(t *testing.T) {
	s := newStand(t)
	s.node("a", 2000)
	s.node("b", 2300)
	s.observe()
	first := s.schedule(strange("p", "500m"))
	if s.predicted("a") != 2000 {
		t.Errorf("a is reckoned with %dm before anything was chosen", s.predicted("a"))
	}
	if first.scores["a"] <= first.scores["b"] {
		t.Errorf("scores %v, want a preferred", first.scores)
	}
	s.Reserve(t.Context(), first.cycle, strange("p", "500m"), "a")
	if s.predicted("a") != 2500 {
		t.Errorf("a is reckoned with %dm, want 2500m", s.predicted("a"))
	}
	if second := s.schedule(strange("q", "500m")); second.scores["b"] <= second.scores["a"] {
		t.Errorf("scores %v, want b preferred now", second.scores)
	}
	s.Unreserve(t.Context(), first.cycle, strange("p", "500m"), "a")
	s.Unreserve(t.Context(), first.cycle, strange("p", "500m"), "a") // kube-scheduler may call it twice
	if s.predicted("a") != 2000 {
		t.Errorf("a is reckoned with %dm after Unreserve, want 2000m", s.predicted("a"))
	}
}

// A replacement is accepted only on its planned node, and the move is booked there when that node
// is reserved.
func TestReplacementLandsAsPlanned(t *testing.T) {
	s := newStand(t)
	s.node("from", 5000)
	s.node("to", 3000)
	s.node("cooler", 1000)
	s.observe()
	uid := s.record(1, "from", "to")
	s.observer.Store().SetPod(webPod("new"))
	got := s.schedule(webPod("new"))
	s.want(got, []string{"to"}, map[string]string{"from": landingMessage, "cooler": landingMessage})
	if move, _ := s.observer.Ledger().Get(uid); move.State == ledger.Booked || move.Attempts != 0 {
		t.Errorf("the move is %s after %d attempts, want nothing booked before Reserve", move.State, move.Attempts)
	}
	s.Reserve(t.Context(), got.cycle, webPod("new"), "to")
	move, _ := s.observer.Ledger().Get(uid)
	if move.State != ledger.Booked || move.Node != "to" || move.Replacement != "new" || !move.Asked {
		t.Errorf("move %+v, want it booked on to for new", move)
	}
	s.Unreserve(t.Context(), got.cycle, webPod("new"), "to")
	if again := s.schedule(webPod("new")); !slices.Equal(again.feasible, []string{"to"}) {
		t.Errorf("asked again it may go to %v, want to", again.feasible)
	}
}

// If the planned node is unsuitable, a replacement goes to the coolest node that accepts it, and
// never back as long as another node is suitable.
func TestReplacementLandsElsewhere(t *testing.T) {
	cases := map[string]struct {
		others   func(node string) bool
		feasible []string
	}{
		"the planned node no longer accepts it": {func(n string) bool { return n != "to" }, []string{"cooler"}},
		"nor does the coolest":                  {func(n string) bool { return n != "to" && n != "cooler" }, []string{"warm"}},
		"only its old node and a hot one":       {func(n string) bool { return n == "from" || n == "hot" }, []string{"from", "hot"}},
		"only an unknown node besides its own":  {func(n string) bool { return n == "from" || n == "silent" }, []string{"silent"}},
		"only its old node":                     {func(n string) bool { return n == "from" }, []string{"from"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStand(t)
			s.node("from", 3000)
			s.node("to", 3000)
			s.node("cooler", 1000)
			s.node("warm", 4000)
			s.node("hot", 8000)
			s.node("silent", -1)
			s.observe()
			s.others = tc.others
			s.record(1, "from", "to")
			if got := s.schedule(webPod("new")); !slices.Equal(got.feasible, tc.feasible) {
				t.Errorf("it may go to %q, want %q; refused: %v", got.feasible, tc.feasible, got.refused)
			}
		})
	}
}

// After one of an owner's pods was moved off a node, further pods of that owner are kept off it.
func TestSourceIsAvoided(t *testing.T) {
	s := newStand(t)
	s.node("from", 2000)
	s.node("to", 3000)
	s.observe()
	uid := s.record(1, "from", "to")
	s.observer.Ledger().Bound(ledger.Pod{UID: "new", Namespace: "ns", OwnerUID: "rs-1", OwnerKind: "ReplicaSet", TemplateHash: "h1"}, "to", s.now)
	if move, _ := s.observer.Ledger().Get(uid); move.State != ledger.Landed {
		t.Fatalf("the move is %s", move.State)
	}
	s.want(s.schedule(webPod("another")), []string{"to"}, map[string]string{"from": sourceMessage})
}

// Before usage is known, and if there is no Answerer, every node passes and none is preferred.
func TestNeutralWithoutData(t *testing.T) {
	for name, change := range map[string]func(*stand){
		"no observation yet": func(*stand) {},
		"nobody to ask":      func(s *stand) { s.side = &half{} },
		"no node measured":   func(s *stand) { s.used = map[string]int64{}; s.observe() },
		"usage is stale":     func(s *stand) { s.observe(); s.used = map[string]int64{}; s.observe() },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t)
			s.node("a", 9000)
			s.node("b", 1000)
			change(s)
			got := s.schedule(strange("p", "100m"))
			s.want(got, []string{"a", "b"}, map[string]string{})
			if got.scores["a"] != got.scores["b"] {
				t.Errorf("scores %v, want none preferred", got.scores)
			}
			if status := s.Reserve(t.Context(), got.cycle, strange("p", "100m"), "a"); !status.IsSuccess() {
				t.Errorf("Reserve: %v", status)
			}
			s.Unreserve(t.Context(), got.cycle, strange("p", "100m"), "a")
		})
	}
}

// A profile may enable only score, or only filter and score. A cycle that PreFilter has not opened
// is then opened once, by the first call.
func TestPartsOfThePlugin(t *testing.T) {
	s := newStand(t)
	s.node("hot", 7000)
	s.node("cool", 2000)
	s.node("warm", 4000)
	s.observe()
	alone := outcome{cycle: &cycleState{}, feasible: []string{"cool", "hot", "warm"}}
	if diff := cmp.Diff(map[string]int64{"cool": 100, "warm": 0, "hot": 0}, s.score(strange("p", "500m"), alone)); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
	asked := s.answerer.Asked()
	both := outcome{cycle: &cycleState{}, refused: map[string]string{}}
	s.filter(strange("q", "500m"), &both, false)
	both.scores = s.score(strange("q", "500m"), both)
	s.want(both, []string{"cool", "warm"}, map[string]string{"hot": hotMessage})
	if s.answerer.Asked() != asked+1 {
		t.Errorf("%d cycles were opened for one pod", s.answerer.Asked()-asked)
	}
}

// If only the plugin scores, pods are spread over equal nodes, because nothing else distinguishes
// these.
func TestEqualNodesTakeTurns(t *testing.T) {
	for name, tc := range map[string]struct{ used, worse int64 }{
		"two of three are the best": {2000, 6000},
		"all are alike":             {2000, 2000},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t, scorer.Config{Measured: &scorer.Measured{
				Formula: scorer.FormulaMinMax, Terms: []scorer.Term{{Window: usage.Avg5m, Weight: 1}},
			}})
			s.node("a", tc.used)
			s.node("b", tc.worse)
			s.node("c", tc.used)
			s.observe()
			s.parts = true
			best := map[string]int{}
			for i := range 60 {
				scores := s.schedule(strange(fmt.Sprint("pod-", i), "100m")).scores
				top, winners := max(scores["a"], scores["b"], scores["c"]), 0
				for node, score := range scores {
					if score == top {
						best[node]++
						winners++
					}
				}
				if winners != 1 || max(scores["a"], scores["c"])-min(scores["a"], scores["c"]) > 1 {
					t.Fatalf("scores %v, want one of equals a point above the others", scores)
				}
			}
			if best["a"] < 10 || best["c"] < 10 || (best["b"] > 0) != (tc.worse == tc.used) {
				t.Errorf("the best by pods: %v", best)
			}
		})
	}
}

// Preemption runs the filters again on copies of the state, for nodes without some of their pods.
// That has no effect on the results.
func TestCopiesOfTheStateAgree(t *testing.T) {
	s := newStand(t)
	s.node("hot", 7000)
	s.node("cool", 2000)
	s.observe()
	got := s.schedule(strange("p", "100m"))
	copied := outcome{cycle: got.cycle.Clone(), refused: map[string]string{}}
	s.filter(strange("p", "100m"), &copied, false)
	s.want(copied, got.feasible, got.refused)
}

// With rejectAll, a pod waits with the policy's message if every node is above a measured limit.
func TestRejectAll(t *testing.T) {
	limit := scorer.Config{Measured: &scorer.Measured{
		Formula: scorer.FormulaCrane, Limits: []scorer.Limit{{Window: usage.Avg5m, Percent: 50}},
	}}
	for name, tc := range map[string]struct {
		rejectAll bool
		feasible  []string
		refused   map[string]string
	}{
		"waits":     {true, nil, map[string]string{"a": "too much load", "b": "too much load"}},
		"is placed": {false, []string{"a", "b"}, map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t, limit)
			s.node("a", 7000)
			s.node("b", 8000)
			s.observe()
			s.side = &half{answerer: s.answerer, message: "too much load", all: tc.rejectAll}
			s.want(s.schedule(strange("p", "100m")), tc.feasible, tc.refused)
			daemon := strange("d", "100m")
			daemon.OwnerReferences = webPod("").OwnerReferences
			daemon.OwnerReferences[0].Kind = "DaemonSet"
			s.want(s.schedule(daemon), []string{"a", "b"}, map[string]string{})
		})
	}
}

// Pods may be placed while observations change.
func TestConcurrentCycles(t *testing.T) {
	s := newStand(t)
	for i, used := range []int64{1000, 3000, 5900, 6100, 8000, 2000} {
		s.node(string(rune('a'+i)), used)
	}
	s.observe()
	var placing sync.WaitGroup
	for k := range 4 {
		placing.Go(func() {
			for i := range 25 {
				pod := strange(string(rune('A'+k))+string(rune('a'+i)), "100m")
				got := s.schedule(pod)
				if len(got.feasible) == 0 {
					t.Error("no node is left")
					return
				}
				s.Reserve(t.Context(), got.cycle, pod, got.feasible[0])
				if i%2 == 0 {
					s.Unreserve(t.Context(), got.cycle, pod, got.feasible[0])
				}
			}
		})
	}
	placing.Wait()
}

// The plugin registers the events that may make a refused pod schedulable. Otherwise such a pod
// would wait indefinitely.
func TestEventsAreRegistered(t *testing.T) {
	events, err := (&Plugin{}).EventsToRegister(t.Context())
	if err != nil || len(events) == 0 {
		t.Fatalf("events %v, %v: a refused pod would wait forever", events, err)
	}
	for _, event := range events {
		if event.Event.ActionType == 0 {
			t.Errorf("event %+v has no action", event)
		}
	}
}

// kube-scheduler may reuse a result for the next pod of the same template. Pods that differ in what
// the plugin looks at have different signatures. A possible replacement has none, nor has any pod if
// equal nodes take turns.
func TestOnlyAlikePodsShareASignature(t *testing.T) {
	s := newStand(t)
	s.node("a", 2000)
	s.observe()
	sign := func(pod *v1.Pod) string {
		fragments, status := s.SignPod(t.Context(), pod)
		if !status.IsSuccess() {
			return status.Code().String()
		}
		text, err := json.Marshal(fragments)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	first := sign(webPod("x"))
	if second := sign(webPod("y")); first != second || !strings.Contains(first, "rs-1") {
		t.Errorf("two pods of a template: %s, %s", first, second)
	}
	for name, change := range map[string]func(*v1.Pod){
		"another owner":    func(pod *v1.Pod) { pod.OwnerReferences[0].UID = "rs-2" },
		"another revision": func(pod *v1.Pod) { pod.Labels["pod-template-hash"] = "h2" },
		"other requests": func(pod *v1.Pod) {
			pod.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("7")}}}}
		},
	} {
		other := webPod("z")
		if change(other); sign(other) == first {
			t.Errorf("%s: the same signature", name)
		}
	}
	s.record(1, "a", "b")
	if got := sign(webPod("x")); got != "Unschedulable" {
		t.Errorf("a possible replacement: %s", got)
	}
	stranger := webPod("s")
	stranger.OwnerReferences[0].UID = "rs-3"
	if got := sign(stranger); got == "Unschedulable" {
		t.Error("a pod of another owner has no signature while a move is in flight")
	}
	if s.parts = true; sign(stranger) != "Unschedulable" {
		t.Error("equal nodes take turns, and a result would be reused")
	}
}
