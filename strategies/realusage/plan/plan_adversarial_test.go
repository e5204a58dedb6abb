package plan

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

func everyLine(v float64) levels {
	p := cluster.Percents{v, v}
	return levels{reject: p, evict: p}
}

// No input from a caller makes the planner panic, hang, or move pods that must not be moved.
func TestPlanAdversarial(t *testing.T) {
	inf := math.Inf(1)
	cases := map[string]struct {
		nodes []Node
		lines levels
		want  []string
	}{
		"no nodes": {lines: shipped()},
		"one hot node": {
			nodes: []Node{hot("h", cluster.Amounts{600}, pod("p", cluster.Amounts{100}))},
			lines: shipped(),
			want:  []string{"p: NoLanding", "h stays: NoLanding"},
		},
		"all hot": {
			nodes: []Node{
				hot("h0", cluster.Amounts{600}, pod("a", cluster.Amounts{100})),
				hot("h1", cluster.Amounts{600}, pod("b", cluster.Amounts{100})),
			},
			lines: shipped(),
			want:  []string{"a: NoLanding", "b: NoLanding", "h0 stays: NoLanding", "h1 stays: NoLanding"},
		},
		"all cool": {nodes: []Node{cool("c0", cluster.Amounts{}), cool("c1", thousand)}, lines: shipped()},
		"hot without pods": {
			nodes: []Node{cool("c", cluster.Amounts{}), hot("h", cluster.Amounts{900})},
			lines: shipped(),
			want:  []string{"h stays: HotThroughImmovable"},
		},
		"lines out of reach": {
			nodes: []Node{cool("c", cluster.Amounts{}), hot("h", cluster.Amounts{900}, pod("p", cluster.Amounts{100}))},
			lines: everyLine(inf),
		},
		"lines at zero": {
			nodes: []Node{cool("c", cluster.Amounts{}), hot("h", cluster.Amounts{}, pod("p", cluster.Amounts{100}))},
			lines: everyLine(0),
			want:  []string{"p: NoLanding", "h stays: NoLanding"},
		},
		"lines that are no numbers": { // no node is called hot by such lines: everything would have to leave, to nowhere
			nodes: []Node{cool("c", cluster.Amounts{}), hot("h", cluster.Amounts{}, pod("p", cluster.Amounts{100}))},
			lines: everyLine(math.NaN()),
			want:  []string{"p: NoLanding", "h stays: NoLanding"},
		},
		"a destination that has nothing": {
			nodes: []Node{
				cool("c", cluster.Amounts{}, func(n *Node) { n.Allocatable = cluster.Amounts{} }),
				hot("h", cluster.Amounts{600}, pod("p", cluster.Amounts{100})),
			},
			lines: shipped(),
			want:  []string{"p: NoLanding", "h stays: NoLanding"},
		},
		"a source that has nothing": {
			nodes: []Node{cool("c", cluster.Amounts{}), func() Node {
				n := hot("h", cluster.Amounts{}, pod("p", cluster.Amounts{100}))
				n.Allocatable = cluster.Amounts{}
				return n
			}()},
			lines: shipped(),
			want:  []string{"p: h -> c"}, // a view would have called it unknown
		},
		"pods that use nothing or less": {
			nodes: []Node{cool("c", cluster.Amounts{}), hot("h", cluster.Amounts{1000}, pod("zero", cluster.Amounts{}), pod("less", cluster.Amounts{-100}), pod("p", cluster.Amounts{260}))},
			lines: shipped(),
			want:  []string{"p: HotThroughImmovable", "h stays: HotThroughImmovable"},
		},
		"a node beyond its size": {
			nodes: []Node{cool("c", cluster.Amounts{}), hot("h", cluster.Amounts{}, pods(30, "p", cluster.Amounts{100})...)},
			lines: shipped(),
			// 3000 exceeds 650 by 2350: 24 pods of 100, of which 6 have space
			want: slices.Concat(each(30, "p", "NoLanding"), []string{"h stays: NoLanding"}),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := described(New(Input{Nodes: tc.lines.on(tc.nodes), Placement: &refusing{}}))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// Needs and ceilings are given as amounts, and the planner uses them whatever they are.
func TestPlanWithHostileAmounts(t *testing.T) {
	most, least := cluster.Amounts{math.MaxInt64, math.MaxInt64}, cluster.Amounts{math.MinInt64, math.MinInt64}
	needs := func(need cluster.Amounts) Node {
		n := hot("h", cluster.Amounts{100, 100}, pod("p", cluster.Amounts{100, 100}))
		n.Need = need
		return n
	}
	takes := func(ceiling cluster.Amounts) Node {
		return cool("c", cluster.Amounts{}, func(n *Node) { n.Ceiling = ceiling })
	}
	cases := map[string]struct {
		nodes []Node
		want  []string
	}{
		"a need beyond everything":        {[]Node{takes(most), needs(most)}, []string{"p: HotThroughImmovable", "h stays: HotThroughImmovable"}},
		"a need far below nothing":        {[]Node{takes(most), needs(least)}, nil},
		"a need for only one resource":    {[]Node{takes(most), needs(cluster.Amounts{math.MinInt64, 100})}, []string{"p: h -> c"}},
		"a ceiling without end":           {[]Node{takes(most), needs(cluster.Amounts{1, 0})}, []string{"p: h -> c"}},
		"a ceiling of nothing":            {[]Node{takes(cluster.Amounts{}), needs(cluster.Amounts{1, 0})}, []string{"p: NoLanding", "h stays: NoLanding"}},
		"a ceiling below nothing":         {[]Node{takes(least), needs(cluster.Amounts{1, 0})}, []string{"p: NoLanding", "h stays: NoLanding"}},
		"a ceiling for only one resource": {[]Node{takes(cluster.Amounts{math.MaxInt64, 0}), needs(cluster.Amounts{1, 0})}, []string{"p: NoLanding", "h stays: NoLanding"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, described(New(Input{Nodes: tc.nodes, Placement: &refusing{}}))); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func each(n int, name, what string) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s%d", name, i)
	}
	slices.Sort(all) // the order in which the plan has pods
	for i := range all {
		all[i] += ": " + what
	}
	return all
}

// A pod with negative usage of a resource that its node has enough of does not stop the search for
// inexpensive pods.
func TestPlanWithUsageBelowNothing(t *testing.T) {
	h := hot("h", cluster.Amounts{500}, pod("a", cluster.Amounts{100, -50}, costing(9)), pod("b", cluster.Amounts{70, -50}, costing(4)), pod("c", cluster.Amounts{60, -50}, costing(4)), pod("d", cluster.Amounts{5, 300}, costing(9)))
	plan := New(Input{Nodes: shipped().on([]Node{cool("x", cluster.Amounts{}), h}), Placement: &refusing{}})
	if len(plan.Moves) == 0 {
		t.Errorf("nothing moves: %v", described(plan))
	}
}

// A pod that is listed twice counts once. The Placement refuses the second move, and the
// plan does not rely on it.
func TestPlanWithDuplicates(t *testing.T) {
	h := hot("h", cluster.Amounts{550}, pod("p", cluster.Amounts{100}))
	h.Pods = append(h.Pods, h.Pods[0])
	h.Current[cluster.CPU] = 750
	plan := New(Input{Nodes: shipped().on([]Node{cool("c", cluster.Amounts{}), h}), Placement: &refusing{}})
	if len(plan.Moves) > 1 {
		t.Errorf("%v moves a pod twice", described(plan))
	}
}

// If a Placement accepts pods and then fails to move them, the plan has no moves at all, not half
// of them.
func TestPlanWithAPlacementThatFails(t *testing.T) {
	in := Input{Nodes: shipped().on([]Node{cool("c", cluster.Amounts{}), hot("h", cluster.Amounts{600}, pod("p", cluster.Amounts{100}))}), Placement: failing{}}
	if got := New(in); len(got.Moves) > 0 || got.Nodes[1].Reason != reasons.NoLanding {
		t.Errorf("plan %v", described(got))
	}
}

type failing struct{ anywhere }

func (failing) Move(*cluster.Pod, string) (func(), error) { return nil, fmt.Errorf("the pod is gone") }

// FuzzPlan decodes nodes and pods from bytes. Whatever they are, the plan is sound, and a second
// plan is the same.
func FuzzPlan(f *testing.F) {
	f.Add([]byte{2, 3, 90, 40, 10, 30, 0, 20, 20, 1, 30, 10, 0, 10, 10})
	f.Add([]byte{1, 1, 255, 255, 255, 255, 2, 0, 0, 0})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		in, refused := inputOf(data)
		plan := New(in)
		checkSound(t, &in, refused, plan)
		if in.MaxMoves > 0 && len(plan.Moves) > in.MaxMoves {
			t.Fatalf("%d moves, at most %d allowed", len(plan.Moves), in.MaxMoves)
		}
		if again := moves(New(in)); again != moves(plan) {
			t.Fatalf("plans differ:\n%s\n%s", moves(plan), again)
		}
	})
}

// inputOf decodes an Input: the numbers of hot and cool nodes, followed by the bytes that they
// need.
func inputOf(data []byte) (Input, forbidding) {
	next := func() int64 {
		if len(data) == 0 {
			return 0
		}
		v := data[0]
		data = data[1:]
		return int64(v)
	}
	refused := forbidding{}
	in := Input{Placement: refused, MaxMoves: int(next() % 8), MaxPerNode: int(next() % 4)}
	hotNodes, coolNodes := next()%5, next()%6
	for c := range coolNodes {
		in.Nodes = append(in.Nodes, cool(fmt.Sprintf("cool%d", c), cluster.Amounts{next() * 2, next() * 2}))
	}
	for h := range hotNodes {
		system, all := cluster.Amounts{next() * 4, next() * 4}, []strategies.Pod(nil)
		for k := range next() % 6 {
			p := pod(fmt.Sprintf("p%d-%d", h, k), cluster.Amounts{next() * 2, next() * 2}, priority(int32(next()%3)), disruption(next()%3))
			if next()%5 == 0 {
				p.Refused = reasons.ProtectedByDefaultEvictor
			}
			if c := next(); coolNodes > 0 && c%3 == 0 {
				refused[fmt.Sprintf("%s@cool%d", p.Name, c%coolNodes)] = true
			}
			all = append(all, p)
		}
		in.Nodes = append(in.Nodes, hot(fmt.Sprintf("hot%d", h), system, all...))
	}
	shipped().on(in.Nodes)
	return in, refused
}
