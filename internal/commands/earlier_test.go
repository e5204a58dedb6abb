package commands

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/compat"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/internal/testkit"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
)

const v1alpha1Head = "apiVersion: descheduler/v1alpha1\nkind: DeschedulerPolicy\n"

// loadEarlier loads a policy as a process does: with our loader, and then with upstream's.
func loadEarlier(t *testing.T, text string) (*policy.File, *api.DeschedulerPolicy) {
	t.Helper()
	file, err := compat.Load("policy.yaml", []byte(text), kinds.All)
	if err != nil {
		t.Fatal(err)
	}
	if len(file.Retired) > 0 {
		t.Errorf("the conversion uses retired settings: %+v", file.Retired)
	}
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000}
	loaded, classes, err := policyfile.Profiles(file)
	if err != nil {
		t.Fatal(err)
	}
	if loaded, err = policyfile.ResolvePriorityClasses(t.Context(), fake.NewClientset(class), file, loaded, classes); err != nil {
		t.Fatal(err)
	}
	return file, loaded
}

// Upstream's loader, which rejects fields that a plugin does not know, accepts the converted policy
// of each strategy.
func TestUpstreamAcceptsEveryConvertedStrategy(t *testing.T) {
	policyfile.SetupPlugins()
	const selected = "namespaces: {include: [shop]}, labelSelector: {matchLabels: {app: web}}, nodeFit: true, thresholdPriorityClassName: high"
	const low = "namespaces: {exclude: [shop]}, nodeFit: true, thresholdPriority: 1000, nodeResourceUtilizationThresholds: " +
		"{numberOfNodes: 2, thresholds: {cpu: 20, memory: 20.5, pods: 20}"
	cases := map[string]struct {
		params  string
		balance bool
	}{
		"RemoveDuplicates":                            {"removeDuplicates: {excludeOwnerKinds: [Job]}, namespaces: {include: [shop]}", true},
		"LowNodeUtilization":                          {low + ", targetThresholds: {cpu: 50, memory: 50}}", true},
		"HighNodeUtilization":                         {low + "}", true},
		"RemovePodsViolatingInterPodAntiAffinity":     {selected, false},
		"RemovePodsViolatingNodeAffinity":             {selected + ", nodeAffinityType: [requiredDuringSchedulingIgnoredDuringExecution]", false},
		"RemovePodsViolatingNodeTaints":               {selected + ", includePreferNoSchedule: true, excludedTaints: [a=b]", false},
		"RemovePodsViolatingTopologySpreadConstraint": {selected + ", includeSoftConstraints: true", true},
		"RemovePodsHavingTooManyRestarts":             {selected + ", podsHavingTooManyRestarts: {podRestartThreshold: 9, includingInitContainers: true}", false},
		"PodLifeTime":                                 {selected + ", podLifeTime: {maxPodLifeTimeSeconds: 60, states: [PodInitializing], podStatusPhases: [Pending]}", false},
		"RemoveFailedPods":                            {selected + ", failedPods: {excludeOwnerKinds: [Job], minPodLifetimeSeconds: 0, reasons: [Evicted], includingInitContainers: true}", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			file, loaded := loadEarlier(t, v1alpha1Head+"evictLocalStoragePods: true\nignorePvcPods: true\nevictDaemonSetPods: true\n"+
				"evictFailedBarePods: true\nevictSystemCriticalPods: true\nmaxNoOfPodsToEvictPerNode: 1\nmaxNoOfPodsToEvictPerNamespace: 2\n"+
				"maxNoOfPodsToEvictTotal: 3\nnodeSelector: pool=web\nstrategies: {"+name+": {enabled: true, params: {"+tc.params+"}}}")
			if len(file.Converted) != 1 || file.Converted[0].Format != "descheduler/v1alpha1" {
				t.Errorf("converted documents: %+v", file.Converted)
			}
			if n := loaded.MaxNoOfPodsToEvictTotal; n == nil || *n != 3 {
				t.Errorf("maxNoOfPodsToEvictTotal is lost: %v", n)
			}
			if len(loaded.Profiles) != 1 || loaded.Profiles[0].Name != "strategy-"+name+"-profile" {
				t.Fatalf("profiles: %+v", loaded.Profiles)
			}
			plugins := loaded.Profiles[0].Plugins
			if tc.balance != slices.Equal(plugins.Balance.Enabled, []string{name}) || tc.balance == slices.Equal(plugins.Deschedule.Enabled, []string{name}) {
				t.Errorf("enabled: balance %q, deschedule %q", plugins.Balance.Enabled, plugins.Deschedule.Enabled)
			}
		})
	}
}

func TestAnEarlierPolicyThatEnablesNothingIsAccepted(t *testing.T) {
	policyfile.SetupPlugins()
	_, loaded := loadEarlier(t, v1alpha1Head+"strategies: {RemoveDuplicates: {enabled: false}}")
	for _, profile := range loaded.Profiles {
		if on := append(profile.Plugins.Balance.Enabled, profile.Plugins.Deschedule.Enabled...); len(on) > 0 {
			t.Errorf("enabled: %q", on)
		}
	}
}

// Both loaders accept every policy in the article about descheduler, alone or in a ConfigMap.
func TestTheArticlesPoliciesAreAccepted(t *testing.T) {
	policyfile.SetupPlugins()
	var enabled [][]string
	for _, block := range testkit.YAMLBlocks(testkit.EarlierSystem(t, "descheduler.md")) {
		var config v1.ConfigMap
		if strings.Contains(block, "kind: ConfigMap\n") {
			if err := yaml.UnmarshalStrict([]byte(block), &config); err != nil {
				t.Fatal(err)
			}
			block = config.Data["policy.yaml"]
		}
		if !strings.Contains(block, "DeschedulerPolicy") {
			continue // an RBAC object or the Job
		}
		var names []string
		_, loaded := loadEarlier(t, block)
		for _, profile := range loaded.Profiles {
			names = append(names, profile.Plugins.Balance.Enabled...)
			names = append(names, profile.Plugins.Deschedule.Enabled...)
		}
		enabled = append(enabled, names)
	}
	want := [][]string{
		nil,
		{"LowNodeUtilization"},
		{"RemovePodsViolatingNodeTaints"},
		{"RemovePodsViolatingNodeAffinity"},
		nil,
		{"RemoveDuplicates", "LowNodeUtilization", "RemovePodsViolatingInterPodAntiAffinity"},
	}
	if diff := cmp.Diff(want, enabled); diff != "" {
		t.Errorf("enabled by each policy (-want +got):\n%s", diff)
	}
}

// Changes to a legacy policy are reported, in the log or to a person who is waiting.
func TestNotesAreReported(t *testing.T) {
	file, err := compat.Load("policy.yaml", []byte(v1alpha1Head+
		"strategies: {RemovePodsViolatingInterPodAntiAffinity: {enabled: true, weight: 1}}"), kinds.All)
	if err != nil {
		t.Fatal(err)
	}
	file.Converted[0].Lose("x", "something is gone")
	var out bytes.Buffer
	policyfile.PrintNotes(t.Context(), file, &out)
	for _, want := range []string{
		"policy.yaml: descheduler/v1alpha1: note: profiles[0]: weight is left out: it never had an effect.\n",
		"policy.yaml: descheduler/v1alpha1: warning: x: something is gone.\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("printed %q, want also %q", out.String(), want)
		}
	}
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	policyfile.PrintNotes(klog.NewContext(t.Context(), logger), file, nil)
	sink, ok := logger.GetSink().(ktesting.Underlier)
	if !ok {
		t.Fatal("no log to look at")
	}
	if got, want := len(sink.GetBuffer().Data()), len(file.Converted[0].Notes); got != want {
		t.Errorf("%d lines logged, want %d", got, want)
	}
}
