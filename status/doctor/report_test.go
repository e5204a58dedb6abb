package doctor_test

import (
	"encoding/json"
	"errors"
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/internal/terminal/layout"
	"github.com/evenkeel/evenkeel/internal/testkit"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/observe/usage/kubelet"
	"github.com/evenkeel/evenkeel/observe/usage/metricsserver"
	"github.com/evenkeel/evenkeel/observe/usage/prometheus"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/status/doctor"
)

var update = flag.Bool("update", false, "rewrite the reports in testdata")

// ill is a installation with a problem of nearly every kind.
func ill(t *testing.T) *doctor.Installation {
	t.Helper()
	w := newFixture(t, prometheus.Name, metricsserver.Name)
	w.sources[0].batch.Nodes = w.sources[0].batch.Nodes[:2]
	w.sources[0].batch.Problems.Add(usage.UnmatchedNode, `instance="10.0.0.9:9100"`)
	w.sources[1].err = errors.New("listing metrics of nodes: the server could not find the requested resource")
	w.installation.Extender = doctor.Extender{}
	w.installation.Pause.Reason, w.installation.Pause.Says = reasons.Paused, "evicting is paused by ConfigMap evenkeel/evenkeel-pause (incident 4711)"
	w.installation.Ledger = doctor.Ledger{Err: errors.New("the stored ledger cannot be read: it has format 7"), Accept: "kubectl annotate"}
	for _, need := range process(doctor.ModeServe, prometheus.Name, metricsserver.Name).Needs() {
		w.installation.Rights.Answers = append(w.installation.Rights.Answers, doctor.Answer{Need: need, Allowed: need.Resource != "pods/eviction"})
	}
	config := strings.ReplaceAll(good(t), "    nodeCacheCapable: true\n", "")
	w.installation.SchedulerConfig = &doctor.SchedulerConfig{Name: "kube-scheduler.yaml", Data: []byte(config)}
	return w.ask().installation
}

// toPrint has findings for each kind of layout. It is independent of the checks, which have their
// own tests, so that a new check changes no table here.
var toPrint = []doctor.Finding{
	{
		Check: doctor.CheckPermissions, Level: doctor.Problem, Subject: "evicting", Says: "It may not create pods/eviction.",
		Fix: "Add to the rules of a ClusterRole that is bound to it:\n- apiGroups: [\"\"]\n  resources: [pods/eviction]\n  verbs: [create]",
	},
	{
		Check: doctor.CheckMatching, Level: doctor.Problem, Subject: "Prometheus",
		Says: `1 of 3 ready nodes have no sample: n2; 1 series belong to no node: instance="10.0.0.9:9100".`,
		Fix: "The series name their node by something else than its name, host name or InternalIP. Say which label names it, or relabel\n" +
			"(scrape_configs: relabel_configs: target_label: node):\nusage:\n  sources:\n    - type: Prometheus\n      prometheus:\n        nodeLabel: node",
	},
	{
		Check: doctor.CheckPause, Level: doctor.Warning, Says: "Nothing is evicted: evicting is paused by ConfigMap evenkeel/evenkeel-pause (incident 4711).",
		Fix: "To resume: kubectl -n evenkeel delete configmap evenkeel-pause   # or remove it from the GitOps source",
	},
	{Check: doctor.CheckSources, Level: doctor.OK, Subject: "Prometheus", Says: "Responded in 1ms with 2 nodes and 6 pods."},
	{Check: doctor.CheckExtender, Level: doctor.OK, Says: "Not checked: pass --extender-url to verify that kube-scheduler calls the extender."},
}

// The expected output is in testdata; -update rewrites it. No width breaks a word, so text that
// users paste stays in one piece.
func TestTable(t *testing.T) {
	report := doctor.NewReport(toPrint)
	text := func(style layout.Style) string { return printed(report, style) }
	testkit.GoldenText(t, *update, "report", text)
	testkit.GoldenLayout(t, *update, "report", text)
	words := func(style layout.Style) []string { return strings.Fields(strings.ReplaceAll(text(style), ">", "")) }
	for _, width := range []int{testkit.Narrow, testkit.Usual, testkit.Broad} {
		if diff := cmp.Diff(words(layout.Style{}), words(layout.Style{Width: width})); diff != "" {
			t.Errorf("at %d columns the words differ (-without a width +with):\n%s", width, diff)
		}
	}
}

func printed(r *doctor.Report, style layout.Style) string {
	page := layout.Page{Style: style}
	r.Table(&page)
	return page.String()
}

// golden compares a text with a file, or rewrites the file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	testkit.Golden(t, *update, filepath.Join("testdata", name), got)
}

// Scripts read the JSON, so the same installation always results in the same report.
func TestReportIsStable(t *testing.T) {
	installation := ill(t)
	first, err := json.Marshal(doctor.Examine(installation))
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		again, err := json.Marshal(doctor.Examine(installation))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(first), string(again)); diff != "" {
			t.Fatalf("(-first +again)\n%s", diff)
		}
	}
	if want := `{"problems":`; !strings.HasPrefix(string(first), want) {
		t.Errorf("got %.100s", first)
	}
}

// The worst findings come first. Within a level, checks keep their order.
func TestOrder(t *testing.T) {
	report := doctor.NewReport([]doctor.Finding{
		{Check: doctor.CheckPause, Level: doctor.OK, Says: "a"},
		{Check: doctor.CheckSources, Level: doctor.Warning, Says: "b"},
		{Check: doctor.CheckPause, Level: doctor.Problem, Says: "c"},
		{Check: doctor.CheckPolicy, Level: doctor.Problem, Says: "d"},
		{Check: doctor.CheckPolicy, Level: doctor.OK, Says: "e"},
	})
	got := ""
	for _, f := range report.Findings {
		got += f.Says
	}
	if got != "dcbea" || report.Problems != 2 || report.Warnings != 1 {
		t.Errorf("got %q, %d problems, %d warnings", got, report.Problems, report.Warnings)
	}
}

// Whatever a server sent, a finding is one line of printable characters. Every finding that is not
// ok has a fix, and no other finding does.
func TestReportIsFitToBeShown(t *testing.T) {
	w := newFixture(t, prometheus.Name)
	w.sources[0].err = errors.New("the server said:\x1b[2J\r\n\tproblem  policy  all lost\u202e" + strings.Repeat("x", 10_000))
	report := doctor.Examine(w.ask().installation)
	for _, f := range report.Findings {
		if strings.ContainsAny(f.Says+f.Subject, "\n\r\t\x1b") || strings.ContainsRune(f.Says, '\u202e') || len(f.Says) > 3000 {
			t.Errorf("says %.200q", f.Says)
		}
		if (f.Level == doctor.OK) != (f.Fix == "") {
			t.Errorf("%s %s: fix %q", f.Level, f.Says, f.Fix)
		}
	}
	if report.Problems == 0 {
		t.Error("no problem was found")
	}
}

// Without a reading, every other check still works.
func TestNothingCouldBeListed(t *testing.T) {
	load := policy.Default(kinds.All)
	report := doctor.Examine(&doctor.Installation{Mode: doctor.ModeServe, Load: &load, Sources: load.Usage.Sources, Unlisted: "it may not list nodes."})
	if report.Problems != 1 || len(report.Findings) < 4 {
		t.Errorf("got %+v", report)
	}
}

// A cluster without nodes does not make doctor fail.
func TestEmptyCluster(t *testing.T) {
	w := newFixture(t, metricsserver.Name, kubelet.Name)
	w.nodes.Nodes = nil
	if report := doctor.Examine(w.ask().installation); report.Problems == 0 {
		t.Errorf("got %+v", report)
	}
}
