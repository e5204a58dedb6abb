package commands

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/policy/lint"
)

const todaysHead = "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles:\n"

func TestLintFindsWhatRunWouldRefuse(t *testing.T) {
	cases := map[string]struct{ in, want string }{
		"a plugin that does not exist": {
			todaysHead + "- {name: p, plugins: {balance: {enabled: [RealUsage]}}}\n", `line 4, column 43: DeschedulerPolicy: profiles[0].plugins.balance.enabled[0]: there is no plugin "RealUsage", did you mean "RealUsageLowNodeUtilization"?`,
		},
		"a plugin that does not exist is configured": {
			todaysHead + "- {name: p, pluginConfig: [{name: PodLifetime, args: {}}]}\n",
			`line 4, column 35: DeschedulerPolicy: profiles[0].pluginConfig[0].name: there is no plugin "PodLifetime", did you mean "PodLifeTime"?`,
		},
		"a mistake next to a priority class": {
			todaysHead + "- {name: p, pluginConfig: [{name: DefaultEvictor, args: {minReplica: 2, priorityThreshold: {name: gold}}}]}\n",
			`line 4, column 58: DeschedulerPolicy: profiles[0].pluginConfig[0].args.minReplica: unknown field "minReplica", did you mean "minReplicas"?`,
		},
		"an unknown argument of a plugin": {
			todaysHead + "- {name: p, plugins: {deschedule: {enabled: [PodLifeTime]}}, pluginConfig: [{name: PodLifeTime, args: {maxPodLifeTime: 1}}]}\n",
			`line 4, column 104: DeschedulerPolicy: profiles[0].pluginConfig[0].args.maxPodLifeTime: unknown field "maxPodLifeTime", did you mean "maxPodLifeTimeSeconds"? (allowed: `,
		},
		"an argument of a wrong type": {
			todaysHead + "- {name: p, pluginConfig: [{name: DefaultEvictor, args: {minReplicas: two}}]}\n",
			`line 4, column 71: DeschedulerPolicy: profiles[0].pluginConfig[0].args.minReplicas: Invalid value: "two": must be a whole number of 0 or more (DefaultEvictor)`,
		},
		"an argument that a plugin rejects": {
			todaysHead + "- {name: p, plugins: {deschedule: {enabled: [PodLifeTime]}}, pluginConfig: [{name: PodLifeTime, args: {}}]}\n", "at least one filtering criterion must be specified",
		},
		"thresholds without a line": {
			todaysHead + "- {name: p, plugins: {balance: {enabled: [RealUsageLowNodeUtilization]}}, pluginConfig: [{name: RealUsageLowNodeUtilization, args: {targetThresholds: {cpu: 30}}}]}\n",
			"lines",
		},
		"a threshold of two kinds": {
			todaysHead + "- {name: p, pluginConfig: [{name: DefaultEvictor, args: {priorityThreshold: {name: a, value: 3}}}]}\n", "only one of priorityThreshold fields can be set",
		},
		"a field of the LoadPolicy": {"apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\nline: {}\n", `line 3, column 1: LoadPolicy: line: unknown field "line", did you mean "lines"? (allowed: `},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			report, err := lintText(t, tc.in)
			if exit.Code(err) != exit.Misuse {
				t.Errorf("exit code %d for %v", exit.Code(err), err)
			}
			if len(report.Policies) != 1 || len(report.Policies[0].Findings) != 1 || report.Policies[0].Name != "stdin" {
				t.Fatalf("report: %+v, want one error", report)
			}
			got := report.Policies[0].Findings[0]
			if got.Level != lint.Error || !strings.Contains(got.Text, tc.want) {
				t.Errorf("finding %+v, want an error with %q", got, tc.want)
			}
			converted, _, err := convertText(t, tc.in)
			if exit.Code(err) != exit.Misuse || err.Error() != "stdin: "+got.Text || converted != "" {
				t.Errorf("convert: exit code %d for %v, want what lint says, and nothing written:\n%s", exit.Code(err), err, converted)
			}
		})
	}
}

// LowNodeUtilization can be configured to move pods by real usage. lint then describes the usage
// and the thresholds, and warns that the plugin does not steer.
func TestLintKnowsPluginsThatUseRealUsage(t *testing.T) {
	const lines = "thresholds: {cpu: 20, memory: 20}, targetThresholds: {cpu: 50, memory: 60}"
	cases := map[string]struct{ providers, args, want string }{
		"metrics-server": {"metricsProviders: [{source: KubernetesMetrics}]\n", "metricsUtilization: {source: KubernetesMetrics}", "metrics-server measures"},
		"deprecated":     {"metricsCollector: {enabled: true}\n", "metricsUtilization: {metricsServer: true}", "metrics-server measures"},
		"Prometheus": {
			"metricsProviders: [{source: Prometheus, prometheus: {url: 'https://p.example'}}]\n", "metricsUtilization: {source: Prometheus, prometheus: {query: up}}",
			`Prometheus answers to "up"`,
		},
		"by requests": {"", "useDeviationThresholds: false", ""},
		"distances from the mean": {
			"metricsProviders: [{source: KubernetesMetrics}]\n", "useDeviationThresholds: true, metricsUtilization: {source: KubernetesMetrics}",
			"off nodes above the mean of all nodes by cpu 50%, memory 60% in any (targetThresholds), while there are nodes below it by cpu 20%, memory 20% in all (thresholds)",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			thresholds := lines
			if name == "Prometheus" {
				thresholds = "thresholds: {MetricResource: 20}, targetThresholds: {MetricResource: 50}"
			}
			text := "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\n" + tc.providers + "profiles:\n- name: p\n  plugins: {balance: {enabled: [LowNodeUtilization]}}\n" +
				"  pluginConfig: [{name: DefaultEvictor}, {name: LowNodeUtilization, args: {" + thresholds + ", " + tc.args + "}}]\n"
			report, err := lintText(t, text)
			if err != nil {
				t.Fatalf("%v: %+v", err, report)
			}
			var said []string
			for _, finding := range report.Policies[0].Findings {
				said = append(said, finding.Text)
			}
			all := strings.Join(said, "\n")
			if denied := strings.Contains(all, "nothing is moved by real usage"); denied != (tc.want == "") {
				t.Errorf("nothing is moved by real usage: %v, in\n%s", denied, all)
			}
			if tc.want != "" && (!strings.Contains(all, tc.want) || !strings.Contains(all, "enables RealUsageLowNodeUtilization, which steers") || !strings.Contains(all, "50%")) {
				t.Errorf("want %q in\n%s", tc.want, all)
			}
		})
	}
}

// If the policy has no source for the usage that LowNodeUtilization is configured to use, the
// plugin fails in every cycle. lint then does not claim that it evicts.
func TestLintKnowsPluginsThatCannotReadUsage(t *testing.T) {
	cases := map[string]struct{ providers, args, want string }{
		"metrics-server":               {"", "metricsUtilization: {source: KubernetesMetrics}", "metricsProviders: [{source: KubernetesMetrics}]"},
		"metrics-server, deprecated":   {"", "metricsUtilization: {metricsServer: true}", "metricsProviders: [{source: KubernetesMetrics}]"},
		"metrics-server, switched off": {"metricsCollector: {enabled: false}\n", "metricsUtilization: {metricsServer: true}", "metricsProviders: [{source: KubernetesMetrics}]"},
		"Prometheus":                   {"", "metricsUtilization: {source: Prometheus, prometheus: {query: up}}", "where Prometheus is"},
		"the other source": {
			"metricsProviders: [{source: KubernetesMetrics}]\n", "metricsUtilization: {source: Prometheus, prometheus: {query: up}}", "where Prometheus is",
		},
		"no source": {"metricsProviders: [{source: KubernetesMetrics}]\n", "metricsUtilization: {}", "allowed are KubernetesMetrics and Prometheus"},
		"a resource that metrics-server does not measure": {
			"metricsProviders: [{source: KubernetesMetrics}]\n",
			"thresholds: {pods: 20, nvidia.com/gpu: 20}, targetThresholds: {pods: 50, nvidia.com/gpu: 50}, metricsUtilization: {source: KubernetesMetrics}",
			"metrics-server does not measure nvidia.com/gpu; allowed are thresholds of cpu, memory and pods",
		},
		"Prometheus' resource from metrics-server": {
			"metricsCollector: {enabled: true}\n", "thresholds: {MetricResource: 20}, targetThresholds: {MetricResource: 50}, metricsUtilization: {metricsServer: true}",
			"metrics-server does not measure MetricResource",
		},
		"other resources from Prometheus": {
			"metricsProviders: [{source: Prometheus, prometheus: {url: 'https://p.example'}}]\n",
			"thresholds: {cpu: 20, MetricResource: 20}, targetThresholds: {cpu: 50, MetricResource: 50}, metricsUtilization: {source: Prometheus, prometheus: {query: up}}",
			"its query gives one value per node, so its only threshold must be MetricResource, not cpu",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			thresholds := "thresholds: {cpu: 20}, targetThresholds: {cpu: 50}, "
			switch {
			case strings.HasPrefix(tc.args, "thresholds"):
				thresholds = ""
			case strings.Contains(tc.args, "Prometheus"):
				thresholds = "thresholds: {MetricResource: 20}, targetThresholds: {MetricResource: 50}, "
			}
			text := "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\n" + tc.providers +
				"profiles:\n- name: p\n  plugins: {balance: {enabled: [LowNodeUtilization]}}\n" +
				"  pluginConfig: [{name: DefaultEvictor}, {name: LowNodeUtilization, args: {" + thresholds + tc.args + "}}]\n"
			report, err := lintText(t, text)
			if exit.Code(err) != exit.Misuse {
				t.Errorf("exit code %d for %v", exit.Code(err), err)
			}
			errors := 0
			for _, finding := range report.Policies[0].Findings {
				if strings.Contains(finding.Text, "evicts by") {
					t.Errorf("it is said to evict: %q", finding.Text)
				}
				if finding.Level == lint.Error && strings.Contains(finding.Text, tc.want) {
					errors++
				}
			}
			if errors != 1 {
				t.Errorf("findings %+v, want one error with %q", report.Policies[0].Findings, tc.want)
			}
			if converted, _, err := convertText(t, text); exit.Code(err) != exit.Misuse || !strings.Contains(err.Error(), tc.want) || converted != "" {
				t.Errorf("convert: exit code %d for %v, want %q, and nothing written:\n%s", exit.Code(err), err, tc.want, converted)
			}
		})
	}
}

// Upstream accepts any resource name in thresholds. lint warns about a name that no node has, and
// about no other.
func TestLintKnowsResources(t *testing.T) {
	report := func(t *testing.T, plugin, args string) (fields, texts []string) {
		t.Helper()
		report, err := lintText(t, todaysHead+"- name: p\n  plugins: {balance: {enabled: ["+plugin+"]}}\n"+
			"  pluginConfig: [{name: DefaultEvictor}, {name: "+plugin+", args: {"+args+"}}]\n")
		if err != nil {
			t.Fatalf("%v: %+v", err, report)
		}
		for _, finding := range report.Policies[0].Findings {
			if strings.Contains(finding.Text, "no resource") {
				if finding.Level != lint.Warning {
					t.Errorf("level %q of %q", finding.Level, finding.Text)
				}
				fields, texts = append(fields, finding.Field), append(texts, finding.Text)
			}
		}
		return fields, texts
	}
	for name, tc := range map[string]struct{ plugin, args, want string }{
		"a misspelt name":                 {"HighNodeUtilization", "thresholds: {memor: 20}", `nodes have no resource "memor", did you mean "memory"? (allowed: cpu, memory, pods, ephemeral-storage, and names with a domain, such as nvidia.com/gpu)`},
		"in upper case":                   {"HighNodeUtilization", "thresholds: {CPU: 20}", `nodes have no resource "CPU", did you mean "cpu"?`},
		"a name similar to none":          {"HighNodeUtilization", "thresholds: {cpu: 20, gpu: 20}", `nodes have no resource "gpu" (allowed: `},
		"together with valid names":       {"LowNodeUtilization", "thresholds: {cpu: 20, pod: 20}, targetThresholds: {cpu: 50, pod: 50}", `nodes have no resource "pod", did you mean "pods"?`},
		"native and extended ones":        {"HighNodeUtilization", "thresholds: {cpu: 20, memory: 20, pods: 20, ephemeral-storage: 20, hugepages-2Mi: 20, nvidia.com/gpu: 20}", ""},
		"the value of a Prometheus query": {"LowNodeUtilization", "thresholds: {MetricResource: 20}, targetThresholds: {MetricResource: 50}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			fields, texts := report(t, tc.plugin, tc.args)
			if (len(texts) > 0) != (tc.want != "") || len(texts) > 0 && !strings.HasPrefix(texts[0], tc.want) {
				t.Errorf("findings %q, want %q", texts, tc.want)
			}
			if tc.plugin == "LowNodeUtilization" && tc.want != "" {
				want := []string{"profiles[0].pluginConfig[1].args.thresholds[pod]", "profiles[0].pluginConfig[1].args.targetThresholds[pod]"}
				if diff := cmp.Diff(want, fields); diff != "" {
					t.Errorf("fields (-want +got):\n%s", diff)
				}
			}
		})
	}
	earlier, err := lintText(t, "apiVersion: descheduler/v1alpha1\nkind: DeschedulerPolicy\nstrategies: {HighNodeUtilization: {enabled: true, "+
		"params: {nodeResourceUtilizationThresholds: {thresholds: {cpus: 20}}}}}\n")
	if err != nil || !slices.ContainsFunc(earlier.Policies[0].Findings, func(f lint.Finding) bool {
		return strings.HasPrefix(f.Text, `nodes have no resource "cpus", did you mean "cpu"?`)
	}) {
		t.Errorf("in an earlier format: %v: %+v", err, earlier)
	}
}

// Without an API server, priority classes cannot be checked. Everything else is.
func TestLintNamesWhatItCannotCheck(t *testing.T) {
	report, err := lintText(t, todaysHead+
		"- name: p\n  plugins: {balance: {enabled: [RemoveDuplicates]}}\n"+
		"  pluginConfig: [{name: RemoveDuplicates, args: {}}, {name: DefaultEvictor, args: {priorityThreshold: {name: mine}, minReplicas: 3}}]\n")
	if err != nil {
		t.Fatalf("%v: %+v", err, report)
	}
	want := []lint.Finding{
		{Level: lint.Note, Field: "profiles", Text: "no profile enables RealUsageLowNodeUtilization, so nothing is moved by real usage"},
		{
			Level: lint.Note, Field: "profiles[0].pluginConfig[1].args.priorityThreshold.name",
			Text: `whether priority class "mine" exists is not checked, because that needs an API server`,
		},
	}
	if diff := cmp.Diff(want, report.Policies[0].Findings); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if does := strings.Join(report.Policies[0].Does, "\n"); !strings.Contains(does, "Profile p spares pods of workloads with fewer than 3 replicas.") {
		t.Errorf("it does:\n%s", does)
	}
}

// OpenShift's operator writes null for a threshold field that is not set, and for fields that it
// omits.
func TestLintTreatsNullAsAbsent(t *testing.T) {
	report, err := lintText(t, `apiVersion: v1
kind: ConfigMap
metadata: {name: cluster, namespace: descheduler}
data:
  policy.yaml: |
    apiVersion: descheduler/v1alpha2
    kind: DeschedulerPolicy
    nodeSelector: null
    profiles:
    - name: Lifecycle
      pluginConfig:
      - {name: DefaultEvictor, args: {ignorePvcPods: true, podProtections: {}, priorityThreshold: {name: gold, value: null}}}
      - {name: PodLifeTime, args: {maxPodLifeTimeSeconds: 86400, states: null}}
      plugins:
        deschedule: {disabled: null, enabled: [PodLifeTime]}
        filter: {disabled: null, enabled: [DefaultEvictor]}
        preevictionfilter: {disabled: null, enabled: null}
`)
	if err != nil {
		t.Fatalf("%v: %+v", err, report)
	}
	want := lint.Finding{
		Level: lint.Note, Field: "profiles[0].pluginConfig[0].args.priorityThreshold.name",
		Text: `whether priority class "gold" exists is not checked, because that needs an API server`,
	}
	if len(report.Policies) != 1 || !slices.Contains(report.Policies[0].Findings, want) {
		t.Errorf("report %+v, want the finding %+v", report, want)
	}
}

// Each strategy describes itself. One that relieves no hot nodes does not count as one that does.
func TestLintDescribesStrategies(t *testing.T) {
	report, err := lintText(t, todaysHead+"- name: p\n  plugins: {balance: {enabled: [ReturnPodsToPreferredNodes]}}\n"+
		"  pluginConfig:\n  - {name: ReturnPodsToPreferredNodes, args: {minWeightGained: 20, evictableNamespaces: {exclude: [batch]}}}\n"+
		"  - {name: DefaultEvictor, args: {minReplicas: 2}}\n")
	if err != nil {
		t.Fatalf("%v: %+v", err, report)
	}
	does := strings.Join(report.Policies[0].Does, "\n")
	for _, want := range []string{
		"Returns pods to cool nodes that their preferred node affinity rates higher, by a weight of 20 or more.",
		"Does not move pods in the namespaces batch by ReturnPodsToPreferredNodes.",
		"Evicts nothing while less than 80% of the ready nodes are known.",
	} {
		if !strings.Contains(does, want) {
			t.Errorf("it does not say %q:\n%s", want, does)
		}
	}
	for _, other := range []string{"Evicts from nodes", "Also runs", "Runs "} {
		if strings.Contains(does, other) {
			t.Errorf("it contains %q:\n%s", other, does)
		}
	}
	want := lint.Finding{Level: lint.Note, Field: "profiles", Text: "no profile enables RealUsageLowNodeUtilization, so hot nodes are not relieved"}
	if !slices.Contains(report.Policies[0].Findings, want) {
		t.Errorf("findings %+v, want %+v", report.Policies[0].Findings, want)
	}
}

// The description includes the selectors with which a policy selects pods.
func TestLintDescribesSelections(t *testing.T) {
	report, err := lintText(t, todaysHead+"- name: p\n  plugins: {balance: {enabled: [RealUsageLowNodeUtilization]}}\n"+
		"  pluginConfig:\n  - {name: RealUsageLowNodeUtilization, args: {evictableNamespaces: {include: [shop, batch]}}}\n"+
		"  - {name: DefaultEvictor, args: {minReplicas: 2, nodeFit: true, nodeSelector: pool=web, priorityThreshold: {value: 1000},"+
		" labelSelector: {matchLabels: {tier: batch}}, namespaceLabelSelector: {matchExpressions: [{key: team, operator: Exists}]}}}\n")
	if err != nil {
		t.Fatalf("%v: %+v", err, report)
	}
	does := strings.Join(report.Policies[0].Does, "\n")
	for _, want := range []string{
		"Moves only pods in the namespaces shop, batch by real usage.",
		`Profile p spares pods of workloads with fewer than 2 replicas, pods that fit on no other node with "pool=web", ` +
			`pods that the labelSelector "tier=batch" does not match, pods of namespaces that the namespaceLabelSelector "team" does not match, ` +
			"pods of priority 1000 or more.",
	} {
		if !strings.Contains(does, want) {
			t.Errorf("it does not say %q:\n%s", want, does)
		}
	}
}

func TestLintOfSeveralFiles(t *testing.T) {
	folder := t.TempDir()
	files := map[string]string{
		"a.yaml": oldPolicy + "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {template: {spec: {containers: [{image: descheduler}]}}}\n",
		"b.yaml": "apiVersion: x/v1\nkind: Unknown\n",
		"c.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n",
	}
	var names []string
	for _, name := range []string{"a.yaml", "b.yaml", "c.yaml"} {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(files[name]), 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, path)
	}
	var out bytes.Buffer
	err := Lint(LintOptions{Files: names, Format: "text", Formats: earlier}, nil, &out, time.Now())
	if exit.Code(err) != exit.Misuse || err.Error() != "lint: 1 error" {
		t.Errorf("exit code %d for %v", exit.Code(err), err)
	}
	text := strings.ReplaceAll(out.String(), folder+string(filepath.Separator), "")
	for _, want := range []string{
		"a.yaml (descheduler/v1alpha1 DeschedulerPolicy)\n", "    - Runs RemoveDuplicates (profile strategy-RemoveDuplicates-profile).\n",
		"\na.yaml: line 5 (Job \"j\")\n  note: spec.template.spec.containers[0].image: use the image built by deploy/Dockerfile here",
		"\nb.yaml\n  error: line 1: apiVersion \"x/v1\" with kind \"Unknown\" is not known; expected ",
		"\nc.yaml: line 1 (v1 Service)\n  no findings\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not print %q:\n%s", want, text)
		}
	}
}

func TestLintStrict(t *testing.T) {
	const load = "apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\nlines: {cpu: {}}\n" // without memory, which causes a warning
	lintWith := func(strict bool) error {
		return Lint(LintOptions{Files: []string{Standard}, Format: "text", Strict: strict, Formats: earlier}, strings.NewReader(load), &bytes.Buffer{}, time.Now())
	}
	if err := lintWith(false); err != nil {
		t.Errorf("a warning is an error: %v", err)
	}
	if err := lintWith(true); exit.Code(err) != exit.Misuse {
		t.Errorf("with --strict: %v", err)
	}
	for name, options := range map[string]LintOptions{
		"no file":               {Format: "text"},
		"an unsupported format": {Files: []string{Standard}, Format: "yaml", Formats: earlier},
		"no such file":          {Files: []string{filepath.Join(t.TempDir(), "absent")}, Format: "text", Formats: earlier},
	} {
		if err := Lint(options, strings.NewReader(load), &bytes.Buffer{}, time.Now()); exit.Code(err) != exit.Misuse {
			t.Errorf("%s: exit code %d for %v", name, exit.Code(err), err)
		}
	}
}

// The shipped policy, including its plugins' arguments, passes --strict.
func TestLintOfTheShippedPolicy(t *testing.T) {
	var out bytes.Buffer
	err := Lint(LintOptions{Files: []string{filepath.Join("..", "..", "policy.yaml")}, Format: "text", Strict: true, Formats: earlier}, nil, &out, time.Now())
	if err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// A retired setting is reported with its position: within the text, and as a separate field in
// JSON.
func TestLintLocatesRetiredSettings(t *testing.T) {
	const load = "apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\nscoring:\n  estimate: {defaultCPU: 1}\n"
	for format, want := range map[string]string{
		"text": "  warning: line 4, column 3: scoring.estimate: is no longer documented and will be removed in two versions: ",
		"json": `"place": "line 4, column 3"`,
	} {
		var out bytes.Buffer
		if err := Lint(LintOptions{Files: []string{Standard}, Format: format, Formats: earlier}, strings.NewReader(load), &out, time.Now()); err != nil {
			t.Fatal(err)
		}
		if strings.Count(out.String(), want) != 1 {
			t.Errorf("%s: want once %q in:\n%s", format, want, out.String())
		}
	}
}
