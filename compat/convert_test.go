package compat

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/rewritten"
)

// mustConvert converts a file to the current format, and checks that another conversion changes
// nothing.
func mustConvert(t *testing.T, text string) *rewritten.File {
	t.Helper()
	result, err := ConvertFile("in.yaml", []byte(text), kinds.All)
	if err != nil {
		t.Fatalf("converting: %v", err)
	}
	again, err := ConvertFile("in.yaml", result.Text, kinds.All)
	if err != nil {
		t.Fatalf("converting what was converted: %v\n%s", err, result.Text)
	}
	if diff := cmp.Diff(string(result.Text), string(again.Text)); diff != "" {
		t.Errorf("converted once more (-once +twice):\n%s", diff)
	}
	return result
}

// mustLoad loads a policy and returns it without positions and the converters'
// notes.
func mustLoad(t *testing.T, text []byte) *policy.File {
	t.Helper()
	file, err := Load("in.yaml", text, kinds.All)
	if err != nil {
		t.Fatalf("loading: %v\n%s", err, text)
	}
	if len(file.Retired) > 0 {
		t.Errorf("the conversion uses retired settings: %+v", file.Retired)
	}
	file.Converted, file.DeschedulerAt, file.LoadDocument, file.LoadDocumentAt = nil, 0, nil, 0
	if file.Descheduler != nil {
		if file.Descheduler, err = yaml.YAMLToJSON(file.Descheduler); err != nil { // puts the keys into a fixed order
			t.Fatal(err)
		}
	}
	return file
}

// sameFile compares the meaning of files.
var sameFile = cmp.Options{
	cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 }),
	cmpopts.EquateEmpty(),
}

// A converted policy means the same as the original when that is loaded directly.
func TestConvertedPoliciesMeanTheSame(t *testing.T) {
	cases := map[string]string{
		"a DeschedulerPolicy of v1alpha1": v1alpha1,
		"Crane's policy":                  cranePolicy,
		"dynamicScheduler's rules":        rules,
		"an earlier one beside a current LoadPolicy": v1alpha1 + "---\n" +
			"apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\nlines: {cpu: {evict: 70}}\n",
		"both of legacy systems":      v1alpha1 + "--- # Crane's\n" + cranePolicy,
		"behind markers and comments": "# mine\n---\n\n# one\n" + v1alpha1 + "...\n---\n# nothing here\n---\n" + rules,
		"with CRLF line ends":         "\ufeff" + strings.ReplaceAll(v1alpha1, "\n", "\r\n"),
	}
	shipped, err := os.ReadFile(filepath.Join("..", "policy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	cases["the shipped policy"] = string(shipped)
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			result := mustConvert(t, text)
			want, got := mustLoad(t, []byte(text)), mustLoad(t, result.Text)
			if diff := cmp.Diff(want, got, sameFile); diff != "" {
				t.Errorf("loaded (-directly +converted):\n%s\n%s", diff, result.Text)
			}
			if len(result.Policies) != 1 {
				t.Fatalf("%d policies, want 1", len(result.Policies))
			}
			if diff := cmp.Diff(want, mustLoad(t, result.Policies[0].Data), sameFile); diff != "" {
				t.Errorf("loaded (-directly +as the policy of the result):\n%s", diff)
			}
		})
	}
}

// The policy of a system that evicted nothing still evicts nothing, whether it is converted or
// loaded directly, until a DeschedulerPolicy is added.
func TestWhatDidNotEvictStillDoesNot(t *testing.T) {
	for name, text := range map[string]string{"Crane's policy": cranePolicy, "dynamicScheduler's rules": rules} {
		t.Run(name, func(t *testing.T) {
			result := mustConvert(t, text)
			for when, data := range map[string][]byte{"unconverted": []byte(text), "converted": result.Text} {
				if mustLoad(t, data).Runs() {
					t.Errorf("%s it evicts:\n%s", when, data)
				}
				if !mustLoad(t, append([]byte(v1alpha1+"---\n"), data...)).Runs() {
					t.Errorf("%s with a DeschedulerPolicy it does not run", when)
				}
			}
			if !strings.Contains(string(result.Text), "set true or add a DeschedulerPolicy") {
				t.Errorf("it does not say how to move pods:\n%s", result.Text)
			}
		})
	}
}

func TestTodaysFilesStayByteByByte(t *testing.T) {
	const text = "# a comment\napiVersion: evenkeel.io/v1alpha1\nkind:   LoadPolicy # odd\r\nlines: {cpu: {evict: 70}}\n\n...\n"
	result := mustConvert(t, text)
	if diff := cmp.Diff(text, string(result.Text)); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	want := []rewritten.Part{{Place: "line 2", Found: "evenkeel.io/v1alpha1 LoadPolicy", Action: rewritten.Current, Policy: true}}
	if diff := cmp.Diff(want, result.Parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	if changed(result) {
		t.Error("it counts as changed")
	}
}

// A LoadPolicy keeps its comments when the other document of its file is
// converted.
func TestTheRestOfAFileIsKept(t *testing.T) {
	const load = "# mine\napiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy # odd\nlines: {cpu: {evict: 70}}\n"
	result := mustConvert(t, v1alpha1+"---\n"+load)
	if !strings.HasSuffix(string(result.Text), "---\n"+load) {
		t.Errorf("text:\n%s\nwant it to end with:\n%s", result.Text, load)
	}
	if !strings.HasPrefix(string(result.Text), "# Converted from descheduler/v1alpha1 by evenkeel convert.\n") {
		t.Errorf("text:\n%s\nwant it to begin with what it was", result.Text)
	}
}

const (
	v1alpha1 = `apiVersion: "descheduler/v1alpha1"
kind: "DeschedulerPolicy"
maxNoOfPodsToEvictPerNode: 3
strategies:
  "RemoveDuplicates":
    enabled: true
    weight: 5
  "LowNodeUtilization":
    enabled: true
    params:
      nodeResourceUtilizationThresholds:
        thresholds: {"cpu": 20, "memory": 20, "pods": 20}
        targetThresholds: {"cpu": 50, "memory": 50, "pods": 50}
`
	cranePolicy = `apiVersion: scheduler.policy.crane.io/v1alpha1
kind: DynamicSchedulerPolicy
spec:
  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}, {name: mem_usage_max_avg_1h, period: 15m}]
  predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 0.65}, {name: mem_usage_max_avg_1h, maxLimitPecent: 0.75}]
  priority: [{name: cpu_usage_avg_5m, weight: 0.2}, {name: mem_usage_max_avg_1h, weight: 0.3}]
  hotValue: [{timeRange: 5m, count: 5}, {timeRange: 1m, count: 2}]
`
	rules = `PromJob: {Name: node}
Rulename:
  Node_cpu1: {Promsql: "100 - avg by (instance) (node_cpu_idle)", Threshold: 70}
  Node_mem: {Promsql: "node_mem_used", Threshold: 70}
`
	schedulerPolicy = `{"kind": "Policy", "apiVersion": "v1", "extenders": [{"urlPrefix": "http://127.0.0.1:8888/",
  "filterVerb": "filter", "prioritizeVerb": "prioritize", "weight": 1, "enableHttps": false, "nodeCacheCapable": true, "ignorable": true}]}
`
	schedulerBeta = `apiVersion: kubescheduler.config.k8s.io/v1beta2
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    filter: {enabled: [{name: Dynamic}]}
    score: {enabled: [{name: Dynamic, weight: 3}]}
  pluginConfig:
  - name: Dynamic
    args: {policyConfigPath: /etc/kubernetes/policy.yaml}
`
)

// changed reports whether any part of a file was converted or marked.
func changed(result *rewritten.File) bool {
	return slices.ContainsFunc(result.Parts, func(p rewritten.Part) bool { return p.Action == rewritten.Converted || p.Action == rewritten.Marked })
}
