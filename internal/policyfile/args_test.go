package policyfile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A profile that does not enable a strategy does not move pods by its thresholds, so they need not
// be consistent with the lines.
func TestArgumentsOfADisabledStrategy(t *testing.T) {
	SetupPlugins()
	file, err := Load("policy.yaml", []byte("apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles:\n- name: p\n"+
		"  pluginConfig: [{name: RealUsageLowNodeUtilization, args: {targetThresholds: {cpu: 30}}}, {name: RemoveDuplicates}]\n"+
		"  plugins: {balance: {enabled: [RemoveDuplicates]}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Profiles(file); err != nil {
		t.Error(err)
	}
}

// An error from a plugin's own validator is reported like any other: with its line, its plugin and
// the given value.
func TestRefusedArguments(t *testing.T) {
	SetupPlugins()
	const head = "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles:\n- name: p\n"
	for name, tc := range map[string]struct{ profile, want string }{
		"without a field": {
			"  pluginConfig:\n  - name: RemovePodsHavingTooManyRestarts\n    args:\n      podRestartThreshold: -1\n",
			`line 7, column 5: DeschedulerPolicy: profiles[0].pluginConfig[0].args: invalid PodsHavingTooManyRestarts threshold, ` +
				`in {"podRestartThreshold":-1} (RemovePodsHavingTooManyRestarts)`,
		},
		"without arguments": {
			"  pluginConfig:\n  - name: HighNodeUtilization\n",
			"line 6, column 5: DeschedulerPolicy: profiles[0].pluginConfig[0].args: no resource threshold is configured (HighNodeUtilization)",
		},
		"in two profiles, several in one": {
			"  pluginConfig: [{name: HighNodeUtilization, args: {thresholds: {cpu: -1}}}]\n" +
				"- name: q\n  pluginConfig: [{name: RemovePodsHavingTooManyRestarts, args: {namespaces: {include: [a], exclude: [b]}}}]\n",
			`line 5, column 46: DeschedulerPolicy: profiles[0].pluginConfig[0].args: cpu threshold not in [0, 100] range, in {"thresholds":{"cpu":-1}} (HighNodeUtilization)` + "\n" +
				"line 7, column 58: DeschedulerPolicy: profiles[1].pluginConfig[0].args: only one of Include/Exclude namespaces can be set, " +
				`in {"namespaces":{"exclude":["b"],"include":["a"]}} (RemovePodsHavingTooManyRestarts)` + "\n" +
				"line 7, column 58: DeschedulerPolicy: profiles[1].pluginConfig[0].args: invalid PodsHavingTooManyRestarts threshold, " +
				`in {"namespaces":{"exclude":["b"],"include":["a"]}} (RemovePodsHavingTooManyRestarts)`,
		},
		"fields": {
			"  pluginConfig:\n  - name: RealUsageLowNodeUtilization\n    args:\n      thresholds: {cpu: -1}\n      numberOfNodes: -2\n",
			"line 8, column 25: DeschedulerPolicy: profiles[0].pluginConfig[0].args.thresholds[cpu]: Invalid value: -1: must be a percentage from 0 to 100 (RealUsageLowNodeUtilization)\n" +
				"line 9, column 22: DeschedulerPolicy: profiles[0].pluginConfig[0].args.numberOfNodes: Invalid value: -2: must be from 0 to 1000000 (RealUsageLowNodeUtilization)",
		},
		"a threshold that the other lines leave no room for": {
			"  pluginConfig:\n  - name: RealUsageLowNodeUtilization\n    args:\n      targetThresholds:\n        cpu: 30\n" +
				"  plugins: {balance: {enabled: [RealUsageLowNodeUtilization]}}\n",
			"line 9, column 14: DeschedulerPolicy: profiles[0].pluginConfig[0].args.targetThresholds[cpu]: Invalid value: 30: " +
				"with it, lines[cpu].low: Invalid value: 45: must be below the reject line (27) (RealUsageLowNodeUtilization)",
		},
		"node selectors": {
			"  pluginConfig:\n  - name: DefaultEvictor\n    args: {nodeSelector: 'pool in web'}\nnodeSelector: a=b=c\n",
			`line 8, column 15: DeschedulerPolicy: nodeSelector: Invalid value: "a=b=c": must be a label selector, such as "pool=web,tier!=db"` + "\n" +
				`line 7, column 26: DeschedulerPolicy: profiles[0].pluginConfig[0].args.nodeSelector: Invalid value: "pool in web": must be a label selector, such as "pool=web,tier!=db"`,
		},
		"enabled without configuration": {
			"  plugins:\n    deschedule:\n      enabled: [RemoveFailedPods]\n    filter: {enabled: [DefaultEvictor]}\n  pluginConfig: [{name: RemoveDuplicates}]\n",
			`line 7, column 17: DeschedulerPolicy: profiles[0].plugins.deschedule.enabled[0]: plugin "RemoveFailedPods" has no entry in the profile's pluginConfig; ` +
				"add one: - name: RemoveFailedPods",
		},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := Load("policy.yaml", []byte(head+tc.profile))
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = Profiles(file)
			if err == nil {
				t.Fatal("accepted")
			}
			got := strings.ReplaceAll(err.Error(), "policy.yaml: ", "")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// A plugin in dry run must be one that a profile enables; a filter, or a plugin that only has
// arguments, evicts nothing anyway. Several profiles may enable it.
func TestPluginsInDryRun(t *testing.T) {
	SetupPlugins()
	const head = "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles:\n"
	profile := func(name, deschedule, balance string) string {
		return "- name: " + name + "\n  pluginConfig: [{name: RemoveDuplicates}, {name: RemoveFailedPods}, {name: RealUsageLowNodeUtilization}]\n" +
			"  plugins: {filter: {enabled: [DefaultEvictor]}, deschedule: {enabled: [" + deschedule + "]}, balance: {enabled: [" + balance + "]}}\n"
	}
	both := head + profile("p", "RemoveFailedPods", "RemoveDuplicates") + profile("q", "", "RemoveDuplicates") + "---\n"
	for name, tc := range map[string]struct{ text, want string }{
		"in one profile, in two": {both + loadPolicyHead + "eviction: {dryRunPlugins: [RemoveFailedPods, RemoveDuplicates]}\n", ""},
		"of the default profile": {loadPolicyHead + "eviction: {dryRunPlugins: [RealUsageLowNodeUtilization]}\n", ""},
		"misspelled, not enabled, a filter": {
			both + loadPolicyHead + "eviction:\n  dryRunPlugins: [RemoveDuplicate, RealUsageLowNodeUtilization, DefaultEvictor]\n",
			`line 14, column 19: LoadPolicy: eviction.dryRunPlugins[0]: Unsupported value: "RemoveDuplicate": did you mean "RemoveDuplicates"? ` +
				`supported values: "RemoveDuplicates", "RemoveFailedPods" (the plugins that profiles enable)` + "\n" +
				`line 14, column 36: LoadPolicy: eviction.dryRunPlugins[1]: Unsupported value: "RealUsageLowNodeUtilization": ` +
				`supported values: "RemoveDuplicates", "RemoveFailedPods" (the plugins that profiles enable)` + "\n" +
				`line 14, column 65: LoadPolicy: eviction.dryRunPlugins[2]: Unsupported value: "DefaultEvictor": ` +
				`supported values: "RemoveDuplicates", "RemoveFailedPods" (the plugins that profiles enable)`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := Load("policy.yaml", []byte(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if _, _, err = Profiles(file); err != nil {
				got = strings.ReplaceAll(err.Error(), "policy.yaml: ", "")
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
