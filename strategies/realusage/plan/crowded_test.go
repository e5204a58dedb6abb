package plan

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
)

// busy sets the usage of the cool nodes of a dense input, in percent.
func busy(in Input, percent ...int64) Input {
	for i, p := range percent {
		n := &in.Nodes[1+i]
		n.Predicted[cluster.CPU] = p * 640
		n.Load.Shift(n.Predicted[cluster.CPU])
	}
	return in
}

// A node may stay hot because the cool nodes cannot accept enough of its pods. It then gets as much
// relief as they have space for, if that is at least half of the excess. The same applies to a node
// that stays hot because of pods that must not be moved.
func TestCrowdedNodesGetWhatReliefThereIs(t *testing.T) {
	refuses := func(in Input, from, to int) Input { // filters refuse these pods everywhere
		var pairs []string
		for i := from; i < to; i++ {
			pairs = append(pairs, fmt.Sprintf("p%03d@*", i))
		}
		in.Placement = &refusing{pairs: pairs}
		return in
	}
	for name, tc := range map[string]struct {
		in    Input
		moves int
		note  reasons.Reason
	}{
		"room for 20 of 25 points":              {busy(dense(90*640, 90, 1), 40), 20, reasons.NoLanding},
		"on two nodes":                          {busy(dense(90*640, 90, 2), 50, 50), 20, reasons.NoLanding},
		"of many pods":                          {busy(dense(90*640, 450, 1), 40), 100, reasons.NoLanding},
		"at 130 %":                              {dense(130*640, 130, 1), 60, reasons.NoLanding},
		"of pods that cost as much as any":      {busy(dense(90*640, 90, 1, costing(31)), 40), 20, reasons.NoLanding},
		"exactly half":                          {busy(dense(75*640, 75, 1), 55), 5, reasons.NoLanding},
		"less than half":                        {busy(dense(73*640, 73, 1), 57), 0, reasons.NoLanding},
		"pods that filters keep where they are": {refuses(dense(90*640, 90, 1), 0, 70), 20, reasons.NoLanding},
		"too many of them":                      {refuses(dense(90*640, 90, 1), 0, 80), 0, reasons.NoLanding},
		"filters, and space for fewer than would relieve it":   {refuses(busy(dense(90*640, 90, 2), 45, 60), 0, 70), 15, reasons.NoLanding},
		"nodes that are asked for more than their lines allow": {busy(dense(90*640, 90, 1), 41), 0, reasons.NoLanding},
		"room for all": {busy(dense(90*640, 90, 1), 30), 25, ""},
	} {
		t.Run(name, func(t *testing.T) {
			plan := New(tc.in)
			if len(plan.Moves) != tc.moves || plan.Nodes[0].Reason != tc.note {
				t.Fatalf("%d moves, want %d; the node stays hot for %q, want %q", len(plan.Moves), tc.moves, plan.Nodes[0].Reason, tc.note)
			}
			for i := range plan.Moves {
				if plan.Moves[i].ToAfter[cluster.CPU] > 60 {
					t.Errorf("%s brings %s to %.1f%%", plan.Moves[i].Name, plan.Moves[i].To, plan.Moves[i].ToAfter[cluster.CPU])
				}
				for _, d := range plan.Declined {
					if d.UID == plan.Moves[i].UID {
						t.Errorf("%s is moved, and declined for %s", d.Name, d.Reason)
					}
				}
			}
			if tc.moves > 0 && tc.note != "" && plan.Moves[0].HotMinutesSaved <= 0 {
				t.Errorf("moves save %v hot minutes above the level that the node can get to", plan.Moves[0].HotMinutesSaved)
			}
		})
	}
}

// Nodes that can be cooled are given space first.
func TestCrowdedNodesComeLast(t *testing.T) {
	in := busy(dense(90*640, 90, 1), 35)
	second := dense(70*640, 70, 0).Nodes[0]
	second.Name = "second"
	for i := range second.Pods {
		record := *second.Pods[i].Pod
		record.Node, record.Name, record.UID = second.Name, "s"+record.Name, "s"+record.UID
		second.Pods[i].Pod = &record
	}
	in.Nodes = append(in.Nodes, second)
	from := map[string]int{}
	for _, m := range New(in).Moves {
		from[m.From]++
	}
	if from["second"] != 5 || from["crowded"] != 20 {
		t.Errorf("moves by their source: %v, want 5 that cool the second node, and 20 for which there is space then", from)
	}
}

// A node that stays hot because its other pods are too small is relieved of those that are large
// enough.
func TestNodesOfTinyPodsAreRelieved(t *testing.T) {
	in := dense(5*640, 101, 1)
	n := &in.Nodes[0]
	for i := range n.Pods {
		n.Pods[i].Usage[cluster.CPU] = 6
	}
	n.Pods[0].Usage[cluster.CPU] = 31 * 100 // 4.8 % of the node, plus 100 pods of a hundredth each
	tenant := pod("tenant", cluster.Amounts{70*640 - 3700, 1 << 30}, refused(reasons.DaemonSetPod))
	tenant.Pod = &cluster.Pod{UID: "tenant", Namespace: "ns", Name: "tenant", Node: n.Name}
	n.Pods = append(n.Pods, tenant)
	n.Current[cluster.CPU], n.Predicted[cluster.CPU] = 70*640, 70*640
	in.Nodes = asOf(shipped().on(in.Nodes), nil)
	plan := New(in)
	if len(plan.Moves) != 1 || plan.Moves[0].Name != "p000" || plan.Nodes[0].Reason != reasons.GainTooSmall {
		t.Errorf("%d moves, want that of the one pod that is not tiny; the node stays hot for %q", len(plan.Moves), plan.Nodes[0].Reason)
	}
}

// counting is a Placement that accepts every pod and counts the requested moves.
type counting struct {
	anywhere

	moves *int
}

func (c counting) Move(*cluster.Pod, string) (func(), error) {
	*c.moves++
	return func() {}, nil
}

// If the cool nodes have no space for the pods of a node, planning does not take time in proportion
// to the square of their number.
func TestPlansOfCrowdedNodesAreQuick(t *testing.T) {
	for name, costs := range map[string][]int{"alike": {4}, "of several costs": {4, 5, 6, 8, 9, 12}} {
		t.Run(name, func(t *testing.T) {
			moves, in := 0, busy(dense(130*640, 500, 2), 40, 44)
			for i := range in.Nodes[0].Pods {
				in.Nodes[0].Pods[i].Disruption.Quarters = costs[i%len(costs)]
			}
			in.Placement = counting{moves: &moves}
			New(in)
			if most := 10 * len(in.Nodes[0].Pods); moves > most {
				t.Errorf("pods were put on nodes %d times, at most %d are wanted", moves, most)
			}
		})
	}
}

// The reasons why pods of a hot node are not moved agree with the reason why the node stays hot.
func TestWhyPodsStayIsWhyTheirNodeDoes(t *testing.T) {
	nodes := []Node{cool("c", cluster.Amounts{}), hot("h", cluster.Amounts{550}, pods(3, "p", cluster.Amounts{100})...)}
	plan := New(Input{Nodes: shipped().on(nodes), Placement: &refusing{pairs: []string{"p1@c", "p2@c"}}})
	for _, d := range plan.Declined {
		if d.Reason != reasons.NoLanding || d.Name == "p0" && !strings.Contains(d.Detail, "a cool node would take it") {
			t.Errorf("%s is not moved for %s: %s", d.Name, d.Reason, d.Detail)
		}
	}
	if len(plan.Declined) != 3 || plan.Nodes[1].Reason != reasons.NoLanding || plan.Nodes[1].State != thresholds.Hot {
		t.Errorf("%v", described(plan))
	}
}

// Destinations without a ceiling have space, however many there are.
func TestRoomWithoutABound(t *testing.T) {
	in := dense(90*640, 90, 3)
	for i := range in.Nodes[1:] {
		in.Nodes[1+i].Ceiling[cluster.Memory] = math.MaxInt64
	}
	in.Nodes[0].Need[cluster.Memory] = 1 << 30
	if plan := New(in); len(plan.Moves) != 25 {
		t.Errorf("%d moves, want 25; the node stays hot for %q", len(plan.Moves), plan.Nodes[0].Reason)
	}
}
