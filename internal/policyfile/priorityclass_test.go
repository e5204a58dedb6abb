package policyfile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// OpenShift's operator writes both fields of a threshold, with null for the one that is not set.
// Null counts as absent in upstream's types as well: a threshold whose value is null requires its
// class, and a null percentage is not 0.
func TestNullIsAbsentFromProfiles(t *testing.T) {
	const head = "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\n"
	threshold := func(fields string) string {
		return head + "profiles: [{name: p, pluginConfig: [{name: DefaultEvictor, args: {priorityThreshold: " + fields + "}}]}]\n"
	}
	cases := map[string]struct {
		null, absent string
		classes      int
	}{
		"the value of a threshold with a class": {threshold("{name: gold, value: null}"), threshold("{name: gold}"), 1},
		"the class of a threshold with a value": {threshold("{name: null, value: 1000}"), threshold("{value: 1000}"), 0},
		"both":                                  {threshold("{name: null, value: ~}"), threshold("{}"), 0},
		"the threshold":                         {threshold(""), head + "profiles: [{name: p, pluginConfig: [{name: DefaultEvictor, args: {}}]}]\n", 0},
		"arguments, plugin sets and limits": {
			head + "maxNoOfPodsToEvictTotal: null\nmetricsProviders:\nprofiles:\n- name: p\n  pluginConfig: [{name: RemoveDuplicates, args: null}, {name: DefaultEvictor, args: }]\n" +
				"  plugins: {balance: {enabled: [RemoveDuplicates], disabled: null}, sort: null}\n",
			head + "profiles:\n- name: p\n  pluginConfig: [{name: RemoveDuplicates}, {name: DefaultEvictor}]\n  plugins: {balance: {enabled: [RemoveDuplicates]}}\n", 0,
		},
		"a percentage, a label and a duration": {
			head + "profiles:\n- name: p\n  pluginConfig:\n  - {name: DefaultEvictor, args: {minPodAge: null, labelSelector: {matchLabels: {a: b, c: null}}}}\n" +
				"  - {name: LowNodeUtilization, args: {thresholds: {cpu: 20, memory: null}, targetThresholds: {cpu: 50, memory: null}, evictionLimits: {node: null}}}\n" +
				"  plugins: {balance: {enabled: [LowNodeUtilization]}}\n",
			head + "profiles:\n- name: p\n  pluginConfig:\n  - {name: DefaultEvictor, args: {labelSelector: {matchLabels: {a: b}}}}\n" +
				"  - {name: LowNodeUtilization, args: {thresholds: {cpu: 20}, targetThresholds: {cpu: 50}, evictionLimits: {}}}\n" +
				"  plugins: {balance: {enabled: [LowNodeUtilization]}}\n", 0,
		},
	}
	SetupPlugins()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, classes, err := OfflineProfiles(load(t, tc.null))
			if err != nil || len(classes) != tc.classes {
				t.Fatalf("error %v, classes %v, want %d", err, classes, tc.classes)
			}
			want, _, err := OfflineProfiles(load(t, tc.absent))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("profiles (-absent +null):\n%s", diff)
			}
		})
	}
}
