package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// large is the size of a node with 64 cores, so that an amount of 640 is one percent of its CPU.
var large = cluster.Amounts{64_000, 1 << 40}

// dense returns one hot node whose pods together have this usage, beside empty nodes, with the
// shipped policy.
func dense(used int64, pods, empty int, change ...func(*strategies.Pod)) Input {
	crowded := Node{Name: "crowded", Allocatable: large, State: thresholds.Hot, ByCPU: true}
	for i := range pods {
		p := pod(fmt.Sprintf("p%03d", i), cluster.Amounts{used / int64(pods), 64 << 20}, change...)
		p.Pod = &cluster.Pod{UID: "uid-" + p.Name, Namespace: "ns", Name: p.Name, Node: crowded.Name}
		crowded.Pods, crowded.Current = append(crowded.Pods, p), crowded.Current.Plus(p.Usage)
	}
	crowded.Predicted = crowded.Current
	nodes := []Node{crowded}
	for i := range empty {
		nodes = append(nodes, Node{Name: fmt.Sprintf("empty-%d", i), Allocatable: large, State: thresholds.Cool})
	}
	return Input{Nodes: shipped().on(nodes), Placement: anywhere{}, MinHotMinutesSaved: 10, MinGainPercent: 0.5}
}

// stays returns the usage of the hot node of a dense input after a plan, in percent.
func stays(in *Input, plan *strategies.Plan) float64 {
	left := in.Nodes[0].Current[cluster.CPU]
	for i := range plan.Moves {
		left -= plan.Moves[i].Usage[cluster.CPU]
	}
	return 100 * float64(left) / float64(large[cluster.CPU])
}

// A node that will stay hot is cooled with as few moves as possible, however many pods it has and
// however hot it is. This holds even for pods that cost up to six times as much as a plain one, and
// even if all of them were moved to the node within a day.
func TestLastingHeatIsWorthRelief(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for i := range 400 {
		pods, load, quarters := 1+rng.IntN(500), 71+rng.Int64N(60), 4+rng.IntN(21)
		switch i % 8 { // includes the corner cases
		case 0:
			pods = 500
		case 1:
			pods = 1 + rng.IntN(30)
		case 2:
			quarters = 24
		case 3:
			load = 71
		}
		moved := rng.IntN(2) == 0
		in := dense(load*640, pods, 4, costing(quarters), func(p *strategies.Pod) { p.Disruption.Again = moved })
		plan := New(in)
		var got string
		each := in.Nodes[0].Pods[0].Usage[cluster.CPU]
		switch fewest := int((in.Nodes[0].Need[cluster.CPU] + each - 1) / each); {
		case each > in.Nodes[1].Ceiling[cluster.CPU]: // no node has space for such a pod
			continue
		case len(plan.Moves) != fewest:
			got = fmt.Sprintf("%d moves, the fewest are %d", len(plan.Moves), fewest)
		case stays(&in, &plan) > 65:
			got = fmt.Sprintf("it stays at %.1f%%", stays(&in, &plan))
		default:
			continue
		}
		if plan.Nodes[0].Reason == reasons.NoLanding && pods < 4 {
			continue // pods of a third of a node do not fit together
		}
		t.Errorf("%d pods of %d quarters, moved lately %v, at %d%%: %s: %s", pods, quarters, moved, load, got, plan.Nodes[0].Reason)
		if len(plan.Declined) > 0 {
			t.Log(plan.Declined[0].Detail)
		}
	}
}

// A node must not stay hot just because its pods are small.
func TestNodesOfSmallPodsAreCooled(t *testing.T) {
	for _, pods := range []int{10, 139, 150, 250, 500} {
		in := dense(70*640, pods, 1)
		plan := New(in)
		each := in.Nodes[0].Pods[0].Usage[cluster.CPU]
		if want := int((in.Nodes[0].Need[cluster.CPU] + each - 1) / each); len(plan.Moves) != want || stays(&in, &plan) > 65 {
			t.Errorf("%d pods: %d moves, want %d; it stays at %.1f%%: %s", pods, len(plan.Moves), want, stays(&in, &plan), plan.Nodes[0].Reason)
		}
	}
}

// Heat that lasts for minutes justifies no moves, however small the pods and however hot the node.
func TestPeaksAreNotWorthReliefAtAnyDensity(t *testing.T) {
	for _, pods := range []int{10, 30, 60, 110, 250, 500} {
		for _, load := range []int64{80, 100, 130} {
			for _, minutes := range []uint32{2, 5, 8} {
				in := dense(load*640, pods, 4)
				n := &in.Nodes[0]
				each := n.Pods[0].Usage[cluster.CPU]
				expected := was(each*30/load, each, minutes)
				n.Load = forecast.Load{}
				for i := range n.Pods {
					n.Pods[i].Expected = expected
					n.Load.Add(expected)
				}
				plan := New(in)
				if len(plan.Moves) > 0 || n.HotMinutes() == 0 && load > 100 {
					t.Errorf("%d pods, %d minutes at %d%%: %d moves for %.0f hot minutes", pods, minutes, load, len(plan.Moves), n.HotMinutes())
				}
				if !slices.ContainsFunc(plan.Declined, func(d strategies.Declined) bool { return d.Reason == reasons.NotWorthwhile }) {
					t.Errorf("%d pods, %d minutes at %d%%: nothing is declined for that", pods, minutes, load)
				}
			}
		}
	}
}

// One sentence explains why moves are not worthwhile.
func TestNotWorthwhileInWords(t *testing.T) {
	in := dense(75*640, 100, 4, costing(200))
	plan := New(in)
	if len(plan.Declined) == 0 {
		t.Fatalf("%d moves, nothing is declined", len(plan.Moves))
	}
	want := "14 moves would cool the node: they save 166 hot minutes within 4 hours, weighted to 286 by how far it is above its evict line; " +
		"the disruption they cause requires 1050"
	if got := plan.Declined[0].Detail; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
