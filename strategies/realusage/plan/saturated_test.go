package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/thresholds"
	"github.com/evenkeel/evenkeel/usage/forecast"
)

// saturating is a hot node that is asked for more CPU than it has.
func saturating(n Node) Node {
	n = overfull(n)
	n.Full, n.ByCPU = true, true
	return n
}

func warm(n Node) Node {
	n.State = thresholds.Warm
	return n
}

// Where the nodes are asked for more than keeps all of them at their evict lines, a full
// node is relieved to one that is asked for less: never to one that would be about as
// busy or nearly full, has no memory left, is closed or is not known.
func TestFullNodesAreComparedWithOthers(t *testing.T) {
	at := func(percent int64) cluster.Amounts { return cluster.Amounts{10 * percent, 100} }
	source := func(change ...func(*strategies.Pod)) Node {
		return saturating(hot("full", at(0), pods(5, "p", at(20), append(change, wanting(100))...)...)) // asked for 150 %
	}
	busy := hot("busy", at(96))
	var spare []Node
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		spare = append(spare, warm(cool(name, at(50))))
	}
	for name, tc := range map[string]struct {
		nodes   []Node
		refuses []string
		want    []string
	}{
		"to a warm node":           {nodes: []Node{source(), warm(cool("w", at(55))), busy}, want: []string{"p0: full -> w"}},
		"to a node that is hot":    {nodes: []Node{source(), hot("h", at(68)), busy}, want: []string{"p0: full -> h"}},
		"to the least busy":        {nodes: []Node{source(), hot("h", at(68)), hot("i", at(66)), busy}, want: []string{"p0: full -> i"}},
		"not to one nearly full":   {nodes: []Node{source(), hot("h", at(71)), busy}},
		"not to one that is full":  {nodes: []Node{source(), busy}},
		"not without memory":       {nodes: []Node{source(), hot("h", cluster.Amounts{600, 590}), busy}},
		"not to a closed node":     {nodes: []Node{source(), cool("c", at(60), closedFor("it is cordoned")), busy}},
		"not to an unknown node":   {nodes: []Node{source(), {Name: "u", Allocatable: thousand, State: thresholds.Unknown}, busy}},
		"not against a filter":     {nodes: []Node{source(), warm(cool("w", at(55))), busy}, refuses: []string{"*@w"}},
		"not while all could cool": {nodes: append(spare, source())},
		"not at any disruption":    {nodes: []Node{source(costing(400)), warm(cool("w", at(55))), busy}},
		"not refused pods":         {nodes: []Node{source(refused(reasons.JobPod)), warm(cool("w", at(55))), busy}},
		"not off a node that has what it is asked for": {
			nodes: []Node{hot("h", at(0), pods(4, "p", at(24))...), warm(cool("w", at(55))), busy},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Nodes: shipped().on(tc.nodes), Placement: &refusing{pairs: tc.refuses}, MinHotMinutesSaved: 10}
			plan := New(in)
			var got []string
			for _, m := range plan.Moves {
				got = append(got, m.Name+": "+m.From+" -> "+m.To)
				if m.Reason != reasons.NodeFull || m.Ceiling[cluster.CPU] != 900 {
					t.Errorf("pod %s is moved for %s, up to %v", m.Name, m.Reason, m.Ceiling)
				}
				if says := m.Sentence(nil); !strings.Contains(says, "asked for more CPU than it has") || strings.Contains(says, "is hot") {
					t.Errorf("its sentence is %q", says)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("moves (-want +got):\n%s", diff)
			}
			for _, d := range plan.Declined {
				for _, m := range plan.Moves {
					if d.Name == m.Name {
						t.Errorf("pod %s is moved and declined: %s", d.Name, d.Reason)
					}
				}
			}
			if in.Placement.(*refusing).moved["p0"] != "" {
				t.Error("the placement still counts a move of the plan")
			}
		})
	}
}

// After its moves are made, a plan makes none back: on few nodes, and until nothing is
// left to do, no pod moves twice.
func TestNoPodOfAFullNodeComesBack(t *testing.T) {
	for _, nodes := range []int{2, 3, 5} {
		usage := make([]map[string]int64, nodes) // by pod
		for i := range usage {
			usage[i] = map[string]int64{}
			for k := range 10 {
				usage[i][string(rune('a'+i))+string(rune('0'+k))] = int64(65 + 3*i)
			}
		}
		for k := range 10 {
			usage[nodes-1][string(rune('a'+nodes-1))+string(rune('0'+k))] = 150
		}
		moved := map[string]bool{}
		for range 50 {
			in := Input{Placement: &refusing{}, MinHotMinutesSaved: 10}
			for i, on := range usage {
				total := int64(0)
				for _, used := range on {
					total += used
				}
				var here []strategies.Pod
				for name, used := range on {
					served := used * min(total, 1000) / total
					here = append(here, pod(name, cluster.Amounts{served, 1}, wanting(used-served)))
				}
				node := hot(string(rune('A'+i)), cluster.Amounts{}, here...)
				if node.ByCPU = true; total > 970 {
					node = saturating(node)
				}
				if node.Current[cluster.CPU] <= 650 {
					node.State, node.Pods = thresholds.Warm, nil
				}
				in.Nodes = append(in.Nodes, node)
			}
			shipped().on(in.Nodes)
			for i := range in.Nodes {
				for k := range in.Nodes[i].Pods {
					in.Nodes[i].Pods[k].Expected = forecast.Constant(in.Nodes[i].Pods[k].Usage[cluster.CPU])
				}
			}
			plan := New(in)
			if len(plan.Moves) == 0 {
				break
			}
			for _, m := range plan.Moves {
				if moved[m.Name] {
					t.Fatalf("on %d nodes pod %s moves again, from %s to %s", nodes, m.Name, m.From, m.To)
				}
				moved[m.Name] = true
				from, to := usage[m.From[0]-'A'], usage[m.To[0]-'A']
				to[m.Name] = from[m.Name]
				delete(from, m.Name)
			}
		}
		if len(moved) == 0 {
			t.Errorf("on %d nodes nothing moves off one that is asked for 150 %%", nodes)
		}
	}
}
