// Package alerts_test checks that the shipped alerts, their runbooks and the dashboard agree with
// each other and with the metrics that processes export. It runs promtool, Prometheus' own checker,
// on them.
package alerts_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite deploy/components/alerts")

const root = "../.."

var (
	alertsFile    = filepath.Join(root, "charts", "evenkeel", "files", "alerts.yaml")
	componentFile = filepath.Join(root, "deploy", "components", "alerts", "prometheusrule.yaml")
	ruleTests     = filepath.Join("testdata", "alerts.yaml")
	runbooks      = filepath.Join(root, "docs", "runbooks.md")
)

// alert is a rule of the rule file.
type alert struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// runbook returns the alert's runbook, relative to docs.
func (a *alert) runbook() string { return "runbooks.md#" + strings.ToLower(a.Alert) }

type rules struct {
	Groups []struct {
		Name  string  `json:"name"`
		Rules []alert `json:"rules"`
	} `json:"groups"`
}

func contentOf(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func alerts(t *testing.T) (all []alert) {
	t.Helper()
	var file rules
	if err := yaml.UnmarshalStrict([]byte(contentOf(t, alertsFile)), &file); err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Groups {
		all = append(all, group.Rules...)
	}
	if len(all) < 15 {
		t.Fatalf("%d alerts were read", len(all))
	}
	return all
}

// promtool runs promtool, or skips the test if promtool is not installed.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	program, err := exec.LookPath("promtool")
	if err != nil {
		t.Skipf("left out, because promtool is not installed (Debian's package prometheus has it): promtool %s", strings.Join(args, " "))
	}
	if out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestAlertsAreRules(t *testing.T) { promtool(t, "check", "rules", "--lint-fatal", alertsFile) }

// Each alert fires and is silent as testdata/alerts.yaml says.
func TestAlertsFire(t *testing.T) { promtool(t, "test", "rules", ruleTests) }

// Each alert fires at some time in testdata/alerts.yaml, and is silent at another time and over a
// healthy installation.
func TestEveryAlertIsTested(t *testing.T) {
	var file struct {
		Tests []struct {
			Name  string `json:"name"`
			Cases []struct {
				Alert  string `json:"alertname"`
				Firing []any  `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		} `json:"tests"`
	}
	if err := yaml.Unmarshal([]byte(contentOf(t, ruleTests)), &file); err != nil {
		t.Fatal(err)
	}
	if hex := regexp.MustCompile(`(?m)[: ]0x[0-9]+`).FindAllString(regexp.MustCompile(`(?m)^#.*$`).ReplaceAllString(contentOf(t, ruleTests), ""), -1); len(hex) > 0 {
		t.Errorf("hexadecimal numbers, meant as zeros: %q", hex)
	}
	fires, silent, healthy := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, group := range file.Tests {
		for _, tc := range group.Cases {
			switch {
			case len(tc.Firing) > 0:
				fires[tc.Alert] = true
			case group.Name == "A healthy installation":
				healthy[tc.Alert] = true
			default:
				silent[tc.Alert] = true
			}
		}
	}
	for _, a := range alerts(t) {
		if !fires[a.Alert] || !silent[a.Alert] || !healthy[a.Alert] {
			t.Errorf("%s: tested that it fires %v, that it is silent before %v and in a healthy installation %v",
				a.Alert, fires[a.Alert], silent[a.Alert], healthy[a.Alert])
		}
	}
}

// The annotations of each alert state its severity, what is wrong, where, and what to do.
func TestAlertsAreComplete(t *testing.T) {
	const base = "https://github.com/evenkeel/evenkeel/blob/main/docs/"
	severities, seen := []string{"info", "warning", "critical"}, map[string]bool{}
	for _, a := range alerts(t) {
		if seen[a.Alert] || !strings.HasPrefix(a.Alert, "Evenkeel") || a.For == "" {
			t.Errorf("%q: two have this name, or it does not begin with Evenkeel, or it fires at once", a.Alert)
		}
		seen[a.Alert] = true
		if len(a.Labels) != 1 || !slices.Contains(severities, a.Labels["severity"]) {
			t.Errorf("%s: labels %v, want a severity of %q", a.Alert, a.Labels, severities)
		}
		if diff := cmp.Diff(base+a.runbook(), a.Annotations["runbook_url"]); diff != "" {
			t.Errorf("%s: runbook_url (-want +got):\n%s", a.Alert, diff)
		}
		summary, description := a.Annotations["summary"], a.Annotations["description"]
		if summary == "" || strings.Contains(summary, "{{") || !strings.HasSuffix(description, ".") || len(a.Annotations) != 3 {
			t.Errorf("%s: summary %q without a template, description %q with one or more sentences", a.Alert, summary, description)
		}
		if a.Alert != "EvenkeelDown" && !strings.Contains(description, "{{ $labels.job }} in {{ $labels.namespace }}") {
			t.Errorf("%s: the description does not say which installation: %s", a.Alert, description)
		}
	}
}

// parts are the sections that follow the explanation of the alert in each runbook, in order.
var parts = []string{"**Impact", "**Look", "**Fix"}

var (
	part     = regexp.MustCompile(`(?m)^\*\*(?:Impact|Look|Fix)`)
	command  = regexp.MustCompile(`(?m)^    (?:kubectl|evenkeel|curl) .*$`)
	alertRow = regexp.MustCompile("(?m)^\\| \\[`(Evenkeel[A-Za-z]+)`\\]\\((runbooks\\.md#[a-z]+)\\) \\| ([a-z]+) \\| ([0-9a-z]+) \\| \\S.* \\|$")
)

// Each alert has a runbook that explains the alert, its impact on users, commands to investigate
// and how to fix the cause. The runbooks are in the order of the alerts.
func TestEveryAlertHasItsRunbook(t *testing.T) {
	var want, got []string
	for _, a := range alerts(t) {
		want = append(want, a.Alert)
	}
	for _, text := range strings.Split(contentOf(t, runbooks), "\n## ")[1:] {
		title, text, _ := strings.Cut(text, "\n\n")
		got = append(got, title)
		if diff := cmp.Diff(parts, part.FindAllString(text, -1)); diff != "" {
			t.Errorf("%s: parts (-want +got):\n%s", title, diff)
		}
		if strings.HasPrefix(text, "**") {
			t.Errorf("%s does not say what the alert means", title)
		}
		_, look, _ := strings.Cut(text, "\n**Look")
		look, _, _ = strings.Cut(look, "\n**Fix")
		if n := len(command.FindAllString(look, -1)); n < 2 || n > 4 {
			t.Errorf("%s: %d commands to look with", title, n)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("runbooks (-alerts +page):\n%s", diff)
	}
}

// docs/alerts.md lists all alerts in their order.
func TestAlertsAreListed(t *testing.T) {
	type row struct{ Alert, Runbook, Severity, After string }
	var want, got []row
	for _, a := range alerts(t) {
		want = append(want, row{a.Alert, a.runbook(), a.Labels["severity"], a.For})
	}
	for _, cells := range alertRow.FindAllStringSubmatch(contentOf(t, filepath.Join(root, "docs", "alerts.md")), -1) {
		got = append(got, row{cells[1], cells[2], cells[3], cells[4]})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/alerts.md (-alerts +page):\n%s", diff)
	}
}

const componentHead = `# Made from charts/evenkeel/files/alerts.yaml by
#   go test ./test/alerts -run TestAlertsComponent -update
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: evenkeel
  namespace: evenkeel
  labels:
    app.kubernetes.io/name: evenkeel
spec:
`

// The kustomize component has the same rules as the chart, comments included.
func TestAlertsComponent(t *testing.T) {
	_, groups, found := strings.Cut(contentOf(t, alertsFile), "\ngroups:\n")
	if !found {
		t.Fatalf("%s has no groups", alertsFile)
	}
	want := componentHead + "  groups:\n"
	for line := range strings.Lines(groups) {
		want += "  " + line
	}
	if *update {
		if err := os.WriteFile(componentFile, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, contentOf(t, componentFile)); diff != "" {
		t.Errorf("%s, which -update writes (-want +got):\n%s", componentFile, diff)
	}
	var component struct {
		Spec rules `json:"spec"`
	}
	if err := yaml.Unmarshal([]byte(want), &component); err != nil {
		t.Fatal(err)
	}
	var all []alert
	for _, group := range component.Spec.Groups {
		all = append(all, group.Rules...)
	}
	if diff := cmp.Diff(alerts(t), all); diff != "" {
		t.Errorf("rules (-file +component):\n%s", diff)
	}
}

// Alerts use only metrics and labels that processes export, and only existing reasons.
func TestAlertsUseExportedMetrics(t *testing.T) {
	known := knownMetrics(t)
	for _, a := range alerts(t) {
		for _, problem := range known.problems(a.Expr) {
			t.Errorf("%s: %s", a.Alert, problem)
		}
	}
}

// The component is in a folder that kustomize can list.
func TestAlertsComponentIsListed(t *testing.T) {
	var kustomization struct {
		Kind      string   `json:"kind"`
		Resources []string `json:"resources"`
	}
	if err := yaml.Unmarshal([]byte(contentOf(t, filepath.Join(filepath.Dir(componentFile), "kustomization.yaml"))), &kustomization); err != nil {
		t.Fatal(err)
	}
	if kustomization.Kind != "Component" || !slices.Equal(kustomization.Resources, []string{filepath.Base(componentFile)}) {
		t.Errorf("%+v", kustomization)
	}
}
