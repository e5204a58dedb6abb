package status

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/scorer"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/realusage/plan"
)

const gib = 1 << 30

var (
	now       = time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC)
	p50       = usage.Window{Kind: usage.KindQuantile, Percentile: 50, Over: 5 * time.Minute}
	wholeNode = cluster.Amounts{10_000, 100 * gib}
)

// harbor is a cluster that a test builds: nodes with 10 cores and 100 GiB, so that 100m are one
// percent.
type harbor struct {
	t      testing.TB
	view   *usage.View
	states map[string]thresholds.NodeState
	moves  [2][]ledger.Move // in flight, and ended
	rules  []thresholds.Rule
	limits []scorer.Limit
}

func newHarbor(t testing.TB) *harbor {
	cpu := thresholds.Levels{Low: 45, Reject: 60, Evict: 65, Leave: 60}
	none := math.Inf(1)
	return &harbor{
		t:      t,
		view:   &usage.View{At: now, Snapshot: &cluster.Snapshot{}, Windows: []usage.Window{usage.Last, usage.Avg5m, p50}, Signals: []usage.Metric{usage.IOPressure}},
		states: map[string]thresholds.NodeState{},
		rules: []thresholds.Rule{
			{Metric: usage.CPU, Window: usage.Avg5m, Levels: cpu}, {Metric: usage.CPU, Window: p50, Levels: cpu},
			{Metric: thresholds.MemoryAvailable, Window: usage.Avg5m, LowerIsWorse: true, Levels: thresholds.Levels{Low: -none, Reject: 20, Evict: 10, Leave: 15}},
		},
	}
}

// node adds a node with the given CPU usage over last, avg_5m and p50_5m. Nodes are named in order.
func (h *harbor) node(name string, state thresholds.State, last, average, median int64, change ...func(*cluster.Node, *usage.NodeUsage)) {
	record := cluster.Node{Name: name, Allocatable: wholeNode, Capacity: wholeNode, Ready: true, Schedulable: true}
	read := usage.NodeUsage{
		Source: "prometheus", Sampled: now, Age: 12 * time.Second, Span: 5 * time.Minute, SourceSpan: make([]time.Duration, 3),
		Signals: [][]float64{{1.26, math.NaN(), math.NaN()}},
	}
	for _, cpu := range []int64{last, average, median} {
		used := cluster.Amounts{cpu, 20 * gib}
		read.Measured, read.Current, read.Predicted = append(read.Measured, used), append(read.Current, used), append(read.Predicted, used)
	}
	for _, c := range change {
		c(&record, &read)
	}
	h.view.Snapshot.Nodes = append(h.view.Snapshot.Nodes, &cluster.NodePods{Node: record})
	h.view.Nodes = append(h.view.Nodes, read)
	h.states[name] = thresholds.NodeState{State: state, Since: now.Add(-27 * time.Minute), Unknown: read.Unknown}
}

// pod adds a pod to the most recently added node.
func (h *harbor) pod(name string, cpuMilli int64, change ...func(*cluster.Pod, *usage.PodUsage)) {
	i := len(h.view.Nodes) - 1
	node := h.view.Snapshot.Nodes[i]
	pod := &cluster.Pod{
		UID: "uid-" + name, Namespace: "shop", Name: name, Node: node.Node.Name, Owner: cluster.Owner{UID: "rs-1", Kind: "ReplicaSet", Name: "web"},
	}
	read := usage.PodUsage{Measured: true, Span: 5 * time.Minute, Used: cluster.Amounts{cpuMilli, gib}}
	for _, c := range change {
		c(pod, &read)
	}
	node.Pods = append(node.Pods, pod)
	h.view.Nodes[i].Pods = append(h.view.Nodes[i].Pods, read)
}

func (h *harbor) state(node string, change func(*thresholds.NodeState)) {
	state := h.states[node]
	change(&state)
	h.states[node] = state
}

// facts returns what is known without a plan.
func (h *harbor) facts() *Facts {
	h.t.Helper()
	set, err := thresholds.New([]thresholds.Pool{{Rules: h.rules}}, 3)
	if err != nil {
		h.t.Fatal(err)
	}
	resolved, config := set.Resolve(h.view), scorer.Config{}
	if len(h.limits) > 0 {
		config.Measured = &scorer.Measured{Limits: h.limits}
	}
	return &Facts{
		View: h.view, Lines: resolved, Board: scorer.NewBoard(h.view, resolved, config), Limits: h.limits, States: h.states, SamplesNeeded: 3,
		InFlight: h.moves[0], Ended: h.moves[1],
	}
}

// planned returns the facts with a plan, for a question about a pod. Filters reject the nodes in
// refuse.
func (h *harbor) planned(asked string, refuse ...string) *Facts {
	h.t.Helper()
	f := h.facts()
	in := &plan.Input{}
	f.Planned = &Planned{Basis: in}
	for i, info := range h.view.Snapshot.Nodes {
		read := &h.view.Nodes[i]
		n := plan.Node{
			Name: info.Node.Name, Allocatable: info.Node.Allocatable, State: h.states[info.Node.Name].State,
			Current: read.Current[usage.AtAvg5m], Ceiling: f.Board.Ceiling(cluster.NodeIndex(i)), Closed: info.Node.Closed(),
			HotLine: f.Lines.HotLine(i, cluster.CPU), ByCPU: f.Lines.OverOnly(i, usage.CPU),
			OverOther: f.Lines.OverOther(i, usage.CPU), Full: strategies.Full(&info.Node, read.Whole(usage.AtAvg5m)), Course: new(forecast.Course),
		}
		n.Predicted, _ = f.Board.Predicted(cluster.NodeIndex(i))
		n.Load.Shift(n.Predicted[cluster.CPU])
		n.Course.Shift(n.Predicted[cluster.CPU])
		for j, record := range info.Pods {
			pod := strategies.Pod{Pod: record, Usage: read.Pods[j].Used, Expected: forecast.Constant(read.Pods[j].Used[cluster.CPU]), Pattern: read.Pods[j].Pattern}
			n.Course.Shift(-pod.Usage[cluster.CPU])
			n.Course.Add(pod.Expected, pod.Pattern)
			if !read.Pods[j].Measured {
				pod.Refused = reasons.PodUsageUnknown
			}
			if record.Name == asked {
				f.Planned.Pod = &pod
			}
			if n.State == thresholds.Hot || pod.Pattern.Recurs() {
				n.Pods = append(n.Pods, pod)
			}
		}
		if n.State == thresholds.Hot {
			n.Need = f.Lines.Need(i, cluster.Amounts{})
		}
		n.Certain = n.Course
		in.Nodes = append(in.Nodes, n)
	}
	in.Placement, in.MinHotMinutesSaved, in.Recurs, in.At = filters(refuse), 10, daily, now
	f.Planned.Plan = plan.New(*in)
	if f.Planned.Pod != nil {
		f.Planned.Landings = landings(in, f.Planned.Pod)
	}
	return f
}

// landings judges every other node as a destination for a pod.
func landings(in *plan.Input, pod *strategies.Pod) (all []strategies.Landing) {
	for i := range in.Nodes {
		n := &in.Nodes[i]
		with := n.Predicted.Plus(pod.Usage)
		l := strategies.Landing{Node: n.Name, State: n.State, Before: n.Predicted.PercentOf(n.Allocatable), After: with.PercentOf(n.Allocatable)}
		fits, why := in.Placement.Fits(pod.Pod, n.Name)
		switch {
		case n.Name == pod.Node:
			continue
		case n.Closed != "":
			l.Refused, l.Detail = reasons.NodeClosed, n.Closed
		case n.State != thresholds.Cool:
			l.Refused, l.Detail = reasons.NodeNotCool, "it is "+string(n.State)
		case with.Exceeds(n.Ceiling):
			l.Refused = reasons.AboveRejectLine
		case !fits:
			l.Refused, l.Detail = reasons.FilterRefuses, why
		}
		all = append(all, l)
	}
	return all
}

var daily = forecast.Clock{Period: 24 * time.Hour}

// nightly returns the usage of a pod that works from two to four at night.
func nightly(quiet, busy int64) *forecast.Pattern {
	var r forecast.Recurrence
	for second := int64(0); second < 3*86400; second += 300 {
		used := quiet
		if hour := second % 86400 / 3600; hour == 2 || hour == 3 {
			used = busy
		}
		r.Add(daily.Part(second), used)
	}
	r.Finish(daily.Part(3*86400), 0)
	return r.Pattern()
}

// beforeDawn returns a cluster in which n2 will be hot at night.
func beforeDawn(t testing.TB) *harbor {
	h := newHarbor(t)
	h.node("n1", thresholds.Cool, 1000, 1000, 1000)
	h.node("n2", thresholds.Cool, 1500, 1500, 1500)
	for _, name := range []string{"report-1", "report-2"} {
		h.pod(name, 200, func(_ *cluster.Pod, u *usage.PodUsage) { u.Pattern.Pattern, u.Lasts = nightly(200, 4000), true })
	}
	return h
}

// saturated returns a cluster without a cool node and with more demand than fits below its lines.
func saturated(t testing.TB) *harbor {
	h := newHarbor(t)
	h.node("n1", thresholds.Hot, 9900, 9900, 9900)
	for _, name := range []string{"web-1", "web-2", "web-3"} {
		h.pod(name, 3000)
	}
	h.node("n2", thresholds.Warm, 5500, 5500, 5500)
	h.node("n3", thresholds.Hot, 6600, 6600, 6600)
	h.moves[1] = []ledger.Move{{
		Intent: ledger.Intent{
			Namespace: "shop", Pod: "web-old", PodUID: "uid-web-old", Owner: cluster.Owner{UID: "rs-1", Kind: "ReplicaSet", Name: "web"}, From: "n1", To: "n3",
			Usage: cluster.Amounts{400, gib}, CeilingMilliCores: 9000,
		},
		State: ledger.Landed, Node: "n3", Recorded: now.Add(-time.Hour), Ended: now.Add(-59 * time.Minute), ReplacementName: "web-9",
		Outcome: &ledger.Outcome{Planned: true, DestinationUnder: true, Healthy: true},
	}}
	return h
}

// filters reject the nodes that they name.
type filters []string

func (filters) Scores(*cluster.Pod, []string) []int64 { return nil }

func (f filters) Fits(_ *cluster.Pod, node string) (bool, string) {
	if slices.Contains(f, node) {
		return false, "TaintToleration: node(s) had untolerated taint {gpu: true}"
	}
	return true, ""
}

func (filters) Move(*cluster.Pod, string) (func(), error) { return func() {}, nil }

// fleet returns a cluster with a hot node with four pods, a warm node, and cool ones.
func fleet(t testing.TB) *harbor {
	h := newHarbor(t)
	h.node("n1", thresholds.Hot, 8300, 8120, 8090)
	h.pod("web-1", 900)
	h.pod("web-2", 800)
	h.pod("web-3", 300)
	h.pod("web-4", 250, func(_ *cluster.Pod, u *usage.PodUsage) { u.Measured, u.Span = false, 0 })
	h.state("n1", func(s *thresholds.NodeState) { s.Over = 9 })
	h.node("n2", thresholds.Warm, 5000, 5000, 5000)
	h.pod("db-0", 400)
	h.node("n3", thresholds.Cool, 3000, 3000, 3000)
	h.node("n4", thresholds.Cool, 2000, 2000, 2000)
	h.node("n5", thresholds.Cool, 1000, 1000, 1000, func(n *cluster.Node, _ *usage.NodeUsage) { n.Schedulable = false })
	h.node("n6", thresholds.Unknown, 0, 0, 0, func(_ *cluster.Node, u *usage.NodeUsage) { u.Unknown = reasons.UsageStale })
	h.moves[0] = []ledger.Move{{
		Intent:   ledger.Intent{Namespace: "shop", Pod: "web-0", PodUID: "uid-web-0", Owner: cluster.Owner{UID: "rs-1", Kind: "ReplicaSet", Name: "web"}, From: "n1", To: "n4", Usage: cluster.Amounts{500, gib}},
		State:    ledger.Booked,
		Node:     "n4",
		Recorded: now.Add(-time.Minute),
	}}
	h.moves[1] = []ledger.Move{{
		Intent: ledger.Intent{
			Namespace: "shop", Pod: "web-old", PodUID: "uid-web-old", Owner: cluster.Owner{UID: "rs-1", Kind: "ReplicaSet", Name: "web"}, From: "n2", To: "n3",
			Usage: cluster.Amounts{400, gib}, Decision: &ledger.Decision{HotMinutesSaved: 74, WithinMinutes: 240},
		},
		State:    ledger.Landed,
		Node:     "n4",
		Recorded: now.Add(-time.Hour), Ended: now.Add(-59 * time.Minute), ReplacementName: "web-3",
		Outcome: &ledger.Outcome{SourceCooler: true, DestinationUnder: true, Healthy: true}, Saved: &ledger.Saved{HotMinutes: 31, Watched: 58},
	}}
	return h
}

// Explanations returns one explanation of each kind, for tests of the output.
func Explanations(t *testing.T) map[string]Explanation {
	t.Helper()
	node := func(f *Facts, name string) Explanation {
		n, err := OfNode(f, name)
		if err != nil {
			t.Fatal(err)
		}
		return &n
	}
	pod := func(f *Facts, name string) Explanation {
		p, err := OfPod(f, "shop", name)
		if err != nil {
			t.Fatal(err)
		}
		return &p
	}
	return map[string]Explanation{
		"node-hot":     node(fleet(t).planned(""), "n1"),
		"node-cool":    node(fleet(t).planned(""), "n4"),
		"node-ahead":   node(beforeDawn(t).planned(""), "n2"),
		"pod-ahead":    pod(beforeDawn(t).planned("report-1"), "report-1"),
		"node-limits":  node(limited(t).facts(), "n3"),
		"node-unknown": node(fleet(t).facts(), "n6"),
		"node-full":    node(saturated(t).planned(""), "n1"),
		"pod-full":     pod(saturated(t).planned("web-1"), "web-1"),
		"node-long":    longNames(node(fleet(t).planned(""), "n1")),
		"pod-moved":    pod(fleet(t).planned("web-1"), "web-1"),
		"pod-stays":    pod(fleet(t).planned("web-3"), "web-3"),
		"pod-no-plan":  pod(fleet(t).facts(), "web-3"),
		"pod-gone":     pod(fleet(t).planned(""), "web-old"),
		"pod-long":     longNames(pod(fleet(t).planned("web-3"), "web-3")),
	}
}

// OfManyNodes explains a pod with 205 possible destinations.
func OfManyNodes(t *testing.T) PodExplanation {
	t.Helper()
	h := fleet(t)
	for k := range 200 {
		h.node(fmt.Sprintf("o%03d", k), thresholds.Cool, 1000, 1000, 1000)
	}
	p, err := OfPod(h.planned("web-3"), "shop", "web-3")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// longNames gives pods and nodes names of realistic length.
func longNames(e Explanation) Explanation {
	moves := func(all []RecordedMove) {
		for i := range all {
			m := &all[i]
			m.Pod, m.From, m.To, m.Node = LongName(m.Pod), LongName(m.From), LongName(m.To), LongName(m.Node)
		}
	}
	planned := func(all []ExplainedMove) {
		for i := range all {
			all[i].Pod, all[i].From, all[i].To = LongName(all[i].Pod), LongName(all[i].From), LongName(all[i].To)
		}
	}
	switch e := e.(type) {
	case *NodeExplanation:
		e.Name, e.Summary = LongName(e.Name), strings.Replace(e.Summary, e.Name, LongName(e.Name), 1)
		moves(e.MovesFrom)
		planned(e.Leave)
		for i := range e.Declined {
			e.Declined[i].Pod = LongName(e.Declined[i].Pod)
		}
	case *PodExplanation:
		moves(e.Moves)
		for i := range e.Landings {
			e.Landings[i].Node = LongName(e.Landings[i].Node)
		}
	}
	return e
}

// LongName returns a name of realistic length.
func LongName(name string) string { return name + "-7d9f8b6c44-x7k2p.eu-central-1.compute.internal" }
