package openshift

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// docOf returns a document with the given fields in its spec.
func docOf(spec string) map[string]any {
	var object map[string]any
	data, err := yaml.YAMLToJSON([]byte("apiVersion: operator.openshift.io/v1\nkind: KubeDescheduler\nmetadata: {name: cluster}\nspec:\n  " +
		strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n  ") + "\n"))
	if err != nil {
		panic(err)
	}
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.UseNumber()
	if err := decoder.Decode(&object); err != nil {
		panic(err)
	}
	return object
}

// convert converts a spec, and returns the object and its notes as text.
func convert(t *testing.T, spec string) (object map[string]any, notes string) {
	t.Helper()
	converted, errs := Convert(docOf(spec))
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	var b strings.Builder
	for _, note := range converted.Notes {
		b.WriteString(note.Field + ": " + note.Text + "\n")
	}
	return converted.Object, b.String()
}

// profiles returns the converted profiles of a spec.
func profiles(t *testing.T, spec string) string {
	t.Helper()
	object, _ := convert(t, spec)
	text, err := yaml.Marshal(object["profiles"])
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const spared = "{exclude: [kube-system, hypershift, openshift]}"

// normal returns YAML with sorted keys.
func normal(t *testing.T, text string) string {
	t.Helper()
	var tree any
	if err := yaml.Unmarshal([]byte(text), &tree); err != nil {
		t.Fatal(err)
	}
	sorted, err := yaml.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return string(sorted)
}

// Each profile has the plugins and arguments that the operator gives it (testdata/assets of its
// reconciler), except for plugins that measure usage.
func TestEachProfile(t *testing.T) {
	const claims = "{name: DefaultEvictor, args: {podProtections: {extraEnabled: [PodsWithPVC]}}}"
	for name, tc := range map[string]struct{ spec, want string }{
		"AffinityAndTaints": {
			"mode: Automatic\nprofiles: [AffinityAndTaints]", `
- name: AffinityAndTaints
  pluginConfig:
  - ` + claims + `
  - {name: RemovePodsViolatingInterPodAntiAffinity, args: {namespaces: ` + spared + `}}
  - {name: RemovePodsViolatingNodeTaints, args: {namespaces: ` + spared + `}}
  - {name: RemovePodsViolatingNodeAffinity, args: {namespaces: ` + spared + `, nodeAffinityType: [requiredDuringSchedulingIgnoredDuringExecution]}}
  plugins: {deschedule: {enabled: [RemovePodsViolatingInterPodAntiAffinity, RemovePodsViolatingNodeTaints, RemovePodsViolatingNodeAffinity]}}`,
		},
		"SoftTopologyAndDuplicates with protections": {
			"mode: Automatic\nprofiles: [EvictPodsWithPVC, SoftTopologyAndDuplicates, EvictPodsWithLocalStorage]\nprofileCustomizations: {thresholdPriority: 1000, namespaces: {included: [shop]}}", `
- name: SoftTopologyAndDuplicates
  pluginConfig:
  - {name: DefaultEvictor, args: {podProtections: {defaultDisabled: [PodsWithLocalStorage]}, priorityThreshold: {value: 1000}}}
  - {name: RemovePodsViolatingTopologySpreadConstraint, args: {namespaces: {include: [shop]}, constraints: [DoNotSchedule, ScheduleAnyway]}}
  - {name: RemoveDuplicates, args: {namespaces: {include: [shop]}}}
  plugins: {balance: {enabled: [RemovePodsViolatingTopologySpreadConstraint, RemoveDuplicates]}}`,
		},
		"LifecycleAndUtilization by requests": {
			"mode: Automatic\nprofiles: [LifecycleAndUtilization]\nevictionLimits: {node: 3}\nprofileCustomizations: {podLifetime: 5m, devLowNodeUtilizationThresholds: Low, devDeviationThresholds: High, thresholdPriorityClassName: important, namespaces: {included: [shop]}}", `
- name: LifecycleAndUtilization
  pluginConfig:
  - {name: DefaultEvictor, args: {podProtections: {extraEnabled: [PodsWithPVC]}, priorityThreshold: {name: important}}}
  - {name: PodLifeTime, args: {namespaces: {include: [shop]}, maxPodLifeTimeSeconds: 300}}
  - {name: RemovePodsHavingTooManyRestarts, args: {namespaces: {include: [shop]}, podRestartThreshold: 100, includingInitContainers: true}}
  - name: LowNodeUtilization
    args:
      thresholds: {cpu: 10, memory: 10, pods: 10}
      targetThresholds: {cpu: 30, memory: 30, pods: 30}
      evictableNamespaces: ` + spared + `
      evictionLimits: {node: 3}
  plugins: {deschedule: {enabled: [PodLifeTime, RemovePodsHavingTooManyRestarts]}, balance: {enabled: [LowNodeUtilization]}}`,
		},
		"LongLifecycle by usage": {
			"mode: Automatic\nprofiles: [DevPreviewLongLifecycle]\nprofileCustomizations: {devActualUtilizationProfile: PrometheusCPUUsage}", `
- name: LongLifecycle
  pluginConfig:
  - ` + claims + `
  - {name: RemovePodsHavingTooManyRestarts, args: {namespaces: ` + spared + `, podRestartThreshold: 100, includingInitContainers: true}}
  - {name: RealUsageLowNodeUtilization, args: {thresholds: {cpu: 20}, targetThresholds: {cpu: 50}, evictableNamespaces: ` + spared + `}}
  plugins: {deschedule: {enabled: [RemovePodsHavingTooManyRestarts]}, balance: {enabled: [RealUsageLowNodeUtilization]}}`,
		},
		"CompactAndScale": {
			"mode: Automatic\nprofiles: [CompactAndScale]\nprofileCustomizations: {devHighNodeUtilizationThresholds: Moderate}", `
- name: CompactAndScale
  pluginConfig:
  - ` + claims + `
  - {name: HighNodeUtilization, args: {thresholds: {cpu: 30, memory: 30, pods: 30}, evictableNamespaces: ` + spared + `}}
  plugins: {balance: {enabled: [HighNodeUtilization]}}`,
		},
		"KubeVirtRelieveAndMigrate with its defaults": {
			"mode: Automatic\nprofiles: [DevKubeVirtRelieveAndMigrate]", `
- name: KubeVirtRelieveAndMigrate
  pluginConfig:
  - {name: DefaultEvictor, args: {noEvictionPolicy: Mandatory, podProtections: {defaultDisabled: [PodsWithLocalStorage]}}}
  - name: RealUsageLowNodeUtilization
    args:
      useDeviationThresholds: true
      thresholds: {cpu: 0, memory: 0}
      targetThresholds: {cpu: 10, memory: 10}
      evictableNamespaces: ` + spared + `
      evictionLimits: {node: 2}
  plugins: {balance: {enabled: [RealUsageLowNodeUtilization]}}`,
		},
		"KubeVirtRelieveAndMigrate by levels": {
			"mode: Automatic\nprofiles: [KubeVirtRelieveAndMigrate]\nevictionLimits: {node: 7}\nprofileCustomizations: {devLowNodeUtilizationThresholds: High, devActualUtilizationProfile: PrometheusMemoryPSIPressure}", `
- name: KubeVirtRelieveAndMigrate
  pluginConfig:
  - {name: DefaultEvictor, args: {noEvictionPolicy: Mandatory, podProtections: {defaultDisabled: [PodsWithLocalStorage]}}}
  - name: RealUsageLowNodeUtilization
    args: {thresholds: {memory: 40}, targetThresholds: {memory: 70}, evictableNamespaces: ` + spared + `, evictionLimits: {node: 7}}
  plugins: {balance: {enabled: [RealUsageLowNodeUtilization]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(normal(t, tc.want), profiles(t, tc.spec)); diff != "" {
				t.Errorf("profiles (-want +got):\n%s", diff)
			}
		})
	}
}

// The operator's default mode only predicts, so it enables no plugin.
func TestPredictiveEvictsNothing(t *testing.T) {
	for _, mode := range []string{"", "mode: Predictive\n"} {
		object, notes := convert(t, mode+"profiles: [AffinityAndTaints, KubeVirtRelieveAndMigrate]")
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), `"enabled"`) || !strings.Contains(string(text), `"RealUsageLowNodeUtilization"`) || !strings.Contains(notes, "--dry-run") {
			t.Errorf("%q: %s\n%s", mode, text, notes)
		}
	}
}

// Limits apply to the cycle. Virtual machines have default limits.
func TestLimits(t *testing.T) {
	for spec, want := range map[string]map[string]any{
		"profiles: [AffinityAndTaints]":                                              {},
		"profiles: [AffinityAndTaints]\nevictionLimits: {total: 9}":                  {"maxNoOfPodsToEvictTotal": json.Number("9")},
		"profiles: [KubeVirtRelieveAndMigrate]":                                      {"maxNoOfPodsToEvictTotal": json.Number("5"), "maxNoOfPodsToEvictPerNode": json.Number("2"), "nodeSelector": "kubevirt.io/schedulable=true"},
		"profiles: [KubeVirtRelieveAndMigrate]\nevictionLimits: {total: 0, node: 4}": {"maxNoOfPodsToEvictTotal": json.Number("0"), "maxNoOfPodsToEvictPerNode": json.Number("4"), "nodeSelector": "kubevirt.io/schedulable=true"},
	} {
		object, _ := convert(t, spec)
		delete(object, "profiles")
		want["apiVersion"], want["kind"] = "descheduler/v1alpha2", "DeschedulerPolicy"
		if diff := cmp.Diff(want, object); diff != "" {
			t.Errorf("%s (-want +got):\n%s", spec, diff)
		}
	}
}

// Notes list what is no longer done.
func TestNotes(t *testing.T) {
	for name, tc := range map[string]struct {
		spec string
		want []string
	}{
		"an interval, a state":                  {"profiles: [EvictPodsWithPVC]\ndeschedulingIntervalSeconds: 30\nmanagementState: Removed", []string{"--descheduling-interval 30s", "managementState is left out", "none of them evicts pods"}},
		"namespaces known only to the operator": {"profiles: [AffinityAndTaints]", []string{"begins with openshift-"}},
		"namespaces for other plugins":          {"profiles: [CompactAndScale]\nprofileCustomizations: {namespaces: {included: [shop]}}", []string{"does not apply to HighNodeUtilization"}},
		"pressure":                              {"profiles: [LongLifecycle]\nprofileCustomizations: {devActualUtilizationProfile: PrometheusCPUPSIPressureByUtilization}", []string{"PrometheusCPUPSIPressureByUtilization", "cpu.pressure", "memory is judged by the LoadPolicy's lines"}},
		"disks":                                 {"profiles: [LongLifecycle]\nprofileCustomizations: {devActualUtilizationProfile: PrometheusIOPSIPressure}", []string{"io.pressure", "cpu and memory"}},
		"a query":                               {"profiles: [LongLifecycle]\nprofileCustomizations: {devActualUtilizationProfile: 'query:node_load1'}", []string{"judged by node_load1", "usage.metrics"}},
		"virtual machines":                      {"profiles: [KubeVirtRelieveAndMigrate]\nprofileCustomizations: {devMigrationCooldown: 20m}", []string{"virtual machines stay", "{always: 20m0s, base: 20m0s, max: 6h}"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, notes := convert(t, tc.spec)
			for _, want := range tc.want {
				if !strings.Contains(notes, want) {
					t.Errorf("no %q in\n%s", want, notes)
				}
			}
		})
	}
}

// All mistakes are reported with their paths.
func TestMistakes(t *testing.T) {
	for name, tc := range map[string]struct{ spec, want string }{
		"no profile":        {"mode: Automatic", "spec.profiles: Required value"},
		"unknown profile":   {"profiles: [Balanced]", `spec.profiles[0]: Unsupported value: "Balanced"`},
		"twice":             {"profiles: [LongLifecycle, LongLifecycle]", "spec.profiles[1]: Duplicate value"},
		"mode":              {"profiles: [LongLifecycle]\nmode: automatic", `spec.mode: Unsupported value: "automatic"`},
		"unknown field":     {"profiles: [LongLifecycle]\nmodus: x", "spec.modus"},
		"thresholds":        {"profiles: [LongLifecycle]\nprofileCustomizations: {devLowNodeUtilizationThresholds: Middle}", "spec.profileCustomizations.devLowNodeUtilizationThresholds: Unsupported value"},
		"query":             {"profiles: [LongLifecycle]\nprofileCustomizations: {devActualUtilizationProfile: CPU}", "spec.profileCustomizations.devActualUtilizationProfile: Unsupported value"},
		"both priorities":   {"profiles: [LongLifecycle]\nprofileCustomizations: {thresholdPriority: 0, thresholdPriorityClassName: a}", "not together with thresholdPriority"},
		"both namespaces":   {"profiles: [LongLifecycle]\nprofileCustomizations: {namespaces: {included: [a], excluded: [b]}}", "not together with namespaces.included"},
		"both thresholds":   {"profiles: [KubeVirtRelieveAndMigrate]\nprofileCustomizations: {devLowNodeUtilizationThresholds: Low, devDeviationThresholds: Low}", "not together with devLowNodeUtilizationThresholds"},
		"negative limit":    {"profiles: [LongLifecycle]\nevictionLimits: {total: -1}", "spec.evictionLimits.total: Invalid value"},
		"zero interval":     {"profiles: [LongLifecycle]\ndeschedulingIntervalSeconds: 0", "spec.deschedulingIntervalSeconds: Invalid value"},
		"negative lifetime": {"profiles: [LifecycleAndUtilization]\nprofileCustomizations: {podLifetime: -1h}", "spec.profileCustomizations.podLifetime: Invalid value"},
		"protected":         {"profiles: [LongLifecycle]\nprofileCustomizations: {namespaces: {included: [openshift-dns]}}", "spec.profileCustomizations.namespaces.included[0]: Forbidden"},
		"against":           {"profiles: [CompactAndScale, LongLifecycle]", "spec.profiles: Forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			converted, errs := Convert(docOf(tc.spec))
			if len(errs) == 0 || converted.Object != nil || !strings.Contains(errs.ToAggregate().Error(), tc.want) {
				t.Errorf("got %v (%v), want %q", errs.ToAggregate(), converted.Object, tc.want)
			}
		})
	}
}
