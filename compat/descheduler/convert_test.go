package descheduler

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/policy"
)

// parse returns a document in the form in which policy.Load passes it on.
func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	raw, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil {
		t.Fatal(err)
	}
	return object
}

const head = "apiVersion: descheduler/v1alpha1\nkind: DeschedulerPolicy\n"

func converted(t *testing.T, text string) policy.Conversion {
	t.Helper()
	out, errs := Convert(parse(t, head+text))
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return out
}

// one returns the expected conversion of a policy with one enabled strategy.
func one(name, point, evictorArgs, args string) string {
	return "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles:\n- name: strategy-" + name +
		"-profile\n  pluginConfig:\n  - {name: DefaultEvictor, args: {" + evictorArgs + "}}\n  - {name: " + name +
		", args: {" + args + "}}\n  plugins: {" + point + ": {enabled: [" + name + "]}}\n"
}

// Each case sets every parameter that a strategy reads to a non-default value.
func TestEachStrategyKeepsEveryParameter(t *testing.T) {
	const common = ", thresholdPriority: 1000, nodeFit: true"
	const evictorArgs = "priorityThreshold: {value: 1000}, nodeFit: true"
	cases := map[string]struct{ params, want string }{
		"RemoveDuplicates": {
			"removeDuplicates: {excludeOwnerKinds: [Job]}, namespaces: {exclude: [kube-system]}" + common,
			one("RemoveDuplicates", "balance", evictorArgs, "excludeOwnerKinds: [Job], namespaces: {exclude: [kube-system]}"),
		},
		"LowNodeUtilization": {
			"nodeResourceUtilizationThresholds: {useDeviationThresholds: true, thresholds: {cpu: 20.5, pods: 10}, targetThresholds: {cpu: 10, pods: 10}," +
				" numberOfNodes: 3}, namespaces: {exclude: [kube-system]}" + common,
			one("LowNodeUtilization", "balance", evictorArgs, "useDeviationThresholds: true, thresholds: {cpu: 20.5, pods: 10},"+
				" targetThresholds: {cpu: 10, pods: 10}, numberOfNodes: 3, evictableNamespaces: {exclude: [kube-system]}"),
		},
		"HighNodeUtilization": {
			"nodeResourceUtilizationThresholds: {thresholds: {cpu: 20, example.com/gpu: 30}, numberOfNodes: 3}, namespaces: {exclude: [kube-system]}" + common,
			one("HighNodeUtilization", "balance", evictorArgs,
				"thresholds: {cpu: 20, example.com/gpu: 30}, numberOfNodes: 3, evictableNamespaces: {exclude: [kube-system]}"),
		},
		"RemovePodsViolatingInterPodAntiAffinity": {
			"namespaces: {include: [shop]}, labelSelector: {matchLabels: {app: web}}" + common,
			one("RemovePodsViolatingInterPodAntiAffinity", "deschedule", evictorArgs, "namespaces: {include: [shop]}, labelSelector: {matchLabels: {app: web}}"),
		},
		"RemovePodsViolatingNodeAffinity": {
			"nodeAffinityType: [requiredDuringSchedulingIgnoredDuringExecution], namespaces: {include: [shop]}," +
				" labelSelector: {matchExpressions: [{key: app, operator: In, values: [web]}]}" + common,
			one("RemovePodsViolatingNodeAffinity", "deschedule", evictorArgs, "nodeAffinityType: [requiredDuringSchedulingIgnoredDuringExecution],"+
				" namespaces: {include: [shop]}, labelSelector: {matchExpressions: [{key: app, operator: In, values: [web]}]}"),
		},
		"RemovePodsViolatingNodeTaints": {
			"includePreferNoSchedule: true, includedTaints: [dedicated=batch], namespaces: {include: [shop]}, labelSelector: {matchLabels: {app: web}}" + common,
			one("RemovePodsViolatingNodeTaints", "deschedule", evictorArgs,
				"includePreferNoSchedule: true, includedTaints: [dedicated=batch], namespaces: {include: [shop]}, labelSelector: {matchLabels: {app: web}}"),
		},
		"RemovePodsViolatingTopologySpreadConstraint": {
			"includeSoftConstraints: true, namespaces: {include: [shop]}, labelSelector: {matchLabels: {app: web}}" + common,
			one("RemovePodsViolatingTopologySpreadConstraint", "balance", evictorArgs, "constraints: [DoNotSchedule, ScheduleAnyway],"+
				" topologyBalanceNodeFit: true, namespaces: {include: [shop]}, labelSelector: {matchLabels: {app: web}}"),
		},
		"RemovePodsHavingTooManyRestarts": {
			"podsHavingTooManyRestarts: {podRestartThreshold: 100, includingInitContainers: true}, namespaces: {include: [shop]}," +
				" labelSelector: {matchLabels: {app: web}}" + common,
			one("RemovePodsHavingTooManyRestarts", "deschedule", evictorArgs, "podRestartThreshold: 100, includingInitContainers: true,"+
				" namespaces: {include: [shop]}, labelSelector: {matchLabels: {app: web}}"),
		},
		"PodLifeTime": {
			"podLifeTime: {maxPodLifeTimeSeconds: 86400, podStatusPhases: [Pending], states: [PodInitializing]}, namespaces: {include: [shop]}," +
				" labelSelector: {matchLabels: {app: web}}" + common,
			one("PodLifeTime", "deschedule", "priorityThreshold: {value: 1000}", "maxPodLifeTimeSeconds: 86400, states: [Pending, PodInitializing],"+
				" namespaces: {include: [shop]}, labelSelector: {matchLabels: {app: web}}"),
		},
		"RemoveFailedPods": {
			"failedPods: {excludeOwnerKinds: [Job], minPodLifetimeSeconds: 60, reasons: [NodeAffinity], includingInitContainers: true}," +
				" namespaces: {include: [shop]}, labelSelector: {matchLabels: {app: web}}" + common,
			one("RemoveFailedPods", "deschedule", evictorArgs, "excludeOwnerKinds: [Job], minPodLifetimeSeconds: 60, reasons: [NodeAffinity],"+
				" includingInitContainers: true, namespaces: {include: [shop]}, labelSelector: {matchLabels: {app: web}}"),
		},
	}
	for _, k := range kinds() {
		if _, ok := cases[k.name]; !ok {
			t.Errorf("strategy %q has no case", k.name)
		}
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := converted(t, "strategies:\n  "+name+": {enabled: true, params: {"+tc.params+"}}\n")
			if diff := cmp.Diff(parse(t, tc.want), got.Object); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheTopLevelGoesIntoEveryProfile(t *testing.T) {
	got := converted(t, `
nodeSelector: pool=web
evictFailedBarePods: true
evictLocalStoragePods: true
evictSystemCriticalPods: true
evictDaemonSetPods: true
ignorePvcPods: true
maxNoOfPodsToEvictPerNode: 2
maxNoOfPodsToEvictPerNamespace: 5
maxNoOfPodsToEvictTotal: 9
strategies:
  RemovePodsViolatingInterPodAntiAffinity: {enabled: true, params: {nodeFit: true}}
  RemoveDuplicates: {enabled: true, params: {thresholdPriorityClassName: high}}
`).Object
	const protections = `{
  defaultDisabled: [PodsWithLocalStorage, DaemonSetPods, SystemCriticalPods, FailedBarePods], extraEnabled: [PodsWithPVC]}`
	want := parse(t, `
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
nodeSelector: pool=web
maxNoOfPodsToEvictPerNode: 2
maxNoOfPodsToEvictPerNamespace: 5
maxNoOfPodsToEvictTotal: 9
profiles:
- name: strategy-RemoveDuplicates-profile
  pluginConfig:
  - {name: DefaultEvictor, args: {podProtections: `+protections+`, priorityThreshold: {name: high}}}
  - {name: RemoveDuplicates, args: {}}
  plugins: {balance: {enabled: [RemoveDuplicates]}}
- name: strategy-RemovePodsViolatingInterPodAntiAffinity-profile
  pluginConfig:
  - {name: DefaultEvictor, args: {podProtections: `+protections+`, nodeFit: true, nodeSelector: pool=web}}
  - {name: RemovePodsViolatingInterPodAntiAffinity, args: {}}
  plugins: {deschedule: {enabled: [RemovePodsViolatingInterPodAntiAffinity]}}
`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNothingEnabledEvictsNothing(t *testing.T) {
	for name, text := range map[string]string{
		"no strategies":                    "",
		"all strategies disabled":          "strategies: {RemoveDuplicates: {enabled: false}, LowNodeUtilization: {}, PodLifeTime: }",
		"disabled with invalid parameters": "strategies: {PodLifeTime: {enabled: false, params: {podLifeTime: {}}}}",
	} {
		t.Run(name, func(t *testing.T) {
			want := []any{map[string]any{"name": "no-strategy-profile"}}
			if diff := cmp.Diff(want, converted(t, text).Object["profiles"]); diff != "" {
				t.Errorf("profiles (-want +got):\n%s", diff)
			}
		})
	}
}

// A resource that is missing from one of the two maps was set to 100%, which no node exceeds and
// which keeps no node from being low.
func TestAResourceThatOneMapLeavesOutLimitsNothing(t *testing.T) {
	got := converted(t, `
strategies:
  LowNodeUtilization:
    enabled: true
    params: {nodeResourceUtilizationThresholds: {thresholds: {cpu: 20}, targetThresholds: {cpu: 50, pods: 50}}}
`)
	args := got.Object["profiles"].([]any)[0].(map[string]any)["pluginConfig"].([]any)[1].(map[string]any)["args"]
	if diff := cmp.Diff(any(parse(t, "{thresholds: {cpu: 20, pods: 100}, targetThresholds: {cpu: 50, pods: 50}}")), args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
}

func TestNotesTellWhatChanged(t *testing.T) {
	always := policy.Note{Text: "evictions by descheduler's own plugins obey the LoadPolicy's budgets, cooldowns and breaker, too"}
	const off = "strategies that are not listed stay disabled, as before, although some guides say that all are enabled by default: "
	const rest = "RemovePodsViolatingInterPodAntiAffinity: , RemovePodsViolatingNodeAffinity: , RemovePodsViolatingNodeTaints: "
	const args = "profiles[0].pluginConfig[1].args"
	cases := map[string]struct {
		text string
		want []policy.Note
	}{
		"all strategies named, one with a weight and with another one's parameter": {
			"strategies: {RemoveDuplicates: {}, LowNodeUtilization: {}, " + rest + ", RemovePodsHavingTooManyRestarts: {enabled: true, weight: 3," +
				" params: {podsHavingTooManyRestarts: {podRestartThreshold: 5}, excludedTaints: [a], includedTaints: [], includePreferNoSchedule: false}}}",
			[]policy.Note{
				always,
				{Field: "profiles[0]", Text: "weight is left out: it never had an effect"},
				{Field: args, Text: "excludedTaints is left out: RemovePodsHavingTooManyRestarts never read it"},
			},
		},
		"strategies of both kinds, some omitted": {
			"strategies: {RemovePodsViolatingInterPodAntiAffinity: {enabled: true}, RemoveDuplicates: {enabled: true}," +
				" RemovePodsViolatingNodeTaints: {enabled: false}}",
			[]policy.Note{
				always,
				{Field: "profiles", Text: off + "LowNodeUtilization, RemovePodsViolatingNodeAffinity"},
				{Field: "profiles", Text: "deschedule plugins run before balance plugins, regardless of the order of profiles"},
				{Field: args, Text: "a node keeps as many pods of one owner as an even spread over the eligible nodes gives it; the first versions kept one"},
			},
		},
		"utilization with two resources, and a namespace": {
			"strategies: {RemoveDuplicates: , " + rest + ", LowNodeUtilization: {enabled: true, params: {namespaces: {exclude: [a]}," +
				" nodeResourceUtilizationThresholds: {thresholds: {cpu: 20}, targetThresholds: {pods: 50}}}}}",
			[]policy.Note{
				always,
				{Field: args + ".evictableNamespaces", Text: "namespaces is written as evictableNamespaces: pods elsewhere count, but are not evicted"},
				{Field: args + ".thresholds", Text: "resources that are not named limit nothing; earlier versions achieved the same by filling in 100%: memory"},
				{Field: args + ".thresholds", Text: "pods is filled in with 100%, which limits nothing: only targetThresholds named it"},
				{Field: args + ".targetThresholds", Text: "cpu is filled in with 100%, which limits nothing: only thresholds named it"},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, converted(t, tc.text).Notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}
