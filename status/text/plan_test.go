package text

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/terminal/layout"
	"github.com/evenkeel/evenkeel/internal/testkit"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/status"
	"github.com/evenkeel/evenkeel/strategies"
)

var update = flag.Bool("update", false, "Rewrite what is printed in testdata.")

const mib = 1 << 20

var (
	noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	p50  = usage.Window{Kind: usage.KindQuantile, Percentile: 50, Over: 5 * time.Minute}
)

func over(metric usage.Metric, window usage.Window, value, evict float64) thresholds.Evidence {
	return thresholds.Evidence{Metric: metric, Window: window, Value: value, Evict: evict, Percent: true}
}

// pod returns a pod of a ReplicaSet, or of no owner if the owner's name is empty.
func pod(namespace, owner, name string, used cluster.Amounts) strategies.Pod {
	p := cluster.Pod{UID: namespace + name, Namespace: namespace, Name: name}
	if owner != "" {
		p.Owner = cluster.Owner{UID: owner, Kind: "ReplicaSet", Name: owner}
	}
	return strategies.Pod{Pod: &p, Usage: used}
}

func move(p strategies.Pod, from, to string, fromBefore, fromAfter, toBefore, toAfter cluster.Percents) strategies.Move {
	return strategies.Move{
		Pod: p, From: from, To: to, Reason: reasons.NodeHot, FromBefore: fromBefore, FromAfter: fromAfter, ToBefore: toBefore, ToAfter: toAfter,
	}
}

func declined(p strategies.Pod, node string, reason reasons.Reason, detail string) strategies.Declined {
	return strategies.Declined{Pod: p, Node: node, Reason: reason, Detail: detail}
}

// measured sets the measured usage of nodes to what their plan assumes, unless the test has set it.
func measured(f *status.PlanFacts) *status.PlanFacts {
	for _, n := range f.Nodes {
		if n.Measured != (cluster.Percents{}) {
			return f
		}
	}
	for _, n := range f.Plan.Nodes {
		observedNode(f, n.Name).Measured = n.Before
	}
	return f
}

// observedNode returns a node of the facts, so that a test can change it.
func observedNode(f *status.PlanFacts, name string) *status.ObservedNode {
	if f.Nodes == nil {
		f.Nodes = map[string]*status.ObservedNode{}
	}
	if f.Nodes[name] == nil {
		f.Nodes[name] = &status.ObservedNode{}
	}
	return f.Nodes[name]
}

func node(name string, state thresholds.State, reason reasons.Reason, before, after cluster.Percents) strategies.NodeReport {
	return strategies.NodeReport{Name: name, State: state, Reason: reason, Before: before, After: after}
}

// busy returns a plan that has everything.
func busy() *status.PlanFacts {
	web := func(name string) strategies.Pod {
		return pod("storefront", "web-7d9f8b6c4", name, cluster.Amounts{980, 1600 * mib})
	}
	cache, agent := pod("shop", "cache-5c6b", "cache-5c6b-x7k2p", cluster.Amounts{400, 9000 * mib}), pod("lab", "agent", "agent-10", cluster.Amounts{})
	fresh := pod("shop", "api-66d9", "api-66d9-q8r1z", cluster.Amounts{500, 100 * mib})
	agent.Owner.Kind, cache.Disruption = "DaemonSet", strategies.Disruption{Quarters: 6}
	const elsewhere = "of 4 cool nodes, 1: TaintToleration: node(s) had untolerated taint(s); 3: NodeAffinity: node(s) didn't match Pod's node affinity/selector"
	return &status.PlanFacts{
		At: noon,
		Plan: strategies.Plan{
			Moves: []strategies.Move{
				move(web("web-7d9f8b6c4-aaaaa"), "node-01", "node-07", cluster.Percents{89.5, 40}, cluster.Percents{79.7, 37.6}, cluster.Percents{12, 20}, cluster.Percents{21.8, 22.4}),
				move(web("web-7d9f8b6c4-bbbbb"), "node-01", "node-08", cluster.Percents{79.7, 37.6}, cluster.Percents{63.9, 35.2}, cluster.Percents{31, 30}, cluster.Percents{40.8, 32.4}),
				move(cache, "node-02", "node-07", cluster.Percents{35, 88}, cluster.Percents{31, 74.3}, cluster.Percents{21.8, 22.4}, cluster.Percents{25.8, 36.1}),
			},
			Declined: []strategies.Declined{
				declined(pod("lab", "ssd", "ssd-23", cluster.Amounts{}), "node-03", reasons.NoLanding, elsewhere),
				declined(pod("lab", "ssd", "ssd-24", cluster.Amounts{}), "node-03", reasons.NoLanding, elsewhere),
				declined(agent, "node-01", reasons.DaemonSetPod, ""),
				declined(pod("lab", "", "bare-15", cluster.Amounts{}), "node-01", reasons.NoController, ""),
				declined(fresh, "node-01", reasons.OwnerRollingOut, ""),
				declined(pod("shop", "api-66d9", "api-66d9-w4t9b", cluster.Amounts{}), "node-02", reasons.PodDisruptionBudgetExhausted, ""),
			},
			Nodes: []strategies.NodeReport{
				node("node-01", thresholds.Hot, "", cluster.Percents{89.5, 40}, cluster.Percents{63.9, 35.2}),
				node("node-02", thresholds.Hot, "", cluster.Percents{35, 88}, cluster.Percents{31, 74.3}),
				node("node-03", thresholds.Hot, reasons.NoLanding, cluster.Percents{97, 30}, cluster.Percents{97, 30}),
				node("node-04", thresholds.Hot, "", cluster.Percents{62, 30}, cluster.Percents{62, 30}),
				node("node-07", thresholds.Cool, "", cluster.Percents{12, 20}, cluster.Percents{25.8, 36.1}),
				node("node-08", thresholds.Cool, "", cluster.Percents{31, 30}, cluster.Percents{40.8, 32.4}),
				node("node-09", thresholds.Unknown, "", cluster.Percents{}, cluster.Percents{}),
			},
		},
		Nodes: map[string]*status.ObservedNode{
			"node-01": {Evidence: []thresholds.Evidence{over(usage.CPU, usage.Avg5m, 89.5, 65), over(usage.CPU, p50, 88.13, 65)}},
			"node-02": {Evidence: []thresholds.Evidence{over(usage.Memory, usage.Avg5m, 88, 80)}},
			"node-03": {Evidence: []thresholds.Evidence{over(usage.CPU, usage.Avg5m, 97, 65), {Metric: thresholds.MemoryAvailable, Window: usage.Avg5m, Value: 8, Evict: 10, Below: true, Percent: true}}},
		},
		Until:    map[string]time.Time{fresh.UID: noon.Add(2 * time.Minute), agent.UID: noon.Add(-time.Second)},
		Steering: status.SteeringEvidence{Required: policy.SteeringAuto, Extender: "http://127.0.0.1:8888", Asked: 4711},
	}
}

// idle returns a plan without moves.
func idle() *status.PlanFacts {
	return &status.PlanFacts{
		At:       noon,
		Plan:     strategies.Plan{Nodes: []strategies.NodeReport{node("node-01", thresholds.Warm, "", cluster.Percents{55, 40}, cluster.Percents{55, 40})}},
		Steering: status.SteeringEvidence{Required: policy.SteeringNone},
		Watched:  105 * time.Second, ShortOf: 150 * time.Second,
	}
}

// young returns a plan with two nodes that would be hot if they had been ready for longer.
func young() *status.PlanFacts {
	f := idle()
	for _, name := range []string{"node-02", "node-03"} {
		f.Plan.Nodes = append(f.Plan.Nodes, node(name, thresholds.Warm, "", cluster.Percents{96.6, 40}, cluster.Percents{96.6, 40}))
	}
	for name, from := range map[string]time.Time{"node-02": noon.Add(150 * time.Second), "node-03": noon.Add(2 * time.Minute)} {
		n := observedNode(f, name)
		n.CountsFrom, n.Evidence = from, []thresholds.Evidence{over(usage.CPU, usage.Avg5m, 96.6, 65)}
		n.NotHot = &status.Basis{Text: "cpu avg_5m 96.6% is above the evict line 65%, but it became ready too recently for that to count before 12:03 UTC"}
	}
	observedNode(f, "node-01").CountsFrom = noon
	return f
}

// A node with unknown usage is beyond no line. A node with too little available memory is below its
// line, not above it.
func TestYoungNodesAreThoseWithUsage(t *testing.T) {
	facts := young()
	facts.Plan.Nodes[1].State, facts.Nodes["node-02"].NotHot = thresholds.Unknown, nil
	facts.Nodes["node-03"].Evidence = []thresholds.Evidence{{Metric: thresholds.MemoryAvailable, Window: usage.Avg5m, Value: 8, Evict: 10, Below: true, Percent: true}}
	if n := status.NewPlan(facts).Nodes[1]; n.CountsFrom != nil || n.Exceeded != nil || n.Before != nil {
		t.Errorf("a node without usage is listed as %+v", n)
	}
	got := printedPlan(facts, layout.Style{Width: 160}, false)
	if want := "Not hot:        node-03 is not hot: cpu avg_5m 96.6% is above the evict line 65%, but it became ready too recently"; !strings.Contains(got, want) || strings.Contains(got, "node-02 is not hot") {
		t.Errorf("want %q in\n%s", want, got)
	}
}

// If a node is measured above its evict line, a plan that reports no hot nodes explains why this
// node is not hot.
func TestUnsettledNodes(t *testing.T) {
	h := testkit.Unsettled(t)
	facts, f := status.Facts{View: h.View, Lines: h.Lines, States: h.States, SamplesNeeded: 3}, idle()
	f.Plan.Nodes = nil
	for i, n := range h.View.Snapshot.Nodes {
		f.Plan.Nodes = append(f.Plan.Nodes, node(n.Node.Name, h.States[n.Node.Name].State, "", cluster.Percents{50, 10}, cluster.Percents{50, 10}))
		known := observedNode(f, n.Node.Name)
		known.NotHot, known.NotCool = facts.Bases(i)
	}
	got := printedPlan(f, layout.Style{Width: 400}, true)
	for _, want := range []string{
		"Hot nodes:      none of 6; 4 nodes are measured above an evict line but not hot, as explained below\n",
		"starting is not hot yet: cpu avg_5m is measured at 96.6%, above the evict line 65%, and counts as 12.2%: " +
			"84.4 points are from 12 pods that started 4 min ago and count from 05:30 UTC on.\n",
		"Not cool:       estimated is not cool: cpu avg_5m is predicted at 53.0%, above the low line 45%, and measured at 10.0%: 43.0 points are estimated",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
	if got := printedPlan(f, layout.Style{Width: 400}, false); !strings.Contains(got, "                And 1 more; -o wide lists all.\n") {
		t.Errorf("a narrow page does not say what it leaves out:\n%s", got)
	}
	r := status.NewPlan(f)
	if starting := r.Nodes[4]; starting.NotHot == nil || *starting.NotHot.Measured != 96.6 || r.Summary.NotHotNodes != 4 {
		t.Errorf("as values: %+v, %+v", starting, r.Summary)
	}
}

// The highest usage in a plan is measured. For a node without moves, the estimates for new pods
// must not look like an effect of the plan.
func TestHighestIsMeasured(t *testing.T) {
	between := func() *status.PlanFacts { // measured above its low line, predicted below its evict line
		f := idle()
		observedNode(f, "node-01").Measured = cluster.Percents{50, 40}
		return f
	}
	ofAnother := func() *status.PlanFacts {
		f := idle()
		f.Plan.Nodes = append(f.Plan.Nodes, node("node-02", thresholds.Warm, "", cluster.Percents{12, 20}, cluster.Percents{12, 20}))
		observedNode(f, "node-01").Measured, observedNode(f, "node-02").Measured = cluster.Percents{30, 40}, cluster.Percents{96.6, 41}
		return f
	}
	hot := func() *status.PlanFacts { // part of the measured usage has left with pods that ended
		f := busy()
		for _, n := range f.Plan.Nodes {
			observedNode(f, n.Name).Measured = n.Before
		}
		f.Nodes["node-03"].Measured = cluster.Percents{99, 30}
		return f
	}
	for name, tc := range map[string]struct {
		facts  *status.PlanFacts
		lines  []string
		levels [2]status.Level
		wide   string
	}{
		"predicted higher":       {between(), []string{"Highest CPU:    50.0% on node-01\n", "Highest memory: 40.0% on node-01\n"}, [2]status.Level{{Node: "node-01", Percent: 50}, {Node: "node-01", Percent: 55}}, "node-01  warm   50.0%  40.0%   55.0% → 55.0%"},
		"measured higher":        {ofAnother(), []string{"Highest CPU:    96.6% on node-02\n", "Highest memory: 41.0% on node-02\n"}, [2]status.Level{{Node: "node-02", Percent: 96.6}, {Node: "node-01", Percent: 55}}, "node-02  warm   96.6%  41.0%   12.0% → 12.0%"},
		"of a hot node, in part": {hot(), []string{"Highest CPU:    99.0% on node-03, after the moves 97.0% on node-03\n"}, [2]status.Level{{Node: "node-03", Percent: 99}, {Node: "node-03", Percent: 97}}, "node-03  hot      99.0%  30.0%   97.0% → 97.0%"},
	} {
		got := printedPlan(tc.facts, layout.Style{Width: 400}, true)
		for _, want := range append(tc.lines, tc.wide) {
			if !strings.Contains(got, want) {
				t.Errorf("%s: want %q in\n%s", name, want, got)
			}
		}
		if highest := status.NewPlan(tc.facts).Summary.HighestCPU; highest.Before != tc.levels[0] || highest.After != tc.levels[1] {
			t.Errorf("%s: as values %+v, want %+v", name, highest, tc.levels)
		}
	}
}

// Plugins that evict without a plan are not steered, so nothing is printed about steering.
func TestSteeringOfPlansAlone(t *testing.T) {
	f := idle()
	if got := printedPlan(f, layout.Style{}, false); !strings.Contains(got, "\nSteering:") {
		t.Errorf("a plan does not say how it is steered:\n%s", got)
	}
	f.Closed = status.NothingByUsage
	if got := printedPlan(f, layout.Style{}, false); strings.Contains(got, "Steering:") {
		t.Errorf("a policy without plans is said to be steered:\n%s", got)
	}
}

// Pods that plugins evict without a plan are listed with source, plugin, reason and where their
// replacements land, or why that is nowhere.
func TestEvictionsAreListed(t *testing.T) {
	f := idle()
	f.Closed = status.NothingByUsage
	evict := func(name, to, none string) {
		p := pod("shop", "rs", name, cluster.Amounts{})
		p.Node = "node-03"
		f.Evictions = append(f.Evictions, strategies.Eviction{Pod: p.Pod, Plugin: "PodLifeTime", Why: "it is old", To: to, NoDestination: none})
	}
	evict("a-1", "node-07", "")
	evict("a-2", "", "no other node takes it")
	for _, wide := range []bool{false, true} {
		got := strings.Join(strings.Fields(printedPlan(f, layout.Style{}, wide)), " ")
		for _, want := range []string{"PodLifeTime: it is old.", "shop/a-1 node-03", "node-07", "shop/a-2 node-03", "none: no other node takes it"} {
			if !strings.Contains(got, want) {
				t.Errorf("wide %v: want %q in\n%s", wide, want, got)
			}
		}
	}
}

// Hot nodes that are not part of a plan are named, so that "none" is not misleading.
func TestHotNodesLeftOut(t *testing.T) {
	f := idle()
	f.HotLeftOut = []string{"gpu-1"}
	const want = "Left out:       1 node is hot but excluded by the policy's nodeSelector: gpu-1."
	if got := printedPlan(f, layout.Style{Width: 200}, false); !strings.Contains(got, want) {
		t.Errorf("want %q in\n%s", want, got)
	}
}

// A plan belongs to one profile. It names the other profiles that plan moves.
func TestProfilesThatAreNotShownAreNamed(t *testing.T) {
	f := idle()
	if got := printedPlan(f, layout.Style{Width: 200}, false); strings.Contains(got, "Not shown") {
		t.Errorf("one profile alone leaves something out:\n%s", got)
	}
	f.OtherProfiles = []string{"batch"}
	const want = "Not shown:      the moves by real usage of 1 other profile of the policy: batch."
	if got := printedPlan(f, layout.Style{Width: 200}, false); !strings.Contains(got, want) {
		t.Errorf("want %q in\n%s", want, got)
	}
}

// Moves that have nothing to do with hot nodes are listed by reason, and do not count as cooling a
// node.
func TestOtherMovesAreListed(t *testing.T) {
	f := idle()
	pod := strategies.Pod{Pod: &cluster.Pod{Namespace: "shop", Name: "web-1", Owner: cluster.Owner{Kind: "ReplicaSet", Name: "web"}}, Usage: cluster.Amounts{300, 1 << 30}}
	f.Closed = ""
	f.Plan.Moves = []strategies.Move{{Pod: pod, From: "dear", To: "cheap", Reason: reasons.PreferredNode, Why: "It is preferred.", ToBefore: cluster.Percents{10, 10}, ToAfter: cluster.Percents{13, 11}}}
	got := printedPlan(f, layout.Style{Width: 200}, false)
	for _, want := range []string{"OTHER MOVES", "PreferredNode: its preferred node affinity rates its destination higher", "shop/web-1"} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "WILL BE HOT") || len(status.NewPlan(f).Relieving()) > 0 {
		t.Errorf("a node is relieved:\n%s", got)
	}
	if move := status.NewPlan(f).Moves[0]; !strings.HasPrefix(move.Message, "It is preferred. Pod uses ") {
		t.Errorf("message %q", move.Message)
	}
}

// The time that the moves off a node take is printed if they are not all made at once, and is
// always included in the values.
func TestRelief(t *testing.T) {
	f := busy()
	f.Plan.Nodes[0].Relief = &strategies.Relief{Moves: 42, ThisCycle: 2, Takes: 55 * time.Minute, Bound: reasons.MovesPerHour, Limit: 50, Left: 2}
	f.Plan.Nodes[1].Relief = &strategies.Relief{Moves: 1, ThisCycle: 1, Takes: time.Second}
	got := printedPlan(f, layout.Style{Width: 400}, false)
	const want = "2 moves bring it to 63.9% CPU and 35.2% memory. 42 moves take about 55m, 2 of them in the next cycle: " +
		"maxMovesPerHour allows 50 an hour, of which 2 are left.\n"
	if !strings.Contains(got, want) || strings.Contains(got, "less than a minute") {
		t.Errorf("want %q in\n%s", want, got)
	}
	r := status.NewPlan(f)
	reliefs := []*status.Relief{r.Nodes[0].Relief, r.Nodes[1].Relief, r.Nodes[2].Relief}
	diff := cmp.Diff([]*status.Relief{
		{Text: f.Plan.Nodes[0].Relief.Sentence(), Moves: 42, ThisCycle: 2, Minutes: 55, Bound: "MovesPerHour", Limit: 50, Left: new(2)},
		{Text: "1 move takes less than a minute.", Moves: 1, ThisCycle: 1},
		nil,
	}, reliefs, cmpopts.IgnoreUnexported(status.Relief{}))
	if diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

// ahead returns a plan with a node that is not hot yet.
func ahead() *status.PlanFacts {
	f := idle()
	m := move(pod("shop", "report-6f7d", "report-6f7d-m4x8c", cluster.Amounts{500, 900 * mib}), "node-02", "node-04",
		cluster.Percents{18, 30}, cluster.Percents{16.4, 29.6}, cluster.Percents{12, 20}, cluster.Percents{13.6, 20.4})
	m.Reason, m.HotMinutesSaved = reasons.NodeHotAhead, 88
	m.Ahead = &strategies.Ahead{Within: 24 * time.Hour, HotMinutes: 90, PeakPercent: 81.25, PeakAt: noon.Add(14 * time.Hour)}
	f.Plan.Moves = []strategies.Move{m}
	f.Plan.Nodes = append(f.Plan.Nodes,
		node("node-02", thresholds.Cool, "", m.FromBefore, m.FromAfter), node("node-04", thresholds.Cool, "", m.ToBefore, m.ToAfter))
	return f
}

// full returns a plan with a node whose demand exceeds its capacity, and no cool node.
func full() *status.PlanFacts {
	f := idle()
	m := move(pod("shop", "report-6f7d", "report-6f7d-m4x8c", cluster.Amounts{2000, 900 * mib}), "node-03", "node-04",
		cluster.Percents{99, 30}, cluster.Percents{79, 29.6}, cluster.Percents{68, 20}, cluster.Percents{88, 20.4})
	m.Reason, m.CeilingMilliCores = reasons.NodeFull, 9000
	f.Plan.Moves = []strategies.Move{m}
	f.Plan.Nodes = append(f.Plan.Nodes,
		node("node-03", thresholds.Hot, reasons.NoLanding, m.FromBefore, m.FromAfter), node("node-04", thresholds.Hot, reasons.HotThroughImmovable, m.ToBefore, m.ToAfter))
	observedNode(f, "node-03").Evidence = []thresholds.Evidence{over(usage.CPU, usage.Avg5m, 99, 65)}
	observedNode(f, "node-04").Evidence = []thresholds.Evidence{over(usage.CPU, usage.Avg5m, 68, 65)}
	return f
}

// closed returns a plan that was not made because the gate is closed.
func closed() *status.PlanFacts {
	return &status.PlanFacts{
		At: noon, Closed: "UsageWindowsFilling: 0 of 12 ready nodes have fresh usage (WindowTooShort: 12)",
		Paused:   "evicting is paused by ConfigMap evenkeel/evenkeel-pause (incident 4711)",
		Steering: status.SteeringEvidence{Required: policy.SteeringRequired, Hold: ledger.Hold{Reason: string(reasons.SteeringAbsent), Since: noon.Add(-12 * time.Minute), Until: noon.Add(18 * time.Minute)}},
	}
}

// The expected output is in testdata; -update rewrites it.
func TestPrint(t *testing.T) {
	long := busy()
	long.Plan.Moves[0].Name += "-of-a-deployment-with-a-long-name-in-a-region-far-away"
	for name, facts := range map[string]*status.PlanFacts{"busy": busy(), "idle": idle(), "young": young(), "ahead": ahead(), "full": full(), "closed": closed(), "long": long} {
		t.Run(name, func(t *testing.T) {
			text := func(style layout.Style) string { return printedPlan(facts, style, false) }
			testkit.GoldenText(t, *update, "plan-"+name, text)
			if name == "long" {
				testkit.GoldenLayout(t, *update, "plan-"+name, text)
			}
		})
	}
	testkit.Golden(t, *update, filepath.Join("testdata", "plan-busy-wide.txt"), printedPlan(busy(), layout.Style{Width: testkit.Broad}, true))
}

func printedPlan(facts *status.PlanFacts, style layout.Style, wide bool) string {
	page := layout.Page{Style: style, Wide: wide}
	Plan(&page, status.NewPlan(measured(facts)))
	return page.String()
}

// docs/plan.md shows the real output.
func TestDocsShowThis(t *testing.T) {
	docs, err := os.ReadFile(filepath.Join("..", "..", "docs", "plan.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown := strings.ReplaceAll(strings.ReplaceAll("\n"+printedPlan(busy(), layout.Style{}, false), "\n", "\n    "), "    \n", "\n")
	if !strings.Contains(string(docs), strings.TrimRight(shown, " \n")+"\n") {
		t.Errorf("docs/plan.md does not have:%s", shown)
	}
}

// -o json contains what scripts read: kind, counts, and when to retry.
func TestJSON(t *testing.T) {
	data, err := json.MarshalIndent(status.NewPlan(measured(busy())), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, *update, filepath.Join("testdata", "plan-busy.json"), string(append(data, '\n')))
}

// -o name prints only a line for each pod that would move.
func TestNames(t *testing.T) {
	var got layout.Page
	for _, facts := range []*status.PlanFacts{busy(), idle(), closed()} {
		PlanNames(&got, status.NewPlan(facts))
	}
	want := "storefront/web-7d9f8b6c4-aaaaa\nstorefront/web-7d9f8b6c4-bbbbb\nshop/cache-5c6b-x7k2p\n"
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Text from a server cannot control the terminal.
func TestPrintsPlainText(t *testing.T) {
	facts := idle()
	facts.Steering = status.SteeringEvidence{Required: policy.SteeringAuto, Extender: "http://e", Err: errors.New("\x1b]0;title\a\x1b[2Jno\nanswer")}
	got := printedPlan(facts, layout.Style{}, false)
	if strings.ContainsAny(got, "\x1b\a") || !strings.Contains(got, "no answer.") {
		t.Errorf("printed %q", got)
	}
}

// Long lists are shortened with a note. Nodes with moves are always printed.
func TestLongLists(t *testing.T) {
	facts := busy()
	for i := range 3 * listed {
		name := fmt.Sprintf("other-%02d", i)
		facts.Plan.Nodes = append(facts.Plan.Nodes, node(name, thresholds.Hot, reasons.NoLanding, cluster.Percents{70, 30}, cluster.Percents{70, 30}))
		facts.Plan.Declined = append(facts.Plan.Declined, declined(pod("other", name, name, cluster.Amounts{}), name, reasons.NoLanding, ""))
	}
	for wide, want := range map[bool]int{false: listed, true: 3 * listed} {
		got := printedPlan(facts, layout.Style{}, wide)
		nodes, more := strings.Count(got, "\nother-"), strings.Count(got, "-o wide lists all")
		// node-03 is hotter than the others and has no move either. In a wide plan, the table of
		// all nodes follows.
		if wide && (nodes != 2*want || more != 0) || !wide && (nodes != want-1 || more != 2) {
			t.Errorf("wide %v: %d lines of nodes, %d cut\n%s", wide, nodes, more, got)
		}
	}
}
