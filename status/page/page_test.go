package page

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/testkit"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/scorer"
	"github.com/evenkeel/evenkeel/status"
	"github.com/evenkeel/evenkeel/strategies"
)

// Each node has one level, which follows from its state and its lines. While windows are filling,
// the level is that of the newest reading and is marked as such.
func TestLevels(t *testing.T) {
	cases := map[string]struct {
		state           thresholds.State
		newest, average int64
		reason          reasons.Reason
		want            Level
		levelText       string
	}{
		"below the low line":                  {thresholds.Cool, 1000, 1000, "", Cool, "cool"},
		"between low and reject":              {thresholds.Warm, 5000, 5000, "", Warm, "warm"},
		"above reject":                        {thresholds.Warm, 6200, 6200, "", AboveReject, "above reject"},
		"above evict, not for long":           {thresholds.Warm, 7000, 7000, "", AboveEvict, "above evict"},
		"hot":                                 {thresholds.Hot, 7000, 7000, "", Hot, "hot"},
		"hot, and below evict again":          {thresholds.Hot, 6000, 6000, "", Cooling, "cooling"},
		"stale":                               {thresholds.Unknown, 7000, 7000, reasons.UsageStale, Unknown, "unknown (UsageStale)"},
		"hot by the newest reading":           {thresholds.Unknown, 7000, 1000, reasons.WindowTooShort, Hot, "hot now"},
		"above reject by the newest reading":  {thresholds.Unknown, 6200, 1000, reasons.WindowTooShort, AboveReject, "above reject now"},
		"cool by the newest reading":          {thresholds.Unknown, 1000, 7000, reasons.WindowTooShort, Cool, "cool now"},
		"hot by windows, whatever the newest": {thresholds.Hot, 1000, 7000, "", Hot, "hot"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			y.node("n", tc.state, tc.newest, tc.average, unknown(tc.reason))
			p := New(y.facts())
			n := &p.Nodes[0]
			if n.Level != tc.want || n.LevelText() != tc.levelText || p.Provisional != strings.HasSuffix(tc.levelText, " now") {
				t.Errorf("level %q, levelText %q, provisional %v; want %q, %q", n.Level, n.LevelText(), p.Provisional, tc.want, tc.levelText)
			}
			for _, count := range p.Levels {
				if want := map[bool]int{true: 1}[count.Level == tc.want]; count.Nodes != want {
					t.Errorf("%d nodes are %s, want %d", count.Nodes, count.Level, want)
				}
			}
		})
	}
}

// The headline names the hottest node, what makes it hot, and what is done about it.
func TestHeadline(t *testing.T) {
	const over = "cpu avg_5m 96.0% is above the evict line 65%"
	hot := func(action string) Headline {
		return Headline{Node: "node-b", Text: "node-b is hot", By: over, Action: action}
	}
	cases := map[string]struct {
		change func(*Facts)
		want   Headline
	}{
		"pods are on the way": {
			func(f *Facts) {
				f.Cycle, f.Stops.Hold = cycle(""), "ProbeNotLanded"
				f.InFlight = []ledger.Move{move("web-1", ledger.Booked, "node-a", time.Minute), move("web-2", ledger.Intended, "", 0)}
			},
			hot("2 pods are on the way off it: shop/web-1 to node-a, shop/web-2 to a node that kube-scheduler chooses."),
		},
		"paused": {
			func(f *Facts) {
				f.Paused, f.Cycle = "evicting is paused by ConfigMap evenkeel/evenkeel-pause", cycle("", "web-1")
			},
			hot("No pod is moved: evicting is paused by ConfigMap evenkeel/evenkeel-pause."),
		},
		"usage is not good enough": {
			func(f *Facts) { f.Stops.Usage = "UsageCoverageTooLow: 1 of 3 ready nodes have fresh usage" },
			hot("No pod is moved: UsageCoverageTooLow: 1 of 3 ready nodes have fresh usage."),
		},
		"on hold": {
			func(f *Facts) { f.Stops.Hold, f.Stops.HoldUntil = "ProbeNotLanded", noon.Add(10*time.Minute) },
			hot("No pod is moved: evicting is on hold until 12:10:00 UTC: the first replacement was not bound in time (ProbeNotLanded)."),
		},
		"the budget is used up": {
			func(f *Facts) { f.Stops.Safeguard, f.Stops.Left = reasons.MovesPerHour, 0 },
			hot("No pod is moved: all moves for this hour are used up (MovesPerHour)."),
		},
		"another process plans": {
			func(f *Facts) { f.NoPlan = "another replica leads" }, hot("Another replica leads."),
		},
		"planned": {func(f *Facts) { f.Cycle = cycle("", "web-1", "web-2") }, hot("The cycle at 11:59:00 UTC planned 2 moves off it; 0 landed.")},
		"planned, and landed since": {
			func(f *Facts) {
				f.Cycle = cycle("", "web-1", "web-2")
				f.Ended = []ledger.Move{move("before", ledger.Landed, "node-a", 2*time.Minute), move("web-1", ledger.Landed, "node-a", 50*time.Second)}
			},
			hot("The cycle at 11:59:00 UTC planned 2 moves off it; 1 landed."),
		},
		"left hot": {
			func(f *Facts) { f.Cycle = cycle(reasons.NoLanding) },
			hot("The cycle at 11:59:00 UTC left it hot: " + reasons.NoLanding.SentenceOfNode() + " (NoLanding)."),
		},
		"hot since the cycle": {
			func(f *Facts) { f.Cycle = cycle(""); f.Cycle.Plan.Nodes[1].State = thresholds.Warm },
			hot("It was not hot at the last cycle, at 11:59:00 UTC, and the next one decides what is moved."),
		},
		"nothing was planned": {
			func(f *Facts) { f.Cycle = &status.Cycle{At: noon, Closed: "the window is shut"} }, hot("The cycle at 12:00:00 UTC planned nothing: the window is shut."),
		},
		"left out of the cycle": {
			func(f *Facts) { f.Cycle = &status.Cycle{At: noon} },
			hot("The cycle at 12:00:00 UTC did not include it: the policy's nodeSelector excludes it, or it was not ready."),
		},
		"two are hot": {
			func(f *Facts) {
				f.States["node-c"] = thresholds.NodeState{State: thresholds.Hot, Since: noon}
				f.NoPlan = "no plan"
			},
			Headline{Node: "node-b", Text: "node-b is the hottest of 2 hot nodes", By: over, Action: "No plan."},
		},
		"cooling": {
			func(f *Facts) {
				f.View.Nodes[1].Current[1][0], f.Cycle = 6000, cycle("")
				f.Ended = []ledger.Move{move("web-1", ledger.Landed, "node-a", 30*time.Minute), move("web-2", ledger.Expired, "node-a", time.Minute)}
			},
			Headline{
				Node: "node-b", Text: "node-b is cooling", By: "no longer above an evict line in all windows; cpu avg_5m 60.0% is above the leave line 55%",
				Action: "1 move off it landed in the last hour; the cycle at 11:59:00 UTC found nothing more that has to leave.",
			},
		},
		"two are cooling": {
			func(f *Facts) {
				f.View.Nodes[1].Current[1][0], f.View.Nodes[2].Current[1][0] = 6000, 5800
				f.States["node-c"], f.NoPlan = thresholds.NodeState{State: thresholds.Hot, Since: noon}, "no plan"
			},
			Headline{
				Node: "node-b", Text: "2 nodes are cooling; node-b is the fullest of them",
				By: "no longer above an evict line in all windows; cpu avg_5m 60.0% is above the leave line 55%", Action: "No plan.",
			},
		},
		"none is hot": {
			func(f *Facts) { f.States["node-b"] = thresholds.NodeState{State: thresholds.Warm} },
			Headline{
				Node: "node-b", Text: "No node is hot; node-b is above an evict line", By: "cpu 96.6%, memory 40.0%",
				Action: "node-b is not hot yet: cpu avg_5m 96.0% is above the evict line 65%, in 0 of the 3 samples in a row that make it hot.",
			},
		},
		"none is above a line": {
			func(f *Facts) {
				for _, amounts := range [][]cluster.Amounts{f.View.Nodes[1].Measured, f.View.Nodes[1].Current, f.View.Nodes[1].Predicted} {
					amounts[0][0], amounts[1][0] = 5800, 5800
				}
				f.States["node-b"] = thresholds.NodeState{State: thresholds.Warm}
			},
			Headline{Node: "node-b", Text: "No node is hot; node-b is the fullest", By: "cpu 58.0%, memory 40.0%", Action: "Nothing has to be moved."},
		},
		"hot by windows, behind one by its newest reading": {
			func(f *Facts) {
				f.View.Nodes[0].Measured[0][0], f.View.Nodes[0].Unknown = 9900, reasons.WindowTooShort
				f.States["node-a"], f.NoPlan = thresholds.NodeState{State: thresholds.Unknown}, "no plan"
			},
			hot("No plan."),
		},
		"hot by the newest reading alone": {
			func(f *Facts) {
				for i := range f.View.Nodes {
					f.View.Nodes[i].Unknown = reasons.WindowTooShort
					f.States[f.View.Snapshot.Nodes[i].Node.Name] = thresholds.NodeState{State: thresholds.Unknown}
				}
			},
			Headline{
				Node: "node-b", Text: "node-b is hot by its newest reading", By: "cpu 96.6%, memory 40.0%",
				Action: "Whether it is hot by the policy's windows is known once these are filled; nothing is evicted before that.",
			},
		},
		"a source that fails": {
			func(f *Facts) {
				f.View, f.Sources = nil, []Source{{Source: status.Source{Name: "Prometheus", Error: "connection refused"}}}
			},
			Headline{Text: "No usage is known", By: "Prometheus could not be read: connection refused", Action: "Nothing is evicted."},
		},
		"only plugins move pods, without usage": {
			func(f *Facts) {
				f.View, f.Sources, f.Stops.Usage, f.Moving, f.Cycle = nil, nil, "usage is not known", status.Moves{ByPlugins: true}, cycle("")
				f.Cycle.Plan.Moves = []strategies.Move{{From: "node-a", To: "node-b", Plugin: "RemoveDuplicates"}}
				f.Cycle.Plan.Declined = []strategies.Declined{{Pod: strategies.Pod{Pod: &cluster.Pod{Name: "web-1"}}, Plugin: "RemoveDuplicates"}}
			},
			Headline{
				Text: "No usage is known", By: "There is no reading yet.",
				Action: "The cycle at 11:59:00 UTC planned 1 move that RemoveDuplicates asked for. 1 pod that a plugin asks for would stay, as listed below.",
			},
		},
		"only plugins move pods, and a node is hot": {
			func(f *Facts) {
				f.Stops.Usage, f.Moving, f.Cycle = "usage is not known", status.Moves{ByPlugins: true}, cycle("")
			},
			hot("No plugin of the policy moves pods because their node is hot."),
		},
		"before the first reading": {
			func(f *Facts) { f.View, f.Sources = nil, nil },
			Headline{Text: "No usage is known", By: "There is no reading yet.", Action: "Nothing is evicted."},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := burning(t).facts()
			tc.change(f)
			p := New(f)
			if diff := cmp.Diff(tc.want, p.Headline); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(p.Hot) > 0 && (!strings.HasPrefix(p.Hot[0].Summary, "node-b is hot since ") || !strings.HasSuffix(p.Hot[0].Summary, " "+p.Hot[0].Action)) {
				t.Errorf("summary %q", p.Hot[0].Summary)
			}
		})
	}
}

// If a node is measured above its evict line, the page does not claim that nothing has to be moved. It explains why the
// node is not hot, or not cool.
func TestUnsettledNodes(t *testing.T) {
	h := testkit.Unsettled(t)
	f := burning(t).facts()
	f.View, f.Lines, f.States, f.Board = h.View, h.Lines, h.States, scorer.NewBoard(h.View, h.Lines, scorer.Config{})
	p := New(f)
	const why = "cpu avg_5m is measured at 96.6%, above the evict line 65%, and counts as 12.2%: " +
		"84.4 points are from 12 pods that started 4 min ago and count from 05:30 UTC on."
	want := Headline{
		Node: testkit.StartingNode, Text: "No node is hot; starting is above an evict line", By: "cpu 96.6%, memory 10.0%", Action: "starting is not hot yet: " + why,
	}
	if diff := cmp.Diff(want, p.Headline); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var above []string
	for _, n := range p.NotHot {
		above = append(above, n.Name)
	}
	if diff := cmp.Diff([]string{testkit.StartingNode, testkit.SpikeNode, testkit.UnseenNode, testkit.EndedNode}, above); diff != "" {
		t.Errorf("above an evict line and not hot (-want +got):\n%s", diff)
	}
	got := rendered(t, f, Query{})
	for _, want := range []string{
		"No node is hot; starting is above an evict line", "<h3>Above an evict line but not hot</h3>", "<small>Not hot yet: " + why + "</small>",
		"<small>Not cool: cpu avg_5m is predicted at 53.0%, above the low line 45%, and measured at 10.0%: 43.0 points are estimated",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(got, "Nothing has to be moved") {
		t.Error("the page says that nothing has to be moved")
	}
}

// Declined pods are grouped by owner and reason. A pod without an owner is a group by itself.
func TestDeclined(t *testing.T) {
	declined := func(name, owner, node string, reason reasons.Reason, detail string) strategies.Declined {
		pod := &cluster.Pod{Namespace: "shop", Name: name}
		if owner != "" {
			pod.Owner = cluster.Owner{UID: owner, Kind: "ReplicaSet", Name: owner}
		}
		return strategies.Declined{Pod: strategies.Pod{Pod: pod}, Node: node, Reason: reason, Detail: detail}
	}
	f := burning(t).facts()
	f.Cycle = cycle("")
	f.Cycle.Plan.Declined = []strategies.Declined{
		declined("web-2", "web", "node-c", reasons.NoLanding, "no room"), declined("web-1", "web", "node-b", reasons.NoLanding, "no room"),
		declined("web-3", "web", "node-b", reasons.OwnerRollingOut, ""), declined("bare", "", "node-b", reasons.NoController, ""),
	}
	want := []status.DeclinedGroup{
		{Namespace: "shop", Owner: "ReplicaSet/web", Reason: "NoLanding", Detail: "no room", Pods: []string{"web-2", "web-1"}, Nodes: []string{"node-c", "node-b"}},
		{Namespace: "shop", Owner: "ReplicaSet/web", Reason: "OwnerRollingOut", Detail: reasons.OwnerRollingOut.Sentence(), Pods: []string{"web-3"}, Nodes: []string{"node-b"}},
		{Namespace: "shop", Owner: "bare (no owner)", Reason: "NoController", Detail: reasons.NoController.Sentence(), Pods: []string{"bare"}, Nodes: []string{"node-b"}},
	}
	if diff := cmp.Diff(want, New(f).Declined); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The page shows one profile's plan and names the other profiles.
func TestProfilesThatAreNotShownAreNamed(t *testing.T) {
	f := burning(t).facts()
	f.Cycle = cycle("")
	if page := rendered(t, f, Query{}); strings.Contains(page, "Not shown") {
		t.Error("one profile alone leaves something out")
	}
	f.OtherProfiles = []string{"batch"}
	const want = "Not shown: the plan of another profile of the policy that moves pods by real usage: batch."
	if page := rendered(t, f, Query{}); !strings.Contains(page, want) {
		t.Errorf("want %q", want)
	}
	if got := New(f).OtherProfiles; len(got) != 1 {
		t.Errorf("the JSON names %v", got)
	}
}

// manyDeclined returns facts with a plan that declines two pods of one DaemonSet on each of many nodes.
func manyDeclined(t testing.TB, nodes int) *Facts {
	f := burning(t).facts()
	f.Cycle = cycle("")
	for i := range 2 * nodes {
		pod := &cluster.Pod{Namespace: "shop", Name: fmt.Sprintf("agent-%06d", i), Owner: cluster.Owner{UID: "agent", Kind: "DaemonSet", Name: "agent"}}
		f.Cycle.Plan.Declined = append(f.Cycle.Plan.Declined, strategies.Declined{
			Pod: strategies.Pod{Pod: pod}, Node: fmt.Sprintf("node-%05d", i%nodes), Reason: reasons.NoLanding,
		})
	}
	return f
}

// The JSON contains all pods of an owner with pods on many nodes, such as a DaemonSet, and the
// table the first ones.
func TestDeclinedOnManyNodes(t *testing.T) {
	const nodes = 60_000
	f := manyDeclined(t, nodes)
	rows := f.Cycle.Declined()
	if len(rows) != 1 || len(rows[0].Pods) != 2*nodes || len(rows[0].Nodes) != nodes {
		t.Fatalf("%d rows", len(rows))
	}
	if page := rendered(t, f, Query{}); !strings.Contains(page, "<td>node-00000, node-00001, node-00002 and 59997 more</td>") || len(page) > 20_000 {
		t.Errorf("a page of %d bytes, or one that does not say how many nodes there are", len(page))
	}
}

// Moves in flight are shown whatever their age, and ended ones for an hour.
func TestMoves(t *testing.T) {
	f := burning(t).facts()
	f.InFlight = []ledger.Move{move("old", ledger.Evicted, "node-a", 2*time.Hour), move("new", ledger.Intended, "node-a", time.Second)}
	f.Ended = []ledger.Move{move("gone", ledger.Landed, "node-a", 2*time.Hour), move("past", ledger.Cancelled, "node-a", 30*time.Minute)}
	p := New(f)
	var got []string
	for i := range p.Moves {
		got = append(got, told(&p.Moves[i]))
	}
	want := []string{
		"shop/new from node-b to node-a: Intended", "shop/old from node-b to node-a: Evicted", "shop/past from node-b to node-a: Cancelled",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("moves (-want +got):\n%s", diff)
	}
	// Now, which is 5 s after noon, is at position 1000, and an hour ago at 0. 6 s are 1.7 units,
	// so the bar has the minimum width but does not extend past the end. 30:05 and 29:05 minutes
	// ago are at 1000 - 501 and 1000 - 484.
	type place struct{ X, Y, Width int }
	var bars []place
	for _, b := range drawMoves(p).Bars {
		bars = append(bars, place{b.X, b.Y, b.Width})
	}
	if diff := cmp.Diff([]place{{1000 - thinnest, 0, thinnest}, {0, barPitch, 1000}, {499, 2 * barPitch, 17}}, bars); diff != "" {
		t.Errorf("bars (-want +got):\n%s", diff)
	}
}

// If a move landed elsewhere, the page says so and shows how it was judged.
func TestMovesThatLandedElsewhere(t *testing.T) {
	m := status.RecordedMove{
		Move:    status.Move{Namespace: "shop", Pod: "web-1", From: "n1", To: "n2", Node: "n3", State: string(ledger.Landed)},
		Outcome: &status.Outcome{},
	}
	const want = "shop/web-1 from n1 to n3: Landed, planned to n2, did not help"
	if got := told(&m); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The replicas of a process are the pods with the same owner in its namespace.
func TestReplicas(t *testing.T) {
	y := newYard(t)
	y.node("n1", thresholds.Cool, 1000, 1000)
	y.pod("evenkeel", "evenkeel-1", "rs", 10)
	y.pod("evenkeel", "other", "another", 10)
	y.pod("elsewhere", "evenkeel-3", "rs", 10)
	y.node("n2", thresholds.Cool, 1000, 1000)
	y.pod("evenkeel", "evenkeel-2", "rs", 10)
	want := []Replica{{Pod: "evenkeel/evenkeel-1", Node: "n1", Ready: true}, {Pod: "evenkeel/evenkeel-2", Node: "n2", Ready: true, This: true}}
	if diff := cmp.Diff(want, Replicas(y.view, "evenkeel", "evenkeel-2")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := Replicas(y.view, "evenkeel", "laptop"); len(got) != 0 {
		t.Errorf("a process elsewhere has %v", got)
	}
}
