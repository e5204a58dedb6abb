package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/strategies"
)

// percentOfCPU returns usage of CPU and some memory.
func percentOfCPU(percent int64) cluster.Amounts { return cluster.Amounts{10 * percent, 100} }

// fullPlan returns the moves of a plan in which moves must save enough hot time.
func fullPlan(in Input) (moves []string) {
	shipped().on(in.Nodes)
	in.MinHotMinutesSaved, in.MinGainPercent = 10, 0.5
	for _, m := range New(in).Moves {
		moves = append(moves, m.Name+": "+m.From+" -> "+m.To)
	}
	return moves
}

// A node from which pods are moved gets none in the same plan. Neither does a full node, least of
// all the pod's own, even if some of its usage is about to leave.
func TestSourcesAcceptNoPods(t *testing.T) {
	full := func() Node {
		return saturating(hot("full", percentOfCPU(0), pods(5, "p", percentOfCPU(20), wanting(100))...))
	}
	leaving := full()
	leaving.Predicted = percentOfCPU(65)
	for name, tc := range map[string]struct {
		nodes   []Node
		refuses []string
		want    []string
	}{
		"one that is cooled": {
			nodes:   []Node{cool("c", percentOfCPU(53)), full(), hot("h", percentOfCPU(64), pod("q", percentOfCPU(4))), hot("busy", percentOfCPU(96))},
			refuses: []string{"p0@c", "p1@c", "p2@c", "p3@c", "p4@c"},
			want:    []string{"q: h -> c"},
		},
		"its own node": {nodes: []Node{leaving, hot("busy", percentOfCPU(96)), hot("busy2", percentOfCPU(96))}},
	} {
		t.Run(name, func(t *testing.T) {
			got := fullPlan(Input{Nodes: tc.nodes, Placement: &refusing{pairs: tc.refuses}})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("moves (-want +got):\n%s", diff)
			}
		})
	}
}

// A pod that leaves a full node for one that is not cool must use some of the resource, and must
// have run on the full node for as long as moves are judged ahead.
func TestWhichPodsLeaveAFullNode(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	old, young := now.Add(-forecast.Horizon), now.Add(time.Minute-forecast.Horizon)
	for name, tc := range map[string]struct {
		uses    int64
		created time.Time
		moves   bool
	}{
		"a pod that has run for hours": {200, old, true},
		"a young pod":                  {200, young, false},
		"an idle pod":                  {0, old, false},
		"a pod below nothing":          {-10, old, false},
	} {
		t.Run(name, func(t *testing.T) {
			source := hot("full", percentOfCPU(0), pod("p", cluster.Amounts{tc.uses, 10}), pod("huge", percentOfCPU(100), wanting(300)))
			source.Pods[0].Created = tc.created
			got := fullPlan(Input{
				Nodes:     []Node{saturating(source), warm(cool("w", percentOfCPU(55))), hot("busy", percentOfCPU(96))},
				Placement: &refusing{}, At: now,
			})
			if moves := len(got) > 0; moves != tc.moves {
				t.Errorf("moves %v", got)
			}
		})
	}
}

// The demand on a node is assumed to exceed its pods' peaks only if the node has been full for
// hours. If it has not been, the peaks show all of the demand.
func TestPeaksShowTheDemandOfNodesThatWereNotFull(t *testing.T) {
	for _, tc := range []struct {
		hours int64 // the expected usage of the node in the last span, in percent
		moves int
	}{{93, 0}, {98, 1}} {
		in := Input{
			Nodes:     []Node{saturating(hot("full", percentOfCPU(0), pods(5, "p", percentOfCPU(20))...)), warm(cool("w", percentOfCPU(55))), hot("busy", percentOfCPU(96))},
			Placement: &refusing{}, MinHotMinutesSaved: 10,
		}
		shipped().on(in.Nodes)
		in.Nodes[0].Load = forecast.Load{}
		in.Nodes[0].Load.Shift(10 * tc.hours)
		if got := New(in).Moves; len(got) != tc.moves {
			t.Errorf("%d%% for hours: %d moves, want %d", tc.hours, len(got), tc.moves)
		}
	}
}

// Of pods that cost the same, the one that frees the most leaves first.
func TestLargestPodsLeaveAFullNode(t *testing.T) {
	var all []strategies.Pod
	for i := range 40 {
		used := int64(5 + i)
		all = append(all, pod(fmt.Sprintf("p%02d", i), cluster.Amounts{used, 1}, wanting(used/3)))
	}
	got := fullPlan(Input{
		Nodes:     []Node{saturating(hot("full", percentOfCPU(0), all...)), warm(cool("w", percentOfCPU(40))), hot("busy", percentOfCPU(96))},
		Placement: &refusing{},
	})
	want := []string{"p39: full -> w", "p38: full -> w", "p37: full -> w"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("moves (-want +got):\n%s", diff)
	}
}
