package strategies

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/reasons"
)

// says is a Basis that gives the same answers about every pod.
type says struct {
	reason reasons.Reason
	detail string
	node   *NodeBasis
}

func (s says) Node(string) *NodeBasis                      { return s.node }
func (s says) Stays(*cluster.Pod) (reasons.Reason, string) { return s.reason, s.detail }

// The plans of a profile's strategies are shown as one plan: each pod moves once, and nodes change
// by the moves of all strategies.
func TestPlansOfSeveralStrategiesAreOne(t *testing.T) {
	pod := func(uid string) Pod { return Pod{Pod: &cluster.Pod{UID: uid}} }
	first := Made{
		Plan: Plan{
			Moves:    []Move{{Pod: pod("a"), To: "x"}},
			Declined: []Declined{{Pod: pod("b"), Reason: reasons.MoveLimit}, {Pod: pod("c"), Reason: reasons.MoveLimit}},
			Nodes:    []NodeReport{{Name: "x", Before: cluster.Percents{10, 10}, After: cluster.Percents{20, 15}, Reason: reasons.NoLanding}},
		},
		Basis: says{reason: reasons.NodeNotHot, detail: "one"},
	}
	second := Made{
		Plan: Plan{
			Moves: []Move{{Pod: pod("a"), To: "y"}, {Pod: pod("b"), To: "x"}},
			Nodes: []NodeReport{{Name: "x", Before: cluster.Percents{12, 12}, After: cluster.Percents{17, 13}}, {Name: "y"}},
		},
		Basis: says{reason: reasons.NotPreferred, detail: "two"},
	}
	got := MergeStudies([]Study{{Made: first}, {Made: second}}).Made
	want := Plan{
		Moves:    []Move{{Pod: pod("a"), To: "x"}, {Pod: pod("b"), To: "x"}},
		Declined: []Declined{{Pod: pod("c"), Reason: reasons.MoveLimit}},
		Nodes: []NodeReport{
			{Name: "x", Before: cluster.Percents{10, 10}, After: cluster.Percents{25, 16}, Reason: reasons.NoLanding}, {Name: "y"},
		},
	}
	if diff := cmp.Diff(want, got.Plan); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if why, words := got.Basis.Stays(nil); why != reasons.NodeNotHot || words != "one; two" {
		t.Errorf("a pod stays for %s: %s", why, words)
	}
	if node := got.Basis.Node("x"); node != nil {
		t.Errorf("node %+v", node)
	}
	first.Closed = "numberOfNodes"
	if together := TogetherMade([]Made{first, second}); together.Closed != "" {
		t.Errorf("closed by one of two: %s", together.Closed)
	}
}

// If a strategy considers a pod but does not move it, its reason is shown, not that of a strategy
// to which the pod does not matter.
func TestAPodThatAStrategyIsAboutIsNotSpared(t *testing.T) {
	made := TogetherMade([]Made{{Basis: says{reason: reasons.NodeNotHot}}, {Basis: says{node: &NodeBasis{Name: "n"}}}})
	if why, _ := made.Basis.Stays(nil); why != "" {
		t.Errorf("it stays for %s", why)
	}
	if node := made.Basis.Node("n"); node == nil || node.Name != "n" {
		t.Errorf("node %+v", node)
	}
}

// The destinations shown are those of the strategy that moves the pod.
func TestLandingsComeFromTheMovingStrategy(t *testing.T) {
	asked := &Pod{Pod: &cluster.Pod{UID: "a"}}
	moves := Study{Made: Made{Plan: Plan{Moves: []Move{{Pod: *asked}}}}, Pod: asked, Landings: []Landing{{Node: "mover"}}}
	stays := Study{Pod: asked, Landings: []Landing{{Node: "other"}}}
	for _, studies := range [][]Study{{moves, stays}, {stays, moves}} {
		if got := MergeStudies(studies).Landings; len(got) != 1 || got[0].Node != "mover" {
			t.Errorf("landings %+v", got)
		}
	}
}
