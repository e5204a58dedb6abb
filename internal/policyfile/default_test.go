package policyfile

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/defaultevictor"

	"github.com/evenkeel/evenkeel/compat"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
)

const loadPolicyHead = "apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\n"

func load(t *testing.T, text string) *policy.File {
	t.Helper()
	file, err := Load("policy.yaml", []byte(text), compat.Convert)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func profiles(t *testing.T, file *policy.File) *api.DeschedulerPolicy {
	t.Helper()
	SetupPlugins()
	decoded, classes, err := Profiles(file)
	if err != nil || len(classes) > 0 {
		t.Fatalf("decoding: %v, %d priority classes", err, len(classes))
	}
	return decoded
}

// A policy that consists of a LoadPolicy runs what the shipped policy runs. For a policy that
// enables only upstream's plugins, `plan` shows none of that.
func TestTheDefaultProfileIsTheShippedOne(t *testing.T) {
	shipped, _, err := Read(filepath.Join("..", "..", "policy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	want := profiles(t, shipped)
	if diff := cmp.Diff(want, profiles(t, load(t, loadPolicyHead)), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the default profile (-shipped +default):\n%s", diff)
	}
	others := &api.DeschedulerPolicy{Profiles: []api.DeschedulerProfile{{Name: "upstream's"}}}
	if KeepOnlyPlanned(others); len(others.Profiles) > 0 {
		t.Errorf("what a plan is made by: %+v", others.Profiles)
	}
}

// A profile may have arguments for a plugin that it does not enable. Only the DefaultEvictor of a
// profile that moves pods by usage protects pods from such moves.
func TestPlansComeFromProfilesThatMoveByUsage(t *testing.T) {
	p := profiles(t, load(t, `
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
  - name: others
    pluginConfig: [{name: DefaultEvictor, args: {minReplicas: 7}}, {name: RealUsageLowNodeUtilization}, {name: RemoveDuplicates}]
    plugins: {balance: {enabled: [RemoveDuplicates]}}
  - name: first
    pluginConfig: [{name: DefaultEvictor, args: {minReplicas: 2}}, {name: RealUsageLowNodeUtilization}]
    plugins: {balance: {enabled: [RealUsageLowNodeUtilization]}}
  - name: second
    pluginConfig: [{name: DefaultEvictor, args: {minReplicas: 3}}, {name: RealUsageLowNodeUtilization}]
    plugins: {balance: {enabled: [RealUsageLowNodeUtilization]}}
`))
	args, ok := Protection(p).(*defaultevictor.DefaultEvictorArgs)
	if !ok || args.MinReplicas != 2 {
		t.Errorf("protected by %+v, want minReplicas 2", args)
	}
	if others, _ := KeepOnlyPlanned(p); len(p.Profiles) != 2 || p.Profiles[1].Name != "first" || !slices.Equal(others, []string{"second"}) {
		t.Errorf("plans by %+v, leaves out %v", p.Profiles, others)
	}
}

// A plan shows all plugins of descheduler but those that read metrics themselves, which it names.
func TestPluginsThatReadMetricsAreNamed(t *testing.T) {
	p := profiles(t, load(t, `
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
metricsProviders: [{source: KubernetesMetrics}]
profiles:
  - name: first
    pluginConfig:
      - name: PodLifeTime
        args: {maxPodLifeTimeSeconds: 60}
      - name: LowNodeUtilization
        args: {thresholds: {cpu: 20}, targetThresholds: {cpu: 50}, metricsUtilization: {source: KubernetesMetrics}}
      - name: RealUsageLowNodeUtilization
    plugins: {deschedule: {enabled: [PodLifeTime]}, balance: {enabled: [LowNodeUtilization, RealUsageLowNodeUtilization]}}
  - name: second
    pluginConfig: [{name: RealUsageLowNodeUtilization}]
    plugins: {balance: {enabled: [RealUsageLowNodeUtilization]}}
`))
	others, measuring := KeepOnlyPlanned(p)
	if !slices.Equal(others, []string{"second"}) || !slices.Equal(measuring, []string{"LowNodeUtilization"}) {
		t.Errorf("other profiles %q, plugins that read metrics %q", others, measuring)
	}
	if len(p.Profiles) != 1 || !slices.Equal(p.Profiles[0].Plugins.Deschedule.Enabled, []string{"PodLifeTime"}) ||
		!slices.Equal(p.Profiles[0].Plugins.Balance.Enabled, []string{"RealUsageLowNodeUtilization"}) || !EnablesUpstream(p) {
		t.Errorf("shows %+v", p.Profiles)
	}
}

func TestWhatRunsNothingIsRefused(t *testing.T) {
	cases := map[string]struct {
		file *policy.File
		want string
	}{
		"no file":      {&policy.File{Load: policy.Default(kinds.All)}, "policy: there is no policy, so there is nothing to run"},
		"switched off": {load(t, loadPolicyHead+"eviction: {defaultProfile: false}"), "policy.yaml: there is nothing to run: it has no DeschedulerPolicy, and eviction.defaultProfile is false"},
		"only marks": {
			load(t, loadPolicyHead+"usage: {sources: [{type: Prometheus, prometheus: {queries: {nodes: {busy: {expr: busy}}}}}], metrics: [{name: busy, relieves: none}]}\nlines: {busy: {evict: 90}}"),
			"policy.yaml: there is nothing to run: it has no DeschedulerPolicy, and its lines name neither cpu nor memory",
		},
		"rules of a system that only marked nodes": {load(t, "Rulename: {busy: {Promsql: busy, Threshold: 90}}"), "policy.yaml: there is nothing to run: "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, _, err := Profiles(tc.file)
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) || !policy.IsInvalid(err) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// A resource without lines is reported, in the log or to a waiting user.
func TestPrintNotesWarnsOfAnUnjudgedResource(t *testing.T) {
	file := load(t, loadPolicyHead+"lines: {cpu: {evict: 70}}")
	var out bytes.Buffer
	PrintNotes(t.Context(), file, &out)
	const want = "policy.yaml: warning: lines: memory is not judged, because lines does not name it; add memory: {} to judge it by the default levels.\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	PrintNotes(klog.NewContext(t.Context(), logger), file, nil)
	sink, ok := logger.GetSink().(ktesting.Underlier)
	if !ok {
		t.Fatal("no log to look at")
	}
	if got := sink.GetBuffer().String(); !strings.Contains(got, "memory is not judged") {
		t.Errorf("logged:\n%s", got)
	}
	out.Reset()
	PrintNotes(t.Context(), load(t, loadPolicyHead), &out)
	if out.Len() > 0 {
		t.Errorf("a policy that judges both prints %q", out.String())
	}
}

// A retired setting is reported once, with its position.
func TestPrintNotesWarnsOfARetiredSetting(t *testing.T) {
	file := load(t, loadPolicyHead+"eviction: {evictJobs: true, interval: 1s}")
	var out bytes.Buffer
	PrintNotes(t.Context(), file, &out)
	got, once := strings.CutPrefix(out.String(), "policy.yaml: line 3, column 29: warning: eviction.interval: is no longer documented and will be removed in two versions: ")
	if !once || strings.Count(got, "\n") != 1 {
		t.Errorf("printed %q", out.String())
	}
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	PrintNotes(klog.NewContext(t.Context(), logger), file, nil)
	sink, ok := logger.GetSink().(ktesting.Underlier)
	if !ok {
		t.Fatal("no log to look at")
	}
	log := sink.GetBuffer().Data()
	if len(log) != 1 || !slices.Contains(log[0].ParameterKVList, any("line 3, column 29")) || !slices.Contains(log[0].ParameterKVList, any("eviction.interval")) {
		t.Errorf("logged %+v", log)
	}
}
