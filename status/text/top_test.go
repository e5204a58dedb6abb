package text

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/internal/terminal/layout"
	"github.com/evenkeel/evenkeel/internal/testkit"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/scorer"
	"github.com/evenkeel/evenkeel/status"
)

const gib = 1 << 30

// topNode returns a node with 32 cores and 128 GiB and the given usage in percent. -1 means unknown.
func topNode(name, state, now string, cpu, memory float64, change ...func(*status.NodeStatus)) status.NodeStatus {
	n := status.NodeStatus{
		Node: status.Node{NodeState: status.NodeState{Name: name, State: state}}, Now: now, Pods: 34,
		Samples: status.Samples{Source: "MetricsServer", AgeSeconds: 4},
		CPU:     resource(cpu, 32_000, 20, 65),
		Memory:  resource(memory, 128*gib, 17.6, 80),
	}
	for _, c := range change {
		c(&n)
	}
	return n
}

func resource(used float64, whole int64, requested, evict float64) status.ResourceStatus {
	r := status.ResourceStatus{
		Allocatable: whole, Requested: int64(requested / 100 * float64(whole)), RequestedPercent: requested, EvictPercent: &evict,
	}
	if used >= 0 {
		r.Used, r.UsedPercent = new(int64(used/100*float64(whole))), &used
	}
	return r
}

func without(reason string) func(*status.NodeStatus) {
	return func(n *status.NodeStatus) { n.Unknown = reason }
}

// inWindows sets a node's windows and predicted usage.
func inWindows(avg5m, p50, avg15m, predicted float64) func(*status.NodeStatus) {
	return func(n *status.NodeStatus) {
		n.Source, n.AgeSeconds, n.WindowSeconds = "Prometheus", 12, 300
		n.Used = map[string]status.Percents{
			"avg_5m": {CPU: avg5m, Memory: 12.5}, "p50_5m": {CPU: p50, Memory: 12.5}, "avg_15m": {CPU: avg15m, Memory: 12.4}, "last": {CPU: avg5m, Memory: 12.5},
		}
		n.Predicted = status.Percents{CPU: predicted, Memory: 12.5}
	}
}

// Below the table, top explains why nodes are not hot, or not cool, although their measured usage
// suggests that they are.
func TestTopOfUnsettledNodes(t *testing.T) {
	h := testkit.Unsettled(t)
	facts := status.Facts{View: h.View, States: h.States, Lines: h.Lines, Board: scorer.NewBoard(h.View, h.Lines, scorer.Config{}), SamplesNeeded: 3}
	r := report(facts.NodeStatuses()...)
	out := printedTop(t, &r, View{Style: layout.Style{Width: 400}, Wide: true})
	for _, want := range []string{
		"\nstarting is not hot yet: cpu avg_5m is measured at 96.6%, above the evict line 65%, and counts as 12.2%: " +
			"84.4 points are from 12 pods that started 4 min ago and count from 05:30 UTC on.\n",
		"\nestimated is not cool: cpu avg_5m is predicted at 53.0%, above the low line 45%, and measured at 10.0%: 43.0 points are estimated",
		"\nended is not hot: cpu avg_5m is measured at 72.0%", "\nspike is not hot: cpu is measured at 95.0% by the newest reading",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("want %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "calm is not") {
		t.Errorf("a calm node needs no reason:\n%s", out)
	}
}

func report(nodes ...status.NodeStatus) status.Top {
	load := policy.LoadPolicy{}
	load.Hot.MinWindow.Duration, load.Usage.SampleInterval.Duration = 150*time.Second, 15*time.Second
	load.Hot.Windows = []usage.Window{usage.Avg5m, p50, {Kind: usage.KindAvg, Over: 15 * time.Minute}}
	return status.NewTop(nodes, &load)
}

// reports returns the values to print, by the names of their golden files.
func reports() map[string]status.Top {
	short := without("WindowTooShort")
	first := report(
		topNode("node-00", "unknown", "hot", 96.6, 12.5, short), topNode("node-01", "unknown", "hot", 71.3, 12.7, short), topNode("node-02", "unknown", "hot", 22.9, 84.1, short),
		topNode("node-03", "unknown", "warm", 58, 40, short), topNode("node-04", "unknown", "cool", 23.4, 30.3, short), topNode("node-05", "unknown", "cool", 4.6, 2, short),
		topNode("node-06", "unknown", "cool", 100.0/32_000*9.0, 0.4, short),
	)
	first.Gate, first.GateDetail = "UsageWindowsFilling", "UsageWindowsFilling: 7 of 7 ready nodes have fresh usage, 7 of them not for long enough yet (WindowTooShort: 7)"
	windows := report(
		topNode("ip-10-0-131-27.eu-central-1.compute.internal", "hot", "hot", 88.2, 12.5, inWindows(91.3, 92, 80.4, 92.8)),
		topNode("ip-10-0-7-118.eu-central-1.compute.internal", "warm", "hot", 97.4, 12.5, inWindows(58.1, 52.2, 51.9, 60.2)),
		topNode("ip-10-0-64-2.eu-central-1.compute.internal", "cool", "cool", 31, 12.5, inWindows(30.2, 29.8, 33.3, 30.3)),
	)
	troubles := report(
		topNode("node-00", "hot", "hot", 20, 12.5, func(n *status.NodeStatus) {
			n.Over = []string{"io.pressure 52.0% (last) is above the 40% evict line"}
		}),
		topNode("node-01", "cool", "cool", 31, 12.5, func(n *status.NodeStatus) { n.CPU.EvictPercent = new(90.0) }),
		topNode("node-02", "unknown", "", 10, 12.5, without("NodeNotReady")),
		topNode("node-03", "unknown", "", -1, -1, without("UsageStale")), topNode("node-04", "unknown", "", -1, -1, without("NoUsageSample")),
	)
	for i := range 7 {
		troubles.Nodes = append(troubles.Nodes, topNode(fmt.Sprintf("spot-%d", i), "unknown", "", -1, -1, without("NoUsageSample")))
	}
	troubles.Paused = "evicting is paused by ConfigMap evenkeel/evenkeel-pause (incident 4711)"
	troubles.Gate, troubles.GateDetail = "UsageCoverageTooLow", "UsageCoverageTooLow: 2 of 11 ready nodes have fresh usage (NoUsageSample: 8, UsageStale: 1)"
	troubles.Sources = []status.SourceReport{
		{Source: status.Source{Name: "Prometheus", Error: "reading node usage: Get \"http://prometheus:9090\": connection refused"}},
		{Source: status.Source{Name: "MetricsServer"}, Problems: map[string]status.ProblemReport{"stale": {Count: 1, Examples: []string{"node node-03"}}}},
	}
	return map[string]status.Top{"first": first, "windows": windows, "troubles": troubles}
}

// The expected output is in testdata; -update rewrites it.
func TestTop(t *testing.T) {
	for name, r := range reports() {
		t.Run(name, func(t *testing.T) {
			text := func(style layout.Style) string { return printedTop(t, &r, View{Style: style}) }
			testkit.GoldenText(t, *update, "top-"+name, text)
			if name == "troubles" {
				testkit.GoldenLayout(t, *update, "top-"+name, text)
			}
		})
	}
	windows := reports()["windows"]
	wide := printedTop(t, &windows, View{Style: layout.Style{Width: testkit.Broad}, Wide: true})
	testkit.Golden(t, *update, filepath.Join("testdata", "top-windows-wide.txt"), wide)
}

var bars = regexp.MustCompile(`(cpu|mem) ([█·]*│?[█·]*) `)

// Everything that a bar shows is also shown in words and numbers: its resource precedes it, its
// share has a column, and a node beyond the mark is hot.
func TestBarsAreShownInWordsAsWell(t *testing.T) {
	beyond := 0
	for name, r := range reports() {
		text := printedTop(t, &r, View{Style: layout.Style{Width: 100}})
		rows := bars.FindAllStringSubmatch(text, -1)
		for i, row := range rows {
			n := &r.Nodes[i]
			resource := map[string]*status.ResourceStatus{"cpu": &n.CPU, "mem": &n.Memory}[row[1]]
			line := strings.Split(text[strings.Index(text, "NODE "):], "\n")[i+1]
			words := bars.ReplaceAllString(line, "")
			if want := percent(resource.UsedPercent); !strings.Contains(words, want) {
				t.Errorf("%s: no %s without the bar: %s", name, want, words)
			}
			if _, after, _ := strings.Cut(row[2], "│"); strings.Contains(after, "█") {
				beyond++
				if *resource.UsedPercent <= *resource.EvictPercent || !strings.Contains(words, "hot") {
					t.Errorf("%s: the bar is beyond its mark, and the words do not say so: %s", name, words)
				}
			}
		}
	}
	if beyond < 4 {
		t.Errorf("%d bars beyond their mark: they were not read", beyond)
	}
}

// Without a terminal, a table is 100 columns wide, as on a wider terminal.
func TestTopElsewhere(t *testing.T) {
	r := reports()["windows"]
	want := printedTop(t, &r, View{Style: layout.Style{Width: 100}})
	for _, width := range []int{0, 101, 300} {
		if diff := cmp.Diff(want, printedTop(t, &r, View{Style: layout.Style{Width: width}})); diff != "" {
			t.Errorf("at %d (-at 100 +there):\n%s", width, diff)
		}
	}
	if text := printedTop(t, &r, View{Wide: true}); !strings.Contains(text, "ip-10-0-131-27.eu-central-1.compute.internal ") {
		t.Errorf("a wide table shortens names:\n%s", text)
	}
}

// If there are many nodes, the hottest are listed and the others are counted.
func TestTopOfMost(t *testing.T) {
	r := reports()["first"]
	text := printedTop(t, &r, View{Most: 2})
	for part, want := range map[string]bool{"node-00 ": true, "node-01 ": true, "node-02 ": false, "5 more nodes, none hotter than these.": true} {
		if strings.Contains(text, part) != want {
			t.Errorf("%q in the table: %v, want %v:\n%s", part, !want, want, text)
		}
	}
}

// Names that are too long only because of their domain lose the domain, not the part that distinguishes them.
func TestNamesStayDifferent(t *testing.T) {
	r := reports()["windows"]
	text := printedTop(t, &r, View{Style: layout.Style{Width: 80}})
	for i := range r.Nodes {
		host, _, _ := strings.Cut(r.Nodes[i].Name, ".")
		if !strings.Contains(text, "\n"+host+" ") {
			t.Errorf("%s cannot be distinguished from others:\n%s", r.Nodes[i].Name, text)
		}
	}
	for want, names := range map[string][]string{".a.b": {"n1.a.b", "n2.a.b"}, ".a": {"n1.a"}, "": {"n1.a", "n2.b", "n3"}} {
		var nodes []status.NodeStatus
		for _, name := range names {
			nodes = append(nodes, topNode(name, "cool", "cool", 10, 10))
		}
		if got := domainOf(nodes); got != want {
			t.Errorf("%q share %q, want %q", names, got, want)
		}
	}
}

// However many readings are beyond their lines and however many moves are in flight, only a few are
// listed. Text from another process cannot control the terminal.
func TestTextOfOthers(t *testing.T) {
	var r status.Top
	for i := range 500 {
		n := topNode(fmt.Sprintf("node-%d\x1b[2J\n", i), "hot", "hot", 20, 12.5)
		n.Over = []string{"io.pressure 52.0% (last) is above the 40% evict line"}
		r.Nodes, r.Moves = append(r.Nodes, n), append(r.Moves, status.Move{Pod: "web\x1b[31m", State: "evicted"})
	}
	r.Paused, r.GateDetail = "paused\x1b]0;title\a", "\u202eclosed"
	text := printedTop(t, &r, View{Most: 3})
	for _, want := range []string{"492 more such readings; -o json lists all.\n", "492 more moves; -o json lists all.\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if lines := strings.Count(text, "\n"); lines > 30 || strings.ContainsAny(text, "\x1b\a\u202e") {
		t.Errorf("%d lines: %q", lines, text)
	}
}

// If nodes have a reserve, the base of the percentages is stated.
func TestPercentagesNameTheirBase(t *testing.T) {
	reserve := func(of string, leftOut status.Amounts) func(*status.NodeStatus) {
		return func(n *status.NodeStatus) { n.Reserve = &status.Reserve{PercentOf: of, LeftOut: leftOut} }
	}
	const pods = "Percentages are of allocatable, without what the system uses of a node's reserve; amounts are of the whole machine."
	const noPods = "No usage of pods is known on 1 node: percentages there are of the machine's capacity."
	for want, nodes := range map[string][]status.NodeStatus{
		"":   {topNode("a", "cool", "cool", 10, 10), topNode("b", "cool", "cool", 10, 10, reserve(status.OfAllocatable, status.Amounts{}))},
		pods: {topNode("a", "cool", "cool", 10, 10), topNode("b", "cool", "cool", 10, 10, reserve(status.OfAllocatable, status.Amounts{CPUMilli: 189}))},
		"CPU is stolen from 1 node: percentages there are of the rest.": {
			topNode("a", "cool", "cool", 10, 10, func(n *status.NodeStatus) { n.StolenMilliCores = 6400 }), topNode("b", "cool", "cool", 10, 10),
		},
		noPods:              {topNode("a", "cool", "cool", 10, 10, reserve(status.OfCapacity, status.Amounts{CPUMilli: 189}))},
		pods + " " + noPods: {topNode("a", "cool", "cool", 10, 10, reserve(status.OfCapacity, status.Amounts{})), topNode("b", "cool", "cool", 10, 10, reserve(status.OfAllocatable, status.Amounts{CPUMilli: 1}))},
	} {
		if got := (&top{&status.Top{Nodes: nodes}}).percentages(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The hottest node comes first, by its usage relative to its own evict line. Unknown usage comes
// last.
func TestOrder(t *testing.T) {
	line := func(evict float64) func(*status.NodeStatus) {
		return func(n *status.NodeStatus) { n.CPU.EvictPercent = &evict }
	}
	unjudged := func(n *status.NodeStatus) { n.CPU.EvictPercent, n.Memory.EvictPercent = nil, nil }
	r := report(
		topNode("b-cool", "cool", "cool", 10, 10), topNode("a-cool", "cool", "cool", 10, 10), topNode("unknown", "unknown", "", -1, -1),
		topNode("batch", "warm", "warm", 80, 10, line(90)), topNode("warm", "warm", "warm", 60, 10), topNode("by-memory", "hot", "hot", 5, 90),
		topNode("by-signal", "hot", "hot", 5, 5), topNode("unjudged", "warm", "warm", 99, 99, unjudged), topNode("was-hot", "hot", "warm", 62, 10),
	)
	var got []string
	for i := range r.Nodes {
		got = append(got, r.Nodes[i].Name)
	}
	want := []string{"by-memory", "was-hot", "by-signal", "warm", "batch", "a-cool", "b-cool", "unjudged", "unknown"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestAmounts(t *testing.T) {
	for milli, want := range map[int64]string{0: "0", 9: "0.01", 250: "0.25", 4990: "4.99", 9999: "10.0", 30_912: "30.9", 32_000: "32", 128_400: "128"} {
		if got := cores(milli); got != want {
			t.Errorf("%dm: %q, want %q", milli, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0Mi", 200 << 20: "200Mi", 1 << 30: "1Gi", 52<<30 + 300<<20: "52.3Gi", 128 << 30: "128Gi", 1500 << 30: "1.46Ti"} {
		if got := memory(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func printedTop(t *testing.T, r *status.Top, view View) string {
	t.Helper()
	var out bytes.Buffer
	if err := Top(&out, r, view); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
