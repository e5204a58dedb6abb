package descheduler

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// Every mistake is reported with its path, its value and what is allowed.
func TestMistakesAreNamed(t *testing.T) {
	// names are the ten names as a message lists them.
	const names = `"RemoveDuplicates", "LowNodeUtilization", "RemovePodsViolatingInterPodAntiAffinity", "RemovePodsViolatingNodeAffinity", ` +
		`"RemovePodsViolatingNodeTaints", "RemovePodsViolatingTopologySpreadConstraint", "RemovePodsHavingTooManyRestarts", ` +
		`"PodLifeTime", "RemoveFailedPods", "HighNodeUtilization"`
	low := func(thresholds string) string {
		return "strategies: {LowNodeUtilization: {enabled: true, params: {nodeResourceUtilizationThresholds: {" + thresholds + "}}}}"
	}
	on := func(name, params string) string {
		return "strategies: {" + name + ": {enabled: true, params: {" + params + "}}}"
	}
	const atLow = "strategies[LowNodeUtilization].params.nodeResourceUtilizationThresholds."
	const percents = "a percentage for each resource, such as {cpu: 20, memory: 20, pods: 20}"
	cases := map[string]struct {
		text string
		want []string
	}{
		"a strategy that never existed": {
			"strategies: {RemoveDuplicate: {enabled: true}}",
			[]string{`strategies[RemoveDuplicate]: Unsupported value: "RemoveDuplicate": did you mean "RemoveDuplicates"? supported values: ` + names},
		},
		"a disabled strategy that never existed": {
			"strategies: {lownodeutilization: {enabled: false}}",
			[]string{`strategies[lownodeutilization]: Unsupported value: "lownodeutilization": did you mean "LowNodeUtilization"? supported values: ` + names},
		},
		"an unknown field": {
			"strategies: {RemoveDuplicates: {enable: true}}",
			[]string{`strategies[RemoveDuplicates].enable: Forbidden: unknown field "enable", did you mean "enabled"? (allowed: enabled, params, weight)`},
		},
		"current fields under the legacy version": {
			"profiles: []",
			[]string{"profiles: Forbidden: unknown field \"profiles\" (allowed: apiVersion, evictDaemonSetPods, evictFailedBarePods, evictLocalStoragePods, " +
				"evictSystemCriticalPods, ignorePvcPods, kind, maxNoOfPodsToEvictPerNamespace, maxNoOfPodsToEvictPerNode, maxNoOfPodsToEvictTotal, " +
				"nodeSelector, strategies)"},
		},
		"values of wrong types": {
			"evictDaemonSetPods: yes please\nmaxNoOfPodsToEvictPerNode: -1\nstrategies: {RemoveDuplicates: [], LowNodeUtilization: {weight: high}}",
			[]string{
				`evictDaemonSetPods: Invalid value: "yes please": must be true or false`,
				"maxNoOfPodsToEvictPerNode: Invalid value: -1: must be a whole number of 0 or more",
				`strategies[LowNodeUtilization].weight: Invalid value: "high": must be a whole number`,
				`strategies[RemoveDuplicates]: Invalid value: "a list": must be a mapping of fields`,
			},
		},
		"percentages with a unit": {
			low(`thresholds: {cpu: "20%"}, targetThresholds: {cpu: 50}`),
			[]string{atLow + `thresholds[cpu]: Invalid value: "20%": must be a number`},
		},
		"percentages out of range": {
			low("thresholds: {cpu: -1}, targetThresholds: {cpu: 100.5}"),
			[]string{atLow + "thresholds[cpu]: Invalid value: -1: must be a percentage, 0 to 100", atLow + "targetThresholds[cpu]: Invalid value: 100.5: must be a percentage, 0 to 100"},
		},
		"a percentage left blank": {
			low("thresholds: {cpu: }, targetThresholds: {cpu: 50}"),
			[]string{atLow + "thresholds[cpu]: Required value: a percentage, 0 to 100"},
		},
		"no thresholds": {
			"strategies: {LowNodeUtilization: {enabled: true}}",
			[]string{atLow + "thresholds: Required value: " + percents, atLow + "targetThresholds: Required value: " + percents},
		},
		"thresholds in the wrong order": {
			low("thresholds: {cpu: 60}, targetThresholds: {cpu: 50}"),
			[]string{atLow + "thresholds[cpu]: Invalid value: 60: must not be above its target threshold, which is 50"},
		},
		"deviations for different resources": {
			low("useDeviationThresholds: true, thresholds: {cpu: 60}, targetThresholds: {memory: 50}"),
			[]string{atLow + "targetThresholds: Forbidden: as deviations, thresholds and targetThresholds must name the same resources"},
		},
		"a negative number of nodes": {
			low("numberOfNodes: -1, thresholds: {cpu: 20}, targetThresholds: {cpu: 50}"),
			[]string{atLow + "numberOfNodes: Invalid value: -1: must be 0 or more"},
		},
		"namespaces to include for a strategy that takes none": {
			on("HighNodeUtilization", "namespaces: {include: [a]}, nodeResourceUtilizationThresholds: {thresholds: {cpu: 20}}"),
			[]string{"strategies[HighNodeUtilization].params.namespaces.include: Forbidden: HighNodeUtilization takes exclude only"},
		},
		"both kinds of namespaces, and of priorities": {
			on("RemoveDuplicates", "namespaces: {include: [a], exclude: [b]}, thresholdPriority: 1, thresholdPriorityClassName: high"),
			[]string{
				"strategies[RemoveDuplicates].params.thresholdPriorityClassName: Forbidden: not together with thresholdPriority",
				"strategies[RemoveDuplicates].params.namespaces: Forbidden: only one of include and exclude may be given",
			},
		},
		"a priority out of range": {
			on("RemoveDuplicates", "thresholdPriority: 4294967296"),
			[]string{"strategies[RemoveDuplicates].params.thresholdPriority: Invalid value: 4294967296: must be a whole number"},
		},
		"a missing kind of node affinity": {
			on("RemovePodsViolatingNodeAffinity", ""),
			[]string{"strategies[RemovePodsViolatingNodeAffinity].params.nodeAffinityType: Required value: a list of " +
				"requiredDuringSchedulingIgnoredDuringExecution and preferredDuringSchedulingIgnoredDuringExecution"},
		},
		"an unknown kind of node affinity": {
			on("RemovePodsViolatingNodeAffinity", "nodeAffinityType: [required]"),
			[]string{`strategies[RemovePodsViolatingNodeAffinity].params.nodeAffinityType[0]: Unsupported value: "required": did you mean "requiredDuringSchedulingIgnoredDuringExecution"? supported values: ` +
				`"requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"`},
		},
		"both kinds of taints": {
			on("RemovePodsViolatingNodeTaints", "excludedTaints: [a], includedTaints: [b]"),
			[]string{"strategies[RemovePodsViolatingNodeTaints].params.includedTaints: Forbidden: not together with excludedTaints"},
		},
		"no restarts": {
			on("RemovePodsHavingTooManyRestarts", ""),
			[]string{"strategies[RemovePodsHavingTooManyRestarts].params.podsHavingTooManyRestarts.podRestartThreshold: Invalid value: 0: must be 1 or more"},
		},
		"a missing lifetime": {
			on("PodLifeTime", "podLifeTime: {states: [Pending]}"),
			[]string{"strategies[PodLifeTime].params.podLifeTime.maxPodLifeTimeSeconds: Required value: a number of seconds"},
		},
		"a lifetime with a unit": {
			on("PodLifeTime", "podLifeTime: {maxPodLifeTimeSeconds: 24h}"),
			[]string{`strategies[PodLifeTime].params.podLifeTime.maxPodLifeTimeSeconds: Invalid value: "24h": must be a whole number of 0 or more`},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, errs := Convert(parse(t, head+tc.text))
			var got []string
			for _, err := range errs {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// Any document is either rejected or becomes one that JSON can express, and the
// original stays unchanged.
func FuzzConvert(f *testing.F) {
	f.Add([]byte("strategies: {RemoveDuplicates: {enabled: true, params: {namespaces: {include: [a]}}}}"))
	f.Add([]byte("strategies: {LowNodeUtilization: {enabled: true, params: {nodeResourceUtilizationThresholds: {thresholds: {cpu: 1}, targetThresholds: {pods: 2}}}}}"))
	f.Add([]byte("strategies: {PodLifeTime: {enabled: true, params: {podLifeTime: {maxPodLifeTimeSeconds: 1, podStatusPhases: [Pending, ~]}}}}"))
	f.Add([]byte("strategies: ~"))
	f.Fuzz(func(t *testing.T, text []byte) {
		raw, err := yaml.YAMLToJSONStrict(text)
		if err != nil {
			return
		}
		var object map[string]any
		decoder := json.NewDecoder(strings.NewReader(string(raw)))
		decoder.UseNumber()
		if decoder.Decode(&object) != nil {
			return
		}
		before, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		out, errs := Convert(object)
		after, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(before), string(after)); diff != "" {
			t.Errorf("the document changed (-before +after):\n%s", diff)
		}
		if len(errs) > 0 {
			return
		}
		if _, err := json.Marshal(out.Object); err != nil {
			t.Errorf("the result cannot be encoded or has changed: %v", err)
		}
	})
}
