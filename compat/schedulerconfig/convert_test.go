package schedulerconfig

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// read returns a YAML document in the form that converters take.
func read(t *testing.T, text string) map[string]any {
	t.Helper()
	raw, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Fatalf("reading the case: %v", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil {
		t.Fatalf("reading the case: %v", err)
	}
	return object
}

func TestConvert(t *testing.T) {
	cases := map[string]struct {
		in, want string
		notes    []string // how the notes start, with "lost " in front of lossy ones
	}{
		"the current version stays unchanged, and its plugins are listed": {
			in: `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: mem-real-usage-scheduler
  plugins:
    score: {enabled: [{name: MemRealUsage}], disabled: [{name: "*"}]}
  pluginConfig:
  - name: MemRealUsage
    args: {prometheusApiAddr: "http://10.0.0.1:9090", queryMetricTimeSeconds: 10}
`,
			want: `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: mem-real-usage-scheduler
  plugins:
    score: {enabled: [{name: MemRealUsage}], disabled: [{name: "*"}]}
  pluginConfig:
  - name: MemRealUsage
    args: {prometheusApiAddr: "http://10.0.0.1:9090", queryMetricTimeSeconds: 10}
`,
			notes: []string{"profiles[0].plugins.score.enabled[0]: plugin MemRealUsage is compiled"},
		},
		"a beta version becomes v1, including its arguments": {
			in: `
apiVersion: kubescheduler.config.k8s.io/v1beta2
kind: KubeSchedulerConfiguration
leaderElection: {resourceLock: endpointsleases}
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args: {apiVersion: kubescheduler.config.k8s.io/v1beta2, kind: NodeResourcesFitArgs}
`,
			want: `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {resourceLock: leases}
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args: {apiVersion: kubescheduler.config.k8s.io/v1, kind: NodeResourcesFitArgs}
`,
			notes: []string{
				"apiVersion: was kubescheduler.config.k8s.io/v1beta2",
				`leaderElection.resourceLock: was "endpointsleases"`,
				"profiles[0].pluginConfig[0].args.apiVersion: was",
			},
		},
		"fields that v1 lacks are removed and reported": {
			in: `
apiVersion: kubescheduler.config.k8s.io/v1beta1
kind: KubeSchedulerConfiguration
healthzBindAddress: 0.0.0.0:10251
metricsBindAddress: 127.0.0.1:0
profiles:
- plugins:
    score:
      enabled: [{name: NodeResourcesMostAllocated, weight: 2}, {name: Dynamic, weight: 3}]
      disabled: [{name: SelectorSpread}]
  pluginConfig:
  - name: NodeLabel
    args: {presentLabels: [zone]}
`,
			want: `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    score:
      enabled: [{name: Dynamic, weight: 3}]
      disabled: []
  pluginConfig: []
`,
			notes: []string{
				"apiVersion: was",
				`lost : healthzBindAddress "0.0.0.0:10251" was removed`,
				": metricsBindAddress was removed; it had no effect",
				"profiles[0]: plugin SelectorSpread no longer exists",
				"lost profiles[0]: plugin NodeResourcesMostAllocated no longer exists",
				"profiles[0].plugins.score.enabled[0]: plugin Dynamic is compiled",
				"lost profiles[0]: plugin NodeLabel no longer exists",
			},
		},
		"an unknown plugin is reported once": {
			in: `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {filter: {enabled: [{name: Coscheduling}]}, permit: {enabled: [{name: Coscheduling}]}}
`,
			want: `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {filter: {enabled: [{name: Coscheduling}]}, permit: {enabled: [{name: Coscheduling}]}}
`,
			notes: []string{`profiles[0].plugins.filter.enabled[0]: plugin "Coscheduling" is neither`},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := read(t, tc.in)
			doc, errs := Convert(in)
			if len(errs) > 0 {
				t.Fatalf("converting: %v", errs.ToAggregate())
			}
			if diff := cmp.Diff(read(t, tc.want), doc.Object); diff != "" {
				t.Errorf("converted (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(read(t, tc.in), in); diff != "" {
				t.Errorf("the document given was changed (-want +got):\n%s", diff)
			}
			var notes []string
			for i, note := range doc.Notes {
				text := note.Field + ": " + note.Text
				if note.Lossy {
					text = "lost " + text
				}
				if i < len(tc.notes) && strings.HasPrefix(text, tc.notes[i]) {
					text = tc.notes[i]
				}
				notes = append(notes, text)
			}
			if diff := cmp.Diff(tc.notes, notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

// v1 is the start of a configuration of the current version.
const v1 = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

// plugin returns a configuration with the args of one plugin.
func plugin(name, args string) string {
	return v1 + "profiles: [{pluginConfig: [{name: " + name + ", args: " + args + "}]}]"
}

// A configuration with which kube-scheduler would not start is rejected, including for the args of
// plugins.
func TestConvertRefuses(t *testing.T) {
	cases := map[string]struct{ in, want string }{
		"a version that no kube-scheduler had": {
			in:   "apiVersion: kubescheduler.config.k8s.io/v9\nkind: KubeSchedulerConfiguration",
			want: `apiVersion: Unsupported value: "kubescheduler.config.k8s.io/v9": supported values: "kubescheduler.config.k8s.io/v1", `,
		},
		"a field that v1 does not have": {
			in:   "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\nprofiles: [{schedulerNam: x}]",
			want: `profiles[0].schedulerNam: Forbidden: unknown field "schedulerNam", did you mean "schedulerName"? (allowed: `,
		},
		"a removed field under v1": {
			in:   "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nhealthzBindAddress: 0.0.0.0:1",
			want: `healthzBindAddress: Forbidden: unknown field "healthzBindAddress"`,
		},
		"a plugin that is text": {
			in:   "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{plugins: {score: {enabled: [Dynamic]}}}]",
			want: `profiles[0].plugins.score.enabled[0]: Invalid value: "Dynamic": must be a mapping of fields`,
		},
		"a weight in words": {
			in:   "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{plugins: {score: {enabled: [{name: Dynamic, weight: three}]}}}]",
			want: `profiles[0].plugins.score.enabled[0].weight: Invalid value: "three": must be a whole number`,
		},
		"a misspelt arg of MemRealUsage": {
			in:   plugin("MemRealUsage", "{prometheusApiAddr: 'http://p', queryMetricTimeSecond: 5}"),
			want: `profiles[0].pluginConfig[0].args.queryMetricTimeSecond: Forbidden: unknown field "queryMetricTimeSecond", did you mean "queryMetricTimeSeconds"? (allowed: `,
		},
		"an arg of a wrong type": {
			in:   plugin("CpuRealUsage", "{prometheusApiAddr: 'http://p', queryMetricIntervalSeconds: 10s}"),
			want: `profiles[0].pluginConfig[0].args.queryMetricIntervalSeconds: Invalid value: "10s": must be a whole number`,
		},
		"an arg out of bounds": {
			in:   plugin("CpuRealUsage", "{prometheusApiAddr: 'http://p', queryMetricIntervalSeconds: 0}"),
			want: `profiles[0].pluginConfig[0].args.queryMetricIntervalSeconds: Invalid value: 0: must be a whole number of seconds above 0`,
		},
		"an address without a scheme": {
			in:   plugin("MemRealUsage", "{prometheusApiAddr: '10.0.0.1:9090'}"),
			want: `profiles[0].pluginConfig[0].args.prometheusApiAddr: Invalid value: "10.0.0.1:9090": must be a URL`,
		},
		"a required arg that is missing": {
			in:   plugin("MemRealUsage", "{}"),
			want: `profiles[0].pluginConfig[0].args.prometheusApiAddr: Required value: must be the URL of Prometheus`,
		},
		"a plugin that is enabled without its required args": {
			in:   v1 + "profiles: [{plugins: {score: {enabled: [{name: CpuRealUsage}]}}}]",
			want: `profiles[0].pluginConfig[CpuRealUsage].args.prometheusApiAddr: Required value: must be the URL of Prometheus`,
		},
		"null args of an enabled plugin": {
			in:   v1 + "profiles: [{plugins: {multiPoint: {enabled: [{name: MemRealUsage}]}}, pluginConfig: [{name: MemRealUsage, args: null}]}]",
			want: `profiles[0].pluginConfig[0].args.prometheusApiAddr: Required value: must be the URL of Prometheus`,
		},
		"an empty path": {
			in:   plugin("Dynamic", "{policyConfigPath: ''}"),
			want: `profiles[0].pluginConfig[0].args.policyConfigPath: Required value: must name a file`,
		},
		"a misspelt arg of Dynamic in a beta version, after a removed plugin": {
			in: "apiVersion: kubescheduler.config.k8s.io/v1beta2\nkind: KubeSchedulerConfiguration\n" +
				"profiles: [{pluginConfig: [{name: NodeLabel, args: {}}, {name: Dynamic, args: {policyPath: x}}]}]",
			want: `profiles[0].pluginConfig[1].args.policyPath: Forbidden: unknown field "policyPath"`,
		},
		"a misspelt arg of EvenkeelLoad": {
			in:   plugin("EvenkeelLoad", "{policyConfigPath: x}"),
			want: `profiles[0].pluginConfig[0].args.policyConfigPath: Forbidden: unknown field "policyConfigPath", did you mean "policyConfigFile"? (allowed: namespace, policyConfigFile)`,
		},
		"args that are a list": {
			in:   plugin("Dynamic", "[x]"),
			want: `profiles[0].pluginConfig[0].args: Invalid value: "a list": must be a mapping of fields`,
		},
		"args of a plugin twice": {
			in:   v1 + "profiles: [{pluginConfig: [{name: Dynamic}, {name: Dynamic}]}]",
			want: `profiles[0].pluginConfig[1].name: Duplicate value: "Dynamic"`,
		},
		"a misspelt arg of kube-scheduler's own plugin": {
			in:   plugin("NodeResourcesFit", "{scoringStrategy: {typ: MostAllocated}}"),
			want: `profiles[0].pluginConfig[0].args.scoringStrategy.typ: Forbidden: unknown field "typ", did you mean "type"?`,
		},
		"args of another plugin": {
			in:   plugin("NodeResourcesFit", "{kind: NodeAffinityArgs}"),
			want: `profiles[0].pluginConfig[0].args.kind: Unsupported value: "NodeAffinityArgs": supported values: "NodeResourcesFitArgs"`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, errs := Convert(read(t, tc.in))
			if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), tc.want) {
				t.Errorf("errors %v, want the one that begins with %q", errs, tc.want)
			}
		})
	}
}

// Args that their plugin accepts are not rejected. Args of an unknown plugin are not checked.
func TestConvertAcceptsArgs(t *testing.T) {
	for name, in := range map[string]string{
		"all of them":              plugin("MemRealUsage", "{prometheusApiAddr: 'http://p', queryMetricTimeSeconds: 1, queryMetricIntervalSeconds: 60}"),
		"a null":                   plugin("CpuRealUsage", "{prometheusApiAddr: 'http://p', queryMetricTimeSeconds: null}"),
		"their type":               plugin("Dynamic", "{apiVersion: kubescheduler.config.k8s.io/v1, kind: DynamicArgs, policyConfigPath: /x}"),
		"Dynamic without any":      v1 + "profiles: [{plugins: {score: {enabled: [{name: Dynamic}]}}}]",
		"EvenkeelLoad without any": v1 + "profiles: [{plugins: {multiPoint: {enabled: [{name: EvenkeelLoad}]}}}]",
		"EvenkeelLoad with null":   plugin("EvenkeelLoad", "null"),
		"kube-scheduler's own":     plugin("NodeResourcesFit", "{kind: NodeResourcesFitArgs, scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}"),
		"an unknown plugin":        plugin("Coscheduling", "[anything]"),
	} {
		if _, errs := Convert(read(t, in)); len(errs) > 0 {
			t.Errorf("%s: %v", name, errs.ToAggregate())
		}
	}
}
