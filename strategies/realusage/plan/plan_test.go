package plan

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

func TestPlan(t *testing.T) {
	cases := map[string]struct {
		nodes                []Node
		maxMoves, maxPerNode int
		refuse               []string
		want                 []string
	}{
		"nothing is hot": {
			nodes: []Node{cool("c", thousand)},
		},
		"one pod brings the node to the line": {
			// 750 - 100 = 650: a node at the line is not above it
			nodes: []Node{cool("c", cluster.Amounts{}), hot("h", cluster.Amounts{350}, pods(4, "p", cluster.Amounts{100})...)},
			want:  []string{"p0: h -> c"},
		},
		"one milli-core above the line takes one more pod": {
			nodes: []Node{cool("c", cluster.Amounts{}), hot("h", cluster.Amounts{351}, pods(4, "p", cluster.Amounts{100})...)},
			want:  []string{"p0: h -> c", "p1: h -> c"},
		},
		"one large pod instead of three small ones": {
			nodes: []Node{
				cool("c", cluster.Amounts{}),
				hot("h", cluster.Amounts{400}, append(pods(3, "small", cluster.Amounts{60}), pod("large", cluster.Amounts{200}))...),
			},
			want: []string{"large: h -> c"},
		},
		"a critical pod stays while three best-effort ones suffice": {
			nodes: []Node{
				cool("c", cluster.Amounts{}),
				hot("h", cluster.Amounts{400}, append(pods(3, "small", cluster.Amounts{60}), pod("critical", cluster.Amounts{200}, priority(2e9)))...),
			},
			want: []string{"small0: h -> c", "small1: h -> c", "small2: h -> c"},
		},
		"a critical pod moves alone where the lower band does not suffice": {
			// 850 exceeds 650 by 200; the small pods use 180
			nodes: []Node{
				cool("c", cluster.Amounts{}),
				hot("h", cluster.Amounts{420}, append(pods(3, "small", cluster.Amounts{60}), pod("critical", cluster.Amounts{250}, priority(2e9)))...),
			},
			want: []string{"critical: h -> c"},
		},
		"the lowest band that suffices, though a higher one would do with fewer": {
			nodes: []Node{
				cool("c", cluster.Amounts{}),
				hot("h", cluster.Amounts{350},
					pod("a", cluster.Amounts{60}), pod("b", cluster.Amounts{60}, priority(10)), pod("c", cluster.Amounts{200}, priority(20)),
					pod("d", cluster.Amounts{60}, priority(10))),
			},
			// 730 exceeds 650 by 80: a and b, or only c
			want: []string{"a: h -> c", "b: h -> c"},
		},
		"a higher priority moves where the lower has no landing": {
			nodes: []Node{
				cool("c", cluster.Amounts{}),
				hot("h", cluster.Amounts{500}, pod("bound", cluster.Amounts{100}), pod("free", cluster.Amounts{100}, priority(10))),
			},
			refuse: []string{"bound@*"},
			want:   []string{"free: h -> c"},
		},
		"of as few the least disrupting": {
			nodes: []Node{
				cool("c", cluster.Amounts{}),
				hot("h", cluster.Amounts{450},
					pod("costly", cluster.Amounts{100}, disruption(5)), pod("cheap", cluster.Amounts{90}, disruption(1)),
					pod("middle", cluster.Amounts{100}, disruption(2))),
			},
			want: []string{"cheap: h -> c"},
		},
		"of as disrupting the least overshoot": {
			// 90 above the line
			nodes: []Node{
				cool("c", cluster.Amounts{}),
				hot("h", cluster.Amounts{270}, pod("a", cluster.Amounts{200}), pod("b", cluster.Amounts{150}), pod("d", cluster.Amounts{100}), pod("tiny", cluster.Amounts{20})),
			},
			want: []string{"d: h -> c"},
		},
		"ties go by name": {
			nodes: []Node{cool("c", cluster.Amounts{}), hot("h", cluster.Amounts{400}, pod("z", cluster.Amounts{150}), pod("a", cluster.Amounts{150}))},
			want:  []string{"a: h -> c"},
		},
		"a giant pod would only move the heat": {
			nodes: []Node{cool("c", cluster.Amounts{}), hot("h", cluster.Amounts{50}, pod("giant", cluster.Amounts{750}))},
			want:  []string{"giant: NoLanding", "h stays: NoLanding"},
		},
		"next to a giant pod, its neighbours move": {
			nodes: []Node{cool("c", cluster.Amounts{}), hot("h", cluster.Amounts{}, pod("giant", cluster.Amounts{640}), pod("small", cluster.Amounts{60}))},
			want:  []string{"small: h -> c"},
		},
		"nothing is cool": {
			nodes: []Node{hot("h", cluster.Amounts{600}, pod("p", cluster.Amounts{100})), {Name: "w", Allocatable: thousand, State: thresholds.Warm}},
			want:  []string{"p: NoLanding", "h stays: NoLanding"},
		},
		"a cool node that is closed is no landing": {
			nodes: []Node{cool("c", cluster.Amounts{}, closedFor("Cordoned")), hot("h", cluster.Amounts{600}, pod("p", cluster.Amounts{100}))},
			want:  []string{"p: NoLanding", "h stays: NoLanding"},
		},
		"the filters refuse every cool node": {
			nodes:  []Node{cool("c", cluster.Amounts{}), hot("h", cluster.Amounts{600}, pods(2, "p", cluster.Amounts{60})...)},
			refuse: []string{"*@c"},
			want:   []string{"p0: NoLanding", "p1: NoLanding", "h stays: NoLanding"},
		},
		"hot because of what cannot be moved": {
			nodes: []Node{
				cool("c", cluster.Amounts{}),
				hot("h", cluster.Amounts{640}, pod("agent", cluster.Amounts{100}, refused(reasons.DaemonSetPod)), pod("p", cluster.Amounts{50})),
			},
			want: []string{"agent: DaemonSetPod", "p: HotThroughImmovable", "h stays: HotThroughImmovable"},
		},
		"relief that would leave the node hot is not begun": {
			// 850: of the 200 that have to leave, only 100 has a destination
			nodes: []Node{
				cool("c", cluster.Amounts{}),
				hot("h", cluster.Amounts{550}, pods(3, "p", cluster.Amounts{100})...),
			},
			refuse: []string{"p1@c", "p2@c"},
			want:   []string{"p1: NoLanding", "p2: NoLanding", "p0: NoLanding", "h stays: NoLanding"},
		},
		"a destination for each, but not for all": {
			// 850: two of 100 have to leave, and the cool node has space for one
			nodes: []Node{cool("c", cluster.Amounts{450}), hot("h", cluster.Amounts{650}, pods(2, "p", cluster.Amounts{100})...)},
			want:  []string{"p0: NoLanding", "p1: NoLanding", "h stays: NoLanding"},
		},
		"the destination stays under the reject line, not the evict line": {
			// c1 would be at 610, and c2 at exactly 600
			nodes: []Node{cool("c1", cluster.Amounts{510}), cool("c2", cluster.Amounts{500}), hot("h", cluster.Amounts{600}, pod("p", cluster.Amounts{100}))},
			want:  []string{"p: h -> c2"},
		},
		"memory counts at the destination, although the node is hot by CPU": {
			nodes: []Node{
				cool("c1", cluster.Amounts{0, 500}), cool("c2", cluster.Amounts{300, 100}),
				hot("h", cluster.Amounts{600, 100}, pod("p", cluster.Amounts{100, 200})),
			},
			want: []string{"p: h -> c2"},
		},
		"two resources hot at once take one pod that relieves both": {
			// 100 above in CPU and in memory
			nodes: []Node{
				cool("c", cluster.Amounts{}),
				hot("h", cluster.Amounts{350, 350},
					pod("cpu", cluster.Amounts{150, 0}), pod("memory", cluster.Amounts{0, 150}), pod("both", cluster.Amounts{100, 100}), pod("rest", cluster.Amounts{150, 150})),
			},
			want: []string{"both: h -> c"},
		},
		"two resources hot and no pod relieves both": {
			nodes: []Node{
				cool("c", cluster.Amounts{}),
				hot("h", cluster.Amounts{550, 550}, pod("cpu", cluster.Amounts{150, 10}), pod("memory", cluster.Amounts{10, 150})),
			},
			want: []string{"cpu: h -> c", "memory: h -> c"},
		},
		"the fewest for two resources are not always the largest": {
			// 120 above in both: large has 119+60 and needs more than one other pod; mid0 and mid1
			// suffice
			nodes: []Node{
				cool("c0", cluster.Amounts{}),
				cool("c1", cluster.Amounts{}),
				hot("h", cluster.Amounts{350, 350},
					pod("large", cluster.Amounts{140, 40}), pod("mid0", cluster.Amounts{120, 55}), pod("mid1", cluster.Amounts{30, 70}),
					pod("rest", cluster.Amounts{130, 255}, refused(reasons.JobPod))),
			},
			want: []string{"mid0: h -> c0", "mid1: h -> c1", "rest: JobPod"},
		},
		"two plain pods go before one that costs more than both": {
			// 100 above
			nodes: []Node{
				cool("c", cluster.Amounts{}),
				hot("h", cluster.Amounts{450}, pod("db", cluster.Amounts{150}, costing(12)), pods(2, "p", cluster.Amounts{75})[0], pods(2, "p", cluster.Amounts{75})[1]),
			},
			want: []string{"p0: h -> c", "p1: h -> c"},
		},
		"one that costs less than the plain pods in its place goes": {
			nodes: []Node{
				cool("c", cluster.Amounts{}),
				hot("h", cluster.Amounts{450}, append(pods(4, "p", cluster.Amounts{35}), pod("db", cluster.Amounts{160}, costing(8)))...),
			},
			want: []string{"db: h -> c"},
		},
		"replicas are spread over nodes that are about as cool as the coolest": {
			// one pod of 100 has to leave each node
			nodes: []Node{
				cool("c0", cluster.Amounts{}), cool("c1", cluster.Amounts{50}), cool("c2", cluster.Amounts{300}),
				hot("h0", cluster.Amounts{600}, ofOne(pod("a", cluster.Amounts{100}))),
				hot("h1", cluster.Amounts{600}, ofOne(pod("b", cluster.Amounts{100}))),
				hot("h2", cluster.Amounts{600}, ofOne(pod("d", cluster.Amounts{100}))),
			},
			want: []string{"a: h0 -> c0", "b: h1 -> c1", "d: h2 -> c0"},
		},
		"pods stay within their domain": {
			nodes: []Node{
				within("b", cool("c0", cluster.Amounts{})), within("a", cool("c1", cluster.Amounts{300})),
				within("a", hot("h", cluster.Amounts{600}, at("h", pod("a", cluster.Amounts{100})))),
			},
			want: []string{"a: h -> c1"},
		},
		"pods stay within their zone": {
			nodes: []Node{
				inZone("b", cool("c0", cluster.Amounts{})), inZone("a", cool("c1", cluster.Amounts{300})),
				inZone("a", hot("h", cluster.Amounts{600}, at("h", pod("a", cluster.Amounts{100})))),
			},
			want: []string{"a: h -> c1"},
		},
		"and leave it if the only cool nodes are in another zone": {
			nodes: []Node{
				inZone("b", cool("c0", cluster.Amounts{})), inZone("a", cool("c1", cluster.Amounts{550})),
				inZone("a", hot("h", cluster.Amounts{600}, at("h", pod("a", cluster.Amounts{100})))),
			},
			want: []string{"a: h -> c0"},
		},
		"and on their node if the only cool ones are in another domain": {
			nodes: []Node{
				within("b", cool("c0", cluster.Amounts{})), within("a", hot("h", cluster.Amounts{600}, at("h", pod("a", cluster.Amounts{100})))),
			},
			want: []string{"a: NoLanding", "h stays: NoLanding"},
		},
		"landings are spread over the coolest nodes": {
			nodes: []Node{
				cool("c0", cluster.Amounts{100}), cool("c1", cluster.Amounts{}), cool("c2", cluster.Amounts{150}),
				hot("h", cluster.Amounts{350}, pods(4, "p", cluster.Amounts{150})...),
			},
			// 950: two have to leave; c1 at 0 and then c0 at 100 are the coolest
			want: []string{"p0: h -> c1", "p1: h -> c0"},
		},
		"large pods go where they fit, although spreading first took their place": {
			// 900: both have to leave. The 250 fits only next to the 350 on c0, where spreading
			// would put it, and the 100 fits on either.
			nodes: []Node{
				cool("c0", cluster.Amounts{350}), cool("c1", cluster.Amounts{400}),
				hot("h", cluster.Amounts{550}, pod("large", cluster.Amounts{250}), pod("small", cluster.Amounts{100})),
			},
			want: []string{"large: h -> c0"},
		},
		"at most MaxMoves in total, the hottest node first": {
			nodes: []Node{
				cool("c", cluster.Amounts{}),
				hot("h0", cluster.Amounts{600}, pods(2, "a", cluster.Amounts{100})...),
				hot("h1", cluster.Amounts{550}, pods(3, "b", cluster.Amounts{100})...),
			},
			maxMoves: 2,
			want:     []string{"b0: h1 -> c", "b1: h1 -> c", "h0 stays: MoveLimit"},
		},
		"a node that is half cooled is finished first": {
			nodes: []Node{
				cool("c", cluster.Amounts{}),
				begun(hot("h0", cluster.Amounts{600}, pods(2, "a", cluster.Amounts{100})...)),
				hot("h1", cluster.Amounts{550}, pods(3, "b", cluster.Amounts{100})...),
			},
			maxMoves: 2,
			want:     []string{"a0: h0 -> c", "a1: h0 -> c", "h1 stays: MoveLimit"},
		},
		"at most MaxPerNode off one node": {
			nodes: []Node{
				cool("c", cluster.Amounts{}),
				hot("h0", cluster.Amounts{500}, pods(3, "a", cluster.Amounts{100})...),
				hot("h1", cluster.Amounts{600}, pods(1, "b", cluster.Amounts{100})...),
			},
			maxPerNode: 1,
			want:       []string{"a0: h0 -> c", "b0: h1 -> c", "h0 stays: MoveLimit"},
		},
		"hot by its leave line alone is no cause for a move": {
			nodes: []Node{cool("c", cluster.Amounts{}), hot("h", cluster.Amounts{540}, pod("p", cluster.Amounts{100}))},
		},
		"unknown and warm nodes are neither source nor destination": {
			nodes: []Node{
				{Name: "u", Allocatable: thousand, State: thresholds.Unknown, Current: thousand},
				{Name: "w", Allocatable: thousand, State: thresholds.Warm},
				hot("h", cluster.Amounts{600}, pod("p", cluster.Amounts{100})),
			},
			want: []string{"p: NoLanding", "h stays: NoLanding"},
		},
		"a node that comes first does not take the only destination of another": {
			// Only c0 accepts p, whereas c0 and c1 accept q. The hottest node's q would go to the
			// coolest, c0.
			nodes: []Node{
				cool("c0", cluster.Amounts{350}), cool("c1", cluster.Amounts{400}),
				hot("h0", cluster.Amounts{600}, pod("p", cluster.Amounts{200})),
				hot("h1", cluster.Amounts{640}, pod("q", cluster.Amounts{200})),
			},
			refuse: []string{"p@c1"},
			want:   []string{"q: h1 -> c1", "p: h0 -> c0"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			placement := &refusing{pairs: tc.refuse}
			in := Input{Nodes: shipped().on(tc.nodes), MaxMoves: tc.maxMoves, MaxPerNode: tc.maxPerNode, Placement: placement}
			if diff := cmp.Diff(tc.want, described(New(in))); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			if len(placement.moved) > 0 {
				t.Errorf("the placement was left with moves: %v", placement.moved)
			}
		})
	}
}

// A pod is not moved if it frees less of its node than the policy requires and is also small
// compared to the other pods of the node. A node that has only small pods is still cooled.
func TestSmallGainsAreNoMoves(t *testing.T) {
	at := func(used int64) cluster.Amounts { return cluster.Amounts{used} }
	for name, tc := range map[string]struct {
		node  Node
		least float64
		want  []string
	}{
		"as small as the others": {hot("h", at(560), pods(3, "p", at(40))...), 4.1, []string{"p0: h -> c"}},
		"the only one":           {hot("h", at(620), pod("p", at(40))), 4.1, []string{"p: h -> c"}},
		"small among the others": {
			hot("h", at(500), pod("big", at(100)), pod("less", at(60)), pod("small", at(11), costing(1))), 2,
			[]string{"less: h -> c", "small: GainTooSmall"},
		},
		"as much as the policy asks for": {
			hot("h", at(540), pod("big", at(100)), pod("small", at(11), costing(1))), 1.1,
			[]string{"small: h -> c"},
		},
		"those that must not be moved do not count": {
			hot("h", at(500), pod("big", at(135), refused("x")), pod("small", at(18)), pod("smaller", at(17))), 2,
			[]string{"small: h -> c", "smaller: h -> c", "big: x"},
		},
		"nor can the node be cooled without them": {
			hot("h", at(620), append(pods(3, "p", at(6)), pod("big", at(40)))...), 1,
			[]string{"big: h -> c", "p0: GainTooSmall", "p1: GainTooSmall", "p2: GainTooSmall"},
		},
		"only they would cool it": {
			hot("h", at(640), append(pods(3, "p", at(10)), pod("big", at(70)))...), 2,
			[]string{"p0: GainTooSmall", "p1: GainTooSmall", "p2: GainTooSmall", "big: GainTooSmall", "h stays: GainTooSmall"},
		},
		"not even they would cool it": {
			hot("h", at(655), append(pods(3, "p", at(10)), pod("big", at(70)))...), 2,
			[]string{"p0: GainTooSmall", "p1: GainTooSmall", "p2: GainTooSmall", "big: HotThroughImmovable", "h stays: HotThroughImmovable"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Nodes: shipped().on([]Node{cool("c", at(0)), tc.node}), MinGainPercent: tc.least, Placement: &refusing{}}
			got := New(in)
			if diff := cmp.Diff(tc.want, described(got)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			for _, d := range got.Declined {
				if why := "the node could be cooled only by moving pods that each use too little"; d.Reason == reasons.HotThroughImmovable &&
					(d.Detail == why) != (got.Nodes[1].Reason == reasons.GainTooSmall) {
					t.Errorf("%s stays: %s", d.Name, d.Detail)
				}
			}
		})
	}
}

// Each move contains the usage of its source and its destination before and after, and the report
// contains the usage at the end.
func TestPlanReports(t *testing.T) {
	in := Input{
		Nodes:     shipped().on([]Node{cool("c", cluster.Amounts{100, 100}), hot("h", cluster.Amounts{650, 20}, pods(2, "p", cluster.Amounts{60, 10})...)}),
		Placement: &refusing{},
	}
	plan := New(in)
	type step struct{ FromBefore, FromAfter, ToBefore, ToAfter cluster.Percents }
	var got []step
	for _, m := range plan.Moves {
		got = append(got, step{m.FromBefore, m.FromAfter, m.ToBefore, m.ToAfter})
	}
	want := []step{
		{cluster.Percents{77, 4}, cluster.Percents{71, 3}, cluster.Percents{10, 10}, cluster.Percents{16, 11}},
		{cluster.Percents{71, 3}, cluster.Percents{65, 2}, cluster.Percents{16, 11}, cluster.Percents{22, 12}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("moves (-want +got):\n%s", diff)
	}
	wantNodes := []strategies.NodeReport{
		{Name: "c", State: thresholds.Cool, Before: cluster.Percents{10, 10}, After: cluster.Percents{22, 12}},
		{Name: "h", State: thresholds.Hot, Before: cluster.Percents{77, 4}, After: cluster.Percents{65, 2}},
	}
	if diff := cmp.Diff(wantNodes, plan.Nodes); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
}

// The explanation of a pod without a destination lists every cause with its number of nodes.
func TestRefusalsAreSummedUp(t *testing.T) {
	in := Input{
		Nodes: shipped().on([]Node{
			cool("c0", cluster.Amounts{}), cool("c1", cluster.Amounts{}), cool("c2", cluster.Amounts{550}),
			hot("h", cluster.Amounts{600}, pod("p", cluster.Amounts{100})),
		}),
		Placement: &refusing{pairs: []string{"p@c0", "p@c1"}},
	}
	got := New(in).Declined[0].Detail
	want := "of 3 cool nodes, 1: its predicted usage would exceed the reject line; 2: NodeAffinity: does not match"
	if got != want {
		t.Errorf("detail %q, want %q", got, want)
	}
}

func TestIdleChangesNothing(t *testing.T) {
	in := Input{Nodes: shipped().on([]Node{cool("c", cluster.Amounts{}), hot("h", cluster.Amounts{600}, pod("p", cluster.Amounts{100}))})}
	plan := Idle(in)
	if len(plan.Moves)+len(plan.Declined) > 0 || plan.Nodes[1].Before != plan.Nodes[1].After {
		t.Errorf("idle plan %+v", plan)
	}
	if names := []string{plan.Nodes[0].Name, plan.Nodes[1].Name}; !slices.Equal(names, []string{"c", "h"}) {
		t.Errorf("nodes %v", names)
	}
}

// The planner is given only the amount that has to leave. A signal or memory.available can make a
// node hot that is far below the lines of its resources, and a node above these lines need not be
// hot.
func TestPlanUsesNeed(t *testing.T) {
	cases := map[string]struct {
		need cluster.Amounts
		want []string
	}{
		"CPU that a pressure asks for on a node at 30 %": {need: cluster.Amounts{90, 0}, want: []string{"cpu: h -> c"}},
		"memory, by memory.available":                    {need: cluster.Amounts{0, 90}, want: []string{"memory: h -> c"}},
		"both":                                           {need: cluster.Amounts{90, 90}, want: []string{"cpu: h -> c", "memory: h -> c"}},
		"nothing":                                        {need: cluster.Amounts{0, 0}},
		"more than there is":                             {need: cluster.Amounts{301, 0}, want: []string{"cpu: HotThroughImmovable", "h stays: HotThroughImmovable"}},
		"less than nothing of the other":                 {need: cluster.Amounts{-500, 90}, want: []string{"memory: h -> c"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := hot("h", cluster.Amounts{200, 200}, pod("cpu", cluster.Amounts{100, 0}), pod("memory", cluster.Amounts{0, 100}))
			h.Need = tc.need
			c := cool("c", cluster.Amounts{100, 100}, func(n *Node) { n.Ceiling = cluster.Amounts{600, 600} })
			if diff := cmp.Diff(tc.want, described(New(Input{Nodes: []Node{c, h}, Placement: &refusing{}}))); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// A destination accepts as much as its own ceiling allows. Other windows, memory.available and
// signals may have lowered the ceiling.
func TestPlanUsesCeilings(t *testing.T) {
	lowered := func(to cluster.Amounts) func(*Node) { return func(n *Node) { n.Ceiling = to } }
	in := Input{
		Nodes: []Node{
			cool("closed-by-signal", cluster.Amounts{}, lowered(cluster.Amounts{})),
			cool("memory-gone", cluster.Amounts{}, lowered(cluster.Amounts{600, 9})),
			cool("room", cluster.Amounts{300, 300}, lowered(cluster.Amounts{400, 310})),
			hot("h", cluster.Amounts{600}, pod("p", cluster.Amounts{100, 10})),
		},
		Placement: &refusing{},
	}
	in.Nodes[3].Need = cluster.Amounts{50, 0}
	if diff := cmp.Diff([]string{"p: h -> room"}, described(New(in))); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

// The hottest node comes first: the one whose usage is the highest multiple of its line, in the
// resource that is needed most.
func TestPlanHottestFirst(t *testing.T) {
	a := hot("a", cluster.Amounts{500}, pod("p", cluster.Amounts{200}))
	b := hot("b", cluster.Amounts{0, 300}, pod("q", cluster.Amounts{0, 200}))
	a.Need, b.Need = cluster.Amounts{100, 0}, cluster.Amounts{0, 200} // 700 of 600, and 500 of 300
	c := cool("c", cluster.Amounts{}, func(n *Node) { n.Ceiling = thousand })
	in := Input{Nodes: []Node{a, b, c}, MaxMoves: 1, Placement: &refusing{}}
	if diff := cmp.Diff([]string{"q: b -> c", "a stays: MoveLimit"}, described(New(in))); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

func begun(n Node) Node {
	n.Begun = true
	return n
}
