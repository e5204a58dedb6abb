package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// Each node gets the first of the planner's reasons that applies, and the pod's
// own node none.
func TestLandings(t *testing.T) {
	asked := strategies.Pod{Pod: &cluster.Pod{UID: "u", Namespace: "ns", Name: "web", Node: "b"}, Usage: cluster.Amounts{100, 50}}
	warm := cool("warm", cluster.Amounts{500, 0})
	warm.State = thresholds.Warm
	in := Input{
		Nodes: shipped().on([]Node{
			cool("a", cluster.Amounts{200, 100}), hot("b", cluster.Amounts{900, 0}), cool("brim", cluster.Amounts{500, 0}),
			cool("cordoned", cluster.Amounts{100, 0}, closedFor("Cordoned")), cool("full", cluster.Amounts{501, 0}),
			cool("tainted", cluster.Amounts{100, 0}), warm,
		}),
		Placement: &refusing{pairs: []string{"web@tainted"}},
	}
	want := []strategies.Landing{
		{Node: "a", State: thresholds.Cool, Before: cluster.Percents{20, 10}, After: cluster.Percents{30, 15}},
		{Node: "brim", State: thresholds.Cool, Before: cluster.Percents{50, 0}, After: cluster.Percents{60, 5}},
		{Node: "cordoned", State: thresholds.Cool, Before: cluster.Percents{10, 0}, After: cluster.Percents{20, 5}, Refused: reasons.NodeClosed, Detail: "Cordoned"},
		{Node: "full", State: thresholds.Cool, Before: cluster.Percents{50.1, 0}, After: cluster.Percents{60.1, 5}, Refused: reasons.AboveRejectLine},
		{Node: "tainted", State: thresholds.Cool, Before: cluster.Percents{10, 0}, After: cluster.Percents{20, 5}, Refused: reasons.FilterRefuses, Detail: "NodeAffinity: does not match"},
		{Node: "warm", State: thresholds.Warm, Before: cluster.Percents{50, 0}, After: cluster.Percents{60, 5}, Refused: reasons.NodeNotCool, Detail: "it is warm"},
	}
	if diff := cmp.Diff(want, Landings(&in, &asked)); diff != "" {
		t.Errorf("landings (-want +got):\n%s", diff)
	}
	in.Placement = nil
	if got := Landings(&in, &asked)[4]; got.Refused != "" {
		t.Errorf("refused for %q without filters", got.Refused)
	}
}

// A pod that would be moved on its own has a landing that says so, and the
// planner's destination is among them.
func TestLandingsAgreeWithThePlan(t *testing.T) {
	in := Input{
		Nodes: shipped().on([]Node{
			cool("a", cluster.Amounts{450, 0}), cool("b", cluster.Amounts{300, 0}), hot("h", cluster.Amounts{600, 0}, pod("p", cluster.Amounts{200, 0})),
		}),
		Placement: &refusing{},
	}
	made := New(in)
	if len(made.Moves) != 1 {
		t.Fatalf("%d moves, want 1", len(made.Moves))
	}
	for _, l := range Landings(&in, &in.Nodes[2].Pods[0]) {
		if takes := l.Refused == ""; takes != (l.Node == made.Moves[0].To) {
			t.Errorf("node %s: takes the pod %v, planned is %s", l.Node, takes, made.Moves[0].To)
		}
	}
}
