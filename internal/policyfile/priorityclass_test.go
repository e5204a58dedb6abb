package policyfile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/defaultevictor"

	"github.com/evenkeel/evenkeel/policy"
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
			got, classes, err := Profiles(load(t, tc.null))
			if err != nil || len(classes) != tc.classes {
				t.Fatalf("error %v, classes %v, want %d", err, classes, tc.classes)
			}
			want, _, err := Profiles(load(t, tc.absent))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("profiles (-absent +null):\n%s", diff)
			}
		})
	}
}

// The class that a threshold names becomes its value, in every profile. The profiles that
// were decoded without the API server do not change, because others may be reading them.
func TestPriorityClassesAreResolved(t *testing.T) {
	const text = "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles:\n" +
		"- {name: p, pluginConfig: [{name: RemoveDuplicates}, {name: DefaultEvictor, args: {priorityThreshold: {name: gold}}}]}\n" +
		"- {name: q, pluginConfig: [{name: DefaultEvictor, args: {priorityThreshold: {value: 7}}}]}\n" +
		"- {name: r, pluginConfig: [{name: DefaultEvictor, args: {priorityThreshold: {name: silver}}}]}\n" +
		"- {name: s}\n"
	SetupPlugins()
	class := func(name string, value int32) *schedulingv1.PriorityClass {
		return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
	}
	file := load(t, text)
	decoded, classes, err := Profiles(file)
	if err != nil {
		t.Fatal(err)
	}
	before := decoded.DeepCopy()
	resolved, err := ResolvePriorityClasses(t.Context(), fake.NewClientset(class("gold", 100), class("silver", 10)), file, decoded, classes)
	if err != nil {
		t.Fatal(err)
	}
	var got []int32
	for i := range resolved.Profiles {
		args, _ := policy.ArgsOf(&resolved.Profiles[i], defaultevictor.PluginName)
		threshold := args.(*defaultevictor.DefaultEvictorArgs).PriorityThreshold
		if got = append(got, *threshold.Value); threshold.Name != "" {
			t.Errorf("profile %s still names the class %q", resolved.Profiles[i].Name, threshold.Name)
		}
	}
	if want := []int32{100, 7, 10, 2_000_000_000}; !cmp.Equal(got, want) {
		t.Errorf("thresholds %v, want %v", got, want)
	}
	if diff := cmp.Diff(before, decoded); diff != "" {
		t.Errorf("the decoded profiles changed:\n%s", diff)
	}
	for want, client := range map[string]*fake.Clientset{
		`profile "r": DefaultEvictor: priorityThreshold.name: there is no priority class "silver"`: fake.NewClientset(class("gold", 100)),
		`priority class "silver" has the value 2000001000, which must be at most 2000000000`:       fake.NewClientset(class("gold", 100), class("silver", 2_000_001_000)),
	} {
		_, err := ResolvePriorityClasses(t.Context(), client, file, decoded, classes)
		if !policy.IsInvalid(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
