package status

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/realusage/plan"
)

// oneMove plans again, with at most one move.
func oneMove(f *Facts) {
	in, _ := f.Planned.Basis.(*plan.Input)
	in.MaxMoves = 1
	f.Planned.Plan = plan.New(*in)
}

// Summaries explain why a pod would be moved or not, with the most important reason first.
func TestPodSummary(t *testing.T) {
	cases := map[string]struct {
		asked     string
		change    func(*harbor)
		after     func(*Facts)
		refuse    []string
		want      string
		candidate bool
	}{
		"it is moved": {
			asked: "web-1", candidate: true,
			want: "shop/web-1 would be moved from n1 to n4: its node is hot, and it uses 900m cpu, 1024Mi memory. n4 would be at 29.0% cpu and 21.0% memory with it. Expected to save 19 hot minutes in 4h.",
		},
		"it would be moved, but not now": {
			asked: "web-1", candidate: true, after: func(f *Facts) { f.Paused = "evicting is paused by somebody" },
			want: "shop/web-1 would be moved from n1 to n4: its node is hot, and it uses 900m cpu, 1024Mi memory. " +
				"n4 would be at 29.0% cpu and 21.0% memory with it. Expected to save 19 hot minutes in 4h. Not now: evicting is paused by somebody.",
		},
		"others suffice": {
			asked: "web-3", candidate: true,
			want: "shop/web-3 would not be moved (OthersSuffice: fewer or less disruptive moves cool its node: " +
				"shop/web-1 (900m cpu, 1024Mi memory), shop/web-2 (800m cpu, 1024Mi memory)). It runs on n1 (hot) and uses 300m cpu, 1024Mi memory.",
		},
		"others suffice, and it was moved lately": {
			asked: "web-3", candidate: true, after: func(f *Facts) { f.Planned.Pod.Disruption.Again = true },
			want: "shop/web-3 would not be moved (OthersSuffice: fewer or less disruptive moves cool its node: " +
				"shop/web-1 (900m cpu, 1024Mi memory), shop/web-2 (800m cpu, 1024Mi memory); this pod counts as 4, because it was moved within a day). " +
				"It runs on n1 (hot) and uses 300m cpu, 1024Mi memory.",
		},
		"it waits for a later cycle": {
			asked: "web-2", candidate: true, after: oneMove,
			want: "shop/web-2 would not be moved (MoveLimit: the plan already has as many moves as the policy allows in a cycle; this pod waits for a later one). " +
				"It runs on n1 (hot) and uses 800m cpu, 1024Mi memory.",
		},
		"others suffice, some of them later": {
			asked: "web-3", candidate: true, after: oneMove,
			want: "shop/web-3 would not be moved (OthersSuffice: fewer or less disruptive moves cool its node: " +
				"shop/web-1 (900m cpu, 1024Mi memory), 1 that wait for a later cycle). It runs on n1 (hot) and uses 300m cpu, 1024Mi memory.",
		},
		"not measured": {
			asked: "web-4",
			want: "shop/web-4 would not be moved (PodUsageUnknown: it has not been measured for long enough to know what it uses). " +
				"It runs on n1 (hot) and uses 250m cpu, 1024Mi memory by estimate.",
		},
		"its node is not hot": {
			asked: "db-0", candidate: true,
			want: "shop/db-0 would not be moved (NodeNotHot: its node n2 is warm; pods are moved off hot nodes only). It runs on n2 (warm) and uses 400m cpu, 1024Mi memory.",
		},
		"no landing": {
			asked: "web-1", candidate: true, refuse: []string{"n3", "n4"},
			want: "shop/web-1 would not be moved (NoLanding: of 2 cool nodes, 2: TaintToleration: node(s) had untolerated taint {gpu: true}). It runs on n1 (hot) and uses 900m cpu, 1024Mi memory.",
		},
		"it is terminating": {
			asked: "web-1", change: func(h *harbor) { h.view.Snapshot.Nodes[0].Pods[0].Terminating = true },
			after: func(f *Facts) { f.Planned.Plan.Moves = nil },
			want:  "shop/web-1 would not be moved (Terminating: it is already terminating). It runs on n1 (hot) and uses 900m cpu, 1024Mi memory.",
		},
		"it is on the move": {
			asked: "web-1", change: func(h *harbor) { h.moves[0][0].PodUID = "uid-web-1" }, after: func(f *Facts) { f.Planned.Plan.Moves = nil },
			want: "shop/web-1 would not be moved (OnTheMove: it was evicted or is about to be). It runs on n1 (hot) and uses 900m cpu, 1024Mi memory.",
		},
		"the DefaultEvictor protects it": {
			asked: "web-1", after: func(f *Facts) {
				f.Planned.Plan.Moves, f.Planned.Protection = nil, "pod has local storage"
				f.Planned.Pod.Refused = reasons.ProtectedByDefaultEvictor
			},
			want: "shop/web-1 would not be moved (ProtectedByDefaultEvictor: the DefaultEvictor protects it: pod has local storage). It runs on n1 (hot) and uses 900m cpu, 1024Mi memory.",
		},
		"an annotation protects it": {
			asked: "web-1", after: func(f *Facts) {
				f.Planned.Plan.Moves, f.Planned.Protection = nil, "evenkeel.io/evict of its Namespace"
				f.Planned.Pod.Refused = reasons.EvictionDeclined
			},
			want: "shop/web-1 would not be moved (EvictionDeclined: an annotation of the pod, its owner or its Namespace forbids evicting it: evenkeel.io/evict of its Namespace). It runs on n1 (hot) and uses 900m cpu, 1024Mi memory.",
		},
		"nothing is planned": {
			asked: "web-1", candidate: true, after: func(f *Facts) { f.Planned.Plan, f.Planned.Closed = strategies.Plan{}, "UsageStale" },
			want: "Whether shop/web-1 would be moved is not known here: nothing is planned: UsageStale. It runs on n1 (hot) and uses 900m cpu, 1024Mi memory.",
		},
		"no plan": {
			asked: "web-1", after: func(f *Facts) { f.Planned, f.NoPlan = nil, "this process makes none" },
			want: "Whether shop/web-1 would be moved is not known here: this process makes none. It runs on n1 (hot) and uses 900m cpu, 1024Mi memory.",
		},
		"its node is left out": {
			asked: "web-1", candidate: true, after: func(f *Facts) { f.Planned.Plan, f.Planned.Basis = strategies.Plan{}, &plan.Input{} },
			want: "Whether shop/web-1 would be moved is not known here: the policy's nodeSelector excludes its node, or the node is not ready. It runs on n1 (hot) and uses 900m cpu, 1024Mi memory.",
		},
		"only the ledger knows it": {
			asked: "web-0",
			want:  "shop/web-0 no longer runs: its move off n1, planned to n4, is Booked.",
		},
		"it was moved, and landed": {
			asked: "web-old",
			want:  "shop/web-old no longer runs: its move off n2, planned to n3, is Landed: web-3 replaces it on n4.",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := fleet(t)
			if tc.change != nil {
				tc.change(h)
			}
			f := h.planned(tc.asked, tc.refuse...)
			if tc.after != nil {
				tc.after(f)
			}
			got, err := OfPod(f, "shop", tc.asked)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Summary); diff != "" {
				t.Errorf("summary (-want +got):\n%s", diff)
			}
			if got.Candidate != tc.candidate {
				t.Errorf("candidate %v, want %v", got.Candidate, tc.candidate)
			}
		})
	}
}

// The planned destination comes first, then the nodes that accept the pod, sorted by score, then
// the others, each with its reason.
func TestLandings(t *testing.T) {
	score := func(v int) *int { return &v }
	h := fleet(t)
	h.node("n7", thresholds.Cool, 4000, 4000, 4000)
	f := h.planned("web-2", "n7")
	for i := range f.Planned.Plan.Moves {
		f.Planned.Plan.Moves[i].To = "n3" // among other moves, the second-best node may be the better choice
	}
	got, err := OfPod(f, "shop", "web-2")
	if err != nil {
		t.Fatal(err)
	}
	want := []Landing{
		{Node: "n3", State: "cool", Planned: true, Before: &Percents{30, 20}, After: &Percents{38, 21}, Score: score(0)},
		{Node: "n4", State: "cool", Before: &Percents{20, 20}, After: &Percents{28, 21}, Score: score(10)},
		{Node: "n7", State: "cool", Before: &Percents{40, 20}, After: &Percents{48, 21}, Refused: "FilterRefuses", Detail: "TaintToleration: node(s) had untolerated taint {gpu: true}"},
		{Node: "n5", State: "cool", Before: &Percents{10, 20}, After: &Percents{18, 21}, Refused: "NodeClosed", Detail: "Cordoned"},
		{Node: "n2", State: "warm", Before: &Percents{50, 20}, After: &Percents{58, 21}, Refused: "NodeNotCool", Detail: "it is warm"},
		{Node: "n6", State: "unknown", Refused: "NodeNotCool", Detail: "it is unknown"},
	}
	if diff := cmp.Diff(want, got.Landings); diff != "" {
		t.Errorf("landings (-want +got):\n%s", diff)
	}
}

// Without a plan, nodes are judged by usage alone, and unknown nodes are left out.
func TestLandingsByUsageAlone(t *testing.T) {
	h := fleet(t)
	h.node("n7", thresholds.Warm, 5500, 5500, 5500)
	got, err := OfPod(h.facts(), "shop", "web-1")
	if err != nil {
		t.Fatal(err)
	}
	var nodes []string
	for _, l := range got.Landings {
		nodes = append(nodes, l.Node+" "+l.Refused)
	}
	want := []string{"n4 ", "n3 ", "n2 ", "n7 AboveRejectLine", "n5 NodeClosed"}
	if diff := cmp.Diff(want, nodes); diff != "" || !got.ByUsageAlone {
		t.Errorf("by usage alone %v, landings (-want +got):\n%s", got.ByUsageAlone, diff)
	}
}

func TestUnknownPod(t *testing.T) {
	for _, name := range []string{"", "web", "web-1 ", "../web-1", strings.Repeat("x", 1<<16)} {
		if _, err := OfPod(fleet(t).planned(""), "shop", name); !errors.Is(err, ErrUnknown) {
			t.Errorf("%.20q: %v", name, err)
		}
	}
	if _, err := OfPod(fleet(t).planned(""), "other", "web-1"); !errors.Is(err, ErrUnknown) {
		t.Errorf("a pod of the same name in another namespace is mentioned: %v", err)
	}
	if FindPod(fleet(t).view, "shop", "web-2") == nil || FindPod(fleet(t).view, "shop", "web-9") != nil {
		t.Error("FindPod finds the wrong pods")
	}
}

// A pod without an owner shares no moves with other pods that have none.
func TestOwnerlessPod(t *testing.T) {
	h := fleet(t)
	h.moves[1][0].Owner = cluster.Owner{}
	h.view.Snapshot.Nodes[0].Pods[0].Owner = cluster.Owner{}
	got, err := OfPod(h.facts(), "shop", "web-1")
	if err != nil || got.Owner != "" || len(got.Moves) != 0 {
		t.Errorf("owner %q, moves %v, %v", got.Owner, got.Moves, err)
	}
}
