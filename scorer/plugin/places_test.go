package plugin

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// Checking all nodes at once and finding them by their objects gives the same result as checking
// each by name.
func TestJudgingAtOnceAgrees(t *testing.T) {
	refused := 0
	for seed := range uint64(120) {
		random := rand.New(rand.NewPCG(seed, 2))
		s := randomStand(t, random)
		pod := randomPod(random)
		byName := outcome{cycle: &cycleState{}, refused: map[string]string{}}
		s.filter(pod, &byName, false)
		byName.scores = s.score(pod, byName)
		// This prevents the use of state that another cycle has left.
		s.newest.Store(nil)
		atOnce := s.schedule(pod)
		if diff := cmp.Diff(byName.feasible, atOnce.feasible); diff != "" {
			t.Fatalf("seed %d: feasible (-by name +at once):\n%s", seed, diff)
		}
		if diff := cmp.Diff(byName.refused, atOnce.refused); diff != "" {
			t.Fatalf("seed %d: refused (-by name +at once):\n%s", seed, diff)
		}
		if diff := cmp.Diff(byName.scores, atOnce.scores); diff != "" {
			t.Fatalf("seed %d: scores (-by name +at once):\n%s", seed, diff)
		}
		refused += len(atOnce.refused)
	}
	if refused == 0 {
		t.Error("no node was ever refused")
	}
}

// While nodes come, go and change, each is judged by its own usage, whatever was found for earlier
// nodes.
func TestNodesThatComeAndChange(t *testing.T) {
	s := newStand(t)
	s.node("hot", 9000)
	s.node("cool", 1000)
	s.observe()
	want := func(feasible []string, refused map[string]string) {
		t.Helper()
		s.want(s.schedule(strange("p", "100m")), feasible, refused)
	}
	want([]string{"cool"}, map[string]string{"hot": hotMessage})
	for _, info := range s.nodes { // all objects are replaced, for example by a heartbeat
		info.(*nodeInfo).node = info.Node().DeepCopy()
	}
	want([]string{"cool"}, map[string]string{"hot": hotMessage})
	s.node("also-hot", 9000) // the board does not know it yet
	want([]string{"also-hot", "cool"}, map[string]string{"hot": hotMessage})
	s.observe()
	want([]string{"cool"}, map[string]string{"hot": hotMessage, "also-hot": hotMessage})
	s.nodes = slices.Clone(s.nodes[1:])
	want([]string{"cool"}, map[string]string{"also-hot": hotMessage})
}

// Nodes that are asked about but not in the list count like the others.
func TestNodesOutsideOfTheList(t *testing.T) {
	s := newStand(t)
	s.node("hot", 9000)
	s.node("cool", 1000)
	s.observe()
	pod, cycle := strange("p", "100m"), &cycleState{}
	s.PreFilter(t.Context(), cycle, pod, s.nodes[1:])
	if s.Filter(t.Context(), cycle, pod, s.nodes[0]).IsSuccess() {
		t.Error("a hot node passes")
	}
}

// Filter is called only if some node is refused.
func TestFilterIsSkippedWhereNothingIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		used map[string]int64
		skip bool
	}{
		"all cool": {map[string]int64{"a": 1000, "b": 2000}, true},
		"one hot":  {map[string]int64{"a": 1000, "b": 9000}, false},
		"unknown":  {map[string]int64{"a": -1}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t)
			for node, used := range tc.used {
				s.node(node, used)
			}
			s.observe()
			if _, status := s.PreFilter(t.Context(), &cycleState{}, strange("p", "100m"), s.nodes); status.IsSkip() != tc.skip {
				t.Errorf("PreFilter returns %v, want to skip: %v", status, tc.skip)
			}
		})
	}
}

// Places are rebuilt when many objects are new, because their names then have to be looked up
// often, but not for each pod.
func TestPlacesAreKept(t *testing.T) {
	s := newStand(t)
	for i := range 32 {
		used := int64(1000)
		if i == 0 {
			used = 9000
		}
		s.node(fmt.Sprintf("node-%02d", i), used)
	}
	s.observe()
	s.schedule(strange("p", "100m"))
	first := s.places.newest.Load()
	s.observe()
	s.schedule(strange("q", "100m"))
	if s.places.newest.Load() != first {
		t.Error("the same nodes were looked up anew")
	}
	for _, info := range s.nodes[:8] {
		info.(*nodeInfo).node = info.Node().DeepCopy()
	}
	s.schedule(strange("r", "100m"))
	s.schedule(strange("s", "100m"))
	if s.places.newest.Load() == first {
		t.Error("places of nodes that no longer exist are kept")
	}
}

// NormalizeScore scores nodes by name if they are not the nodes that PreScore saw.
func TestScoresOfOtherNodesThanPreScoreSaw(t *testing.T) {
	s := newStand(t)
	s.node("a", 1000)
	s.node("b", 3000)
	s.node("c", 5000)
	s.observe()
	pod, cycle := strange("p", "100m"), &cycleState{}
	s.PreFilter(t.Context(), cycle, pod, s.nodes)
	for name, left := range map[string][]fwk.NodeInfo{
		"in order":      s.nodes,
		"another order": {s.nodes[2], s.nodes[0], s.nodes[1]},
		"fewer":         s.nodes[:1],
		"none":          nil,
	} {
		t.Run(name, func(t *testing.T) {
			if status := s.PreScore(t.Context(), cycle, pod, left); !status.IsSuccess() {
				t.Fatalf("PreScore: %v", status)
			}
			scores := fwk.NodeScoreList{{Name: "a"}, {Name: "b"}, {Name: "c"}}
			s.NormalizeScore(t.Context(), cycle, pod, scores)
			if diff := cmp.Diff(fwk.NodeScoreList{{Name: "a", Score: 100}, {Name: "b", Score: 50}, {Name: "c"}}, scores); diff != "" {
				t.Errorf("scores (-want +got):\n%s", diff)
			}
		})
	}
}

// If no usage is known, there is nothing to score, unless ties have to be broken.
func TestScoringIsSkippedWhereNothingIsKnown(t *testing.T) {
	s := newStand(t)
	s.node("a", 1000)
	pod := []*v1.Pod{strange("p", "100m"), strange("q", "100m")}
	if status := s.PreScore(t.Context(), &cycleState{}, pod[0], s.nodes); !status.IsSkip() {
		t.Errorf("PreScore returns %v, want skip", status)
	}
	s.parts = true
	if status := s.PreScore(t.Context(), &cycleState{}, pod[1], s.nodes); !status.IsSuccess() {
		t.Errorf("PreScore of a plugin that breaks ties returns %v, want success", status)
	}
}
