package descheduler

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/policy"
)

func treeOf(t *testing.T, text string) map[string]any {
	t.Helper()
	parts, err := policy.ReadParts("p.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return parts[0].Object
}

func profile(plugin, args, points string) string {
	return "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles:\n- name: p\n" +
		"  pluginConfig: [{name: " + plugin + ", args: " + args + "}]\n  plugins: " + points + "\n"
}

// Fields of earlier releases keep their meaning. Fields that no release read are left out.
func TestRenew(t *testing.T) {
	const spread, high = "RemovePodsViolatingTopologySpreadConstraint", "HighNodeUtilization"
	cases := map[string]struct {
		in, want string
		notes    []string // none if the document is current
		errs     []string
	}{
		"of today": {in: profile(spread, "{constraints: [DoNotSchedule]}", "{filter: {enabled: [DefaultEvictor]}}")},
		"soft constraints": {
			in:    profile(spread, "{includeSoftConstraints: true, labelSelector: {matchLabels: {a: b}}}", "{}"),
			want:  profile(spread, "{constraints: [DoNotSchedule, ScheduleAnyway], labelSelector: {matchLabels: {a: b}}}", "{}"),
			notes: []string{"profiles[0].pluginConfig[0].args.constraints"},
		},
		"no soft constraints": {
			in:    profile(spread, "{includeSoftConstraints: false}", "{}"),
			want:  profile(spread, "{constraints: [DoNotSchedule]}", "{}"),
			notes: []string{"profiles[0].pluginConfig[0].args.constraints"},
		},
		"soft constraints that are null":     {in: profile(spread, "{includeSoftConstraints: null}", "{}")},
		"soft constraints of another plugin": {in: profile(high, "{includeSoftConstraints: true}", "{}")}, // rejected later
		"soft constraints together with constraints": {
			in:   profile(spread, "{includeSoftConstraints: true, constraints: [DoNotSchedule]}", "{}"),
			errs: []string{"profiles[0].pluginConfig[0].args.includeSoftConstraints: Forbidden: not together with constraints, which replaced it"},
		},
		"soft constraints as text": {
			in:   profile(spread, "{includeSoftConstraints: 'yes'}", "{}"),
			errs: []string{`profiles[0].pluginConfig[0].args.includeSoftConstraints: Invalid value: "yes": must be true or false`},
		},
		"usage that HighNodeUtilization never read": {
			in:    profile(high, "{thresholds: {cpu: 20}, metricsUtilization: {metricsServer: true}}", "{}"),
			want:  profile(high, "{thresholds: {cpu: 20}}", "{}"),
			notes: []string{"profiles[0].pluginConfig[0].args"},
		},
		"plugin sets that were never read": {
			in:    profile(high, "{thresholds: {cpu: 20}}", "{evict: {enabled: [DefaultEvictor]}, preEvictionFilter: {enabled: [DefaultEvictor]}, balance: {enabled: [HighNodeUtilization]}}"),
			want:  profile(high, "{thresholds: {cpu: 20}}", "{balance: {enabled: [HighNodeUtilization]}}"),
			notes: []string{"profiles[0].plugins", "profiles[0].plugins"},
		},
		"events under the name that 0.32 used": {
			in:    "EvictionFailureEventNotification: true\n" + profile(high, "{}", "{}"),
			want:  "evictionFailureEventNotification: true\n" + profile(high, "{}", "{}"),
			notes: []string{"evictionFailureEventNotification"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			object := treeOf(t, tc.in)
			if got, want := IsEarlier(object), len(tc.notes)+len(tc.errs) > 0; got != want {
				t.Errorf("is earlier: %v, want %v", got, want)
			}
			got, errs := Renew(object)
			var problems, notes []string
			for _, err := range errs {
				problems = append(problems, err.Error())
			}
			for _, note := range got.Notes {
				notes = append(notes, note.Field)
			}
			if diff := cmp.Diff(tc.errs, problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.notes, notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(treeOf(t, tc.in), object); diff != "" {
				t.Errorf("the document has changed:\n%s", diff)
			}
			if tc.want == "" {
				return
			}
			if diff := cmp.Diff(treeOf(t, tc.want), got.Object); diff != "" {
				t.Errorf("renewed (-want +got):\n%s", diff)
			}
		})
	}
}

// A lifetime in its original position takes effect. Fields that existed only in descheduler's
// documentation are left out.
func TestFieldsOfTheFirstReleases(t *testing.T) {
	cases := map[string]struct {
		strategies string
		args       string // the strategy's plugin's
		err        string
	}{
		"a lifetime as in 0.18": {"PodLifeTime: {enabled: true, params: {maxPodLifeTimeSeconds: 60}}", "{maxPodLifeTimeSeconds: 60}", ""},
		"the same in both places": {
			"PodLifeTime: {enabled: true, params: {maxPodLifeTimeSeconds: 60, podLifeTime: {maxPodLifeTimeSeconds: 60}}}", "{maxPodLifeTimeSeconds: 60}", "",
		},
		"two lifetimes": {
			"PodLifeTime: {enabled: true, params: {maxPodLifeTimeSeconds: 60, podLifeTime: {maxPodLifeTimeSeconds: 61}}}", "",
			"strategies[PodLifeTime].params.maxPodLifeTimeSeconds: Forbidden: not together with another podLifeTime.maxPodLifeTimeSeconds, which replaced it",
		},
		"nodeFit among the thresholds": {
			"LowNodeUtilization: {enabled: true, params: {nodeResourceUtilizationThresholds: {thresholds: {cpu: 20}, targetThresholds: {cpu: 50}, nodeFit: true}}}",
			"{thresholds: {cpu: 20}, targetThresholds: {cpu: 50}}", "",
		},
		"a misspelt age": {
			"RemoveFailedPods: {enabled: true, params: {failedPods: {reasons: [NodeAffinity], minPodLifeTimeSeconds: 3600}}}", "{reasons: [NodeAffinity]}", "",
		},
		"a misspelt threshold": {
			"RemovePodsHavingTooManyRestarts: {enabled: true, params: {podsHavingTooManyRestarts: {podRestartThresholds: 100}}}", "",
			"strategies[RemovePodsHavingTooManyRestarts].params.podsHavingTooManyRestarts.podRestartThreshold: Invalid value: 0: must be 1 or more",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			object := treeOf(t, "apiVersion: descheduler/v1alpha1\nkind: DeschedulerPolicy\nstrategies: {"+tc.strategies+"}\n")
			got, errs := Convert(object)
			if tc.err != "" {
				if len(errs) != 1 || errs[0].Error() != tc.err {
					t.Errorf("errors %v, want %s", errs, tc.err)
				}
				return
			}
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			text, err := json.Marshal(got.Object["profiles"].([]any)[0].(map[string]any)["pluginConfig"].([]any)[1].(map[string]any)["args"])
			if err != nil {
				t.Fatal(err)
			}
			want, err := yaml.YAMLToJSON([]byte(tc.args))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(text)); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
		})
	}
}
