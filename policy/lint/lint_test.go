package lint

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/defaultevictor"

	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/strategies/realusage"
)

var now = time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)

// subject returns a policy with the given LoadPolicy fields. Its profiles enable the given plugins
// at the extension point balance.
func subject(t *testing.T, load string, balance ...string) Subject {
	t.Helper()
	file, err := policy.Load("p.yaml", []byte("apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\n"+load), kinds.All)
	if err != nil {
		t.Fatalf("loading the case: %v", err)
	}
	s := Subject{File: file, Now: now}
	if len(balance) == 0 {
		return s
	}
	profile := api.DeschedulerProfile{Name: "p", Plugins: api.Plugins{Balance: api.PluginSet{Enabled: balance}}}
	for _, name := range balance {
		config := api.PluginConfig{Name: name}
		if name == policy.DefaultStrategy {
			config.Args = &realusage.Args{}
		}
		profile.PluginConfigs = append(profile.PluginConfigs, config)
	}
	s.Profiles = &api.DeschedulerPolicy{Profiles: []api.DeschedulerProfile{profile}}
	return s
}

const ours = policy.DefaultStrategy

// A retired setting leads to one warning with its position.
func TestRetiredSettings(t *testing.T) {
	findings, _ := Examine(subject(t, "eviction: {interval: 1s}", ours))
	var got []Finding
	for _, f := range findings {
		if f.Field == "eviction.interval" {
			got = append(got, f)
		}
	}
	if len(got) != 1 || got[0].Level != Warning || got[0].Place != "line 3, column 12" || !strings.HasPrefix(got[0].Text, "is no longer documented and will be removed in two versions: ") {
		t.Errorf("findings: %+v", got)
	}
}

// A profile whose plugins are null evicts nothing, which is never intended.
func TestProfilesThatEnableNothing(t *testing.T) {
	s := subject(t, "", ours)
	const text = `profile "q" enables no plugin for deschedule or balance, so it evicts nothing`
	idle := func() bool {
		findings, _ := Examine(s)
		return slices.Contains(findings, Finding{Level: Warning, Field: "profiles[1].plugins", Text: text})
	}
	q := api.DeschedulerProfile{Name: "q", Plugins: api.Plugins{Filter: api.PluginSet{Enabled: []string{defaultevictor.PluginName}}}}
	s.Profiles.Profiles = append(s.Profiles.Profiles, q)
	if !idle() {
		t.Errorf("want the warning %q", text)
	}
	s.Profiles.Profiles[1].Plugins.Deschedule.Enabled = []string{"RemoveFailedPods"}
	if idle() {
		t.Errorf("the warning %q about a profile that enables a plugin", text)
	}
	s.Profiles.Profiles[1].Plugins.Deschedule.Enabled = nil
	s.File.Converted = []policy.Conversion{{}}
	if idle() {
		t.Errorf("the warning %q about what a converter made", text)
	}
}

func TestFindings(t *testing.T) {
	cases := map[string]struct {
		load    string
		balance []string
		want    string // how a finding starts, as "level field: text"
	}{
		"nothing to run":                              {load: "eviction: {defaultProfile: false}", want: "note eviction.defaultProfile: false, and without a DeschedulerPolicy nothing is evicted"},
		"memory left out":                             {load: "lines: {cpu: {evict: 70}}", balance: []string{ours}, want: "warning lines: memory is not judged, because lines does not name it"},
		"nothing by real usage":                       {balance: []string{"RemoveDuplicates"}, want: "note profiles: no profile enables RealUsageLowNodeUtilization"},
		"two balancers":                               {balance: []string{ours, "LowNodeUtilization"}, want: "warning profiles[0].plugins.balance.enabled: LowNodeUtilization moves pods by other measures"},
		"single replicas":                             {balance: []string{ours}, want: "note profiles[0].pluginConfig: DefaultEvictor has no minReplicas"},
		"an evict line nearly at the top":             {load: "lines: {cpu: {evict: 95}}", balance: []string{ours}, want: "warning lines.cpu.evict: 95% is nearly all there is"},
		"one sample decides":                          {load: "hot: {windows: [last], consecutiveSamples: 1}", balance: []string{ours}, want: "warning hot.windows: only last decides, 1 sample"},
		"averages alone decide":                       {load: "hot: {windows: [avg_5m]}", balance: []string{ours}, want: "note hot.windows: averages alone decide"},
		"a long window with a source without history": {load: "hot: {windows: [last, max_avg_1h]}", balance: []string{ours}, want: "warning usage.observationPeriod: a one-shot run samples for 2m30s and judges max_avg_1h by that"},
		"a default window with a source without history": {
			balance: []string{ours}, want: "note usage.observationPeriod: a one-shot run samples for 2m30s and judges avg_5m and p50_5m and avg_15m",
		},
		"no bound": {load: "eviction: {maxMovesPerHour: 0}", balance: []string{"RemoveDuplicates"}, want: "warning eviction.maxMovesPerHour: 0 means unlimited"},
		"moves at low coverage": {
			load: "usage: {minCoveragePercent: 20}", balance: []string{ours}, want: "warning usage.minCoveragePercent: pods are moved while most nodes may be unknown (20%)",
		},
		"a period with parts too short for a sample": {
			load: "eviction: {forecastPeriod: 10m}", balance: []string{ours},
			want: "warning eviction.forecastPeriod: 10m has 48 parts of 12.5s, and usage is read every 15s",
		},
		"samples expire too soon": {load: "usage: {sampleInterval: 30s, maxAge: 45s}", want: "warning usage.maxAge: 45s is less than two samples (sampleInterval 30s)"},
		"jobs":                    {load: "eviction: {evictJobs: true}", balance: []string{ours}, want: "note eviction.evictJobs"},
		"windows that blackouts cover": {
			load: `eviction: {windows: [{schedule: "0 3 * * *", duration: 1h}], blackouts: [{schedule: "0 2 * * *", duration: 3h}]}`, balance: []string{ours},
			want: "warning eviction.windows: nothing is evicted within a year: outside every window",
		},
		"landings left to chance": {load: "eviction: {steering: none}", balance: []string{ours}, want: "warning eviction.steering: none"},
		"not the default scheduler": {
			load: "eviction: {schedulerNames: [mine]}", balance: []string{ours}, want: "warning eviction.schedulerNames: pods of default-scheduler",
		},
		"a server whose certificate is not checked": {
			load: "usage: {sources: [{type: Prometheus, prometheus: {address: 'https://p:9090', tls: {insecureSkipVerify: true}}}]}",
			want: "warning usage.sources[0]: the certificate of Prometheus is not checked",
		},
		"a token in the clear": {
			load: "usage: {sources: [{type: Prometheus, prometheus: {address: 'http://p:9090', bearerTokenFile: /t}}]}",
			want: "warning usage.sources[0].prometheus.address: the token or password is sent over plain http",
		},
		"usage in the clear": {
			load: "usage: {sources: [{type: Prometheus, prometheus: {address: 'http://p:9090'}}]}", want: "note usage.sources[0].prometheus.address: it is queried over plain http",
		},
		"an address that a flag gives": {load: "usage: {sources: [{type: Prometheus}]}", want: "note usage.sources[0].prometheus.address: it is not set"},
		"pods that wait": {
			load: "scoring: {measured: {formula: MemoryLoad, terms: [{metric: memory, window: last, weight: 1}], limits: [{metric: memory, window: last, fromPercent: 80}], message: full, rejectAll: true}}",
			want: "note scoring.measured.rejectAll: pods wait",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := found(subject(t, tc.load, tc.balance...)); !hasPrefix(got, tc.want) {
				t.Errorf("findings:\n%s\nwant %q", strings.Join(got, "\n"), tc.want)
			}
			if tc.load == "" {
				return
			}
			if got := found(subject(t, "", tc.balance...)); hasPrefix(got, tc.want) {
				t.Errorf("defaults give it too:\n%s", strings.Join(got, "\n"))
			}
		})
	}
}

// If the level at which rising memory counts as full is at or below the evict line, any rise is
// urgent. The defaults are 95% and an evict line of 80%.
func TestRisesThatAreAlwaysUrgent(t *testing.T) {
	const says = "warning lines: memory counts as nearly full at "
	for name, tc := range map[string]struct {
		load string
		want string // the only finding about this; empty for none
	}{
		"above the line": {load: "hot: {risingMemory: {fullPercent: 80.5}}"},
		"at the line": {
			load: "hot: {risingMemory: {fullPercent: 80}}", want: says + "80%, which is reached at the evict line of memory: above it any steady rise is urgent, however slow",
		},
		"off": {load: "hot: {risingMemory: {fullPercent: 80, window: 0s}}"},
		"the line of a pool": {
			load: "hot: {risingMemory: {fullPercent: 85}}\nnodePools: [{name: batch, selector: {matchLabels: {pool: batch}}, lines: {memory: {evict: 90}}}]",
			want: says + "85%, which is reached at the evict line of memory of pool batch: ",
		},
		"a pool without lines of its own": {
			load: "hot: {risingMemory: {fullPercent: 60}}\nnodePools: [{name: batch, selector: {matchLabels: {pool: batch}}, lines: {cpu: {evict: 90}}}]",
			want: says + "60%, which is reached at the evict line of memory and memory of pool batch: ",
		},
		"a window with a higher line": {
			load: "hot: {risingMemory: {fullPercent: 85}}\nlines: {memory: {windows: {max_avg_1h: {evict: 90}}}}", want: says + "85%, which is reached at the evict line of memory: ",
		},
		"available memory": {
			load: "hot: {risingMemory: {fullPercent: 90}}\nlines: {cpu: {}, memory.available: {evict: 10}}", want: says + "90%, which is reached at the evict line of memory.available: ",
		},
		"enough available memory": {load: "hot: {risingMemory: {fullPercent: 90}}\nlines: {cpu: {}, memory.available: {evict: 10.5}}"},
		"distances from the mean": {load: "hot: {risingMemory: {fullPercent: 10}}\nlines: {memory: {deviation: true, low: 5, reject: 8, evict: 12, leave: 12}}"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, line := range found(subject(t, tc.load, ours)) {
				if strings.HasPrefix(line, says) {
					got = append(got, line)
				}
			}
			if tc.want == "" && len(got) > 0 || tc.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], tc.want)) {
				t.Errorf("findings:\n%s\nwant %q", strings.Join(got, "\n"), tc.want)
			}
		})
	}
}

func found(s Subject) []string {
	findings, _ := Examine(s)
	lines := make([]string, len(findings))
	for i, f := range findings {
		lines[i] = string(f.Level) + " " + f.Field + ": " + f.Text
	}
	return lines
}

func hasPrefix(lines []string, prefix string) bool {
	return slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, prefix) })
}

func TestNotesOfConvertersAreFindings(t *testing.T) {
	s := subject(t, "")
	doc := policy.Conversion{Format: "x"}
	doc.Add("hot", "kept otherwise")
	doc.Lose("lines", "not kept")
	s.File.Converted = []policy.Conversion{doc}
	findings, _ := Examine(s)
	want := []Finding{
		{Level: Note, Field: "hot", Text: "kept otherwise"},
		{Level: Warning, Field: "lines", Text: "not kept"},
		{Level: Note, Text: "without a DeschedulerPolicy nothing is evicted: run and serve refuse this policy; the earlier system did not evict either"},
	}
	if diff := cmp.Diff(want, findings[:min(3, len(findings))]); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestWords(t *testing.T) {
	const load = `
usage:
  sources: [{type: Prometheus, prometheus: {address: "https://p:9090", queries: {nodes: {disk.free: {expr: disk_free}}}}}, {type: MetricsServer}]
  metrics: [{name: disk.free, lowerIsWorse: true, relieves: cpu}]
lines:
  cpu: {low: 40, reject: 55, evict: 65, leave: 60, windows: {max_avg_1h: {evict: 75}}}
  memory: {deviation: true, low: 5, reject: 8, evict: 12, leave: 12}
  disk.free: {reject: 20, evict: 10.5}
nodePools: [{name: batch, selector: {matchLabels: {pool: batch}}, lines: {cpu: {reject: 60, evict: 85}}}]
hot: {windows: [avg_5m, p50_5m], consecutiveSamples: 2}
scoring: {weights: {cpu: 2, memory: 0}, hotValue: [{timeRange: 1m, count: 2}]}
eviction:
  maxMovesPerCycle: 1
  maxMovesPerHourOfOwner: 5
  windows: [{schedule: "0 22 * * 1-5", duration: 8h, timeZone: Europe/Berlin}]
  blackouts: [{schedule: "@daily", duration: 90m}]
nodesync: {label: {enabled: true}, taint: {enabled: true}, rejectTaint: {enabled: true}, annotations: {enabled: true}}
`
	s := subject(t, load, ours, "RemoveDuplicates")
	s.Profiles.MaxNoOfPodsToEvictTotal = new(uint(7))
	want := []string{
		"Reads usage from Prometheus at https://p:9090, else from MetricsServer every 15s; a node without a sample of the last 1m30s is unknown and left alone.",
		"Evicts from nodes whose cpu is above 65% in avg_5m and p50_5m and above 75% in max_avg_1h for 2 samples in a row (30s), until it is predicted at or below 65%; such a node counts as hot until it is below 60%.",
		"Evicts from nodes whose disk.free is below 10.5 in avg_5m and p50_5m for 2 samples in a row (30s), until it is predicted at or above 10.5.",
		"Evicts from nodes whose memory is above the mean plus 12 points in avg_5m and p50_5m for 2 samples in a row (30s), until it is predicted at or below the mean plus 12 points.",
		"Evicts from nodes of pool batch whose cpu is above 85% in avg_5m and p50_5m and above 75% in max_avg_1h for 2 samples in a row (30s), until it is predicted at or below 85%; such a node counts as hot until it is below 60%.",
	}
	_, does := Examine(s)
	if diff := cmp.Diff(want, does[:min(len(want), len(does))]); diff != "" {
		t.Errorf("what it does (-want +got):\n%s", diff)
	}
	for _, want := range []string{
		"Does not count usage as evidence for the first 3m after a node became ready or a pod's newest container started.",
		"Moves a pod off a node that is hot by cpu alone only if that saves 10m of hot time, or less if the node is far above its line or the pod is small.",
		"Expects usage to recur every 24h, and relieves nodes before it makes them hot.",
		"Moves pods only to nodes whose cpu is at or below 40% and memory is at least 5 points below the mean.",
		"Lands no pod where cpu would be predicted above 55% or disk.free would be predicted below 20 or memory would be predicted above the mean plus 8 points with it.",
		"Makes at most 1 move a cycle, which ends after 10m; evictions of 5% of all pods an hour, or 50 if that is more; 5 evictions an hour of one controller; for one namespace half of the hourly limit, or its share of all pods if that is more.",
		`Evicts only at these times: for 8h from "0 22 * * 1-5" on (Europe/Berlin).`,
		`Never evicts at these times: for 1h30m from "@daily" on (UTC).`,
		"Also runs RemoveDuplicates (profile p).",
		"Evicts at most 7 pods in all in one cycle.",
		"Prefers nodes with the least predicted cpu (weight 2).",
		"Taints hot nodes and those predicted above their reject line evenkeel.io/above-reject=true:PreferNoSchedule.",
		"Takes ten of a hundred points off a node for every 2 pods bound to it within 1m.",
		"Labels hot nodes status=presure.",
		"Taints hot nodes evenkeel.io/hot=true:PreferNoSchedule.",
		"Writes usage to nodes as annotations for avg_5m and max_avg_1h and max_avg_1d.",
	} {
		if !slices.Contains(does, want) {
			t.Errorf("it does not say %q:\n%s", want, strings.Join(does, "\n"))
		}
	}
}

func TestWordsOfMeasuredScoring(t *testing.T) {
	s := subject(t, `
scoring:
  measured:
    formula: Crane
    terms: [{metric: cpu, window: avg_5m, weight: 0.2}, {metric: memory, window: max_avg_1h, weight: 0.3}]
    limits: [{metric: cpu, window: avg_5m, abovePercent: 65}, {metric: memory, window: avg_5m, fromPercent: 80}]
`)
	_, does := Examine(s)
	for _, want := range []string{
		"When kube-scheduler asks, keeps new pods off nodes whose cpu avg_5m is above 65% or memory avg_5m is 80% or more, as long as other nodes qualify.",
		"Prefers nodes by the formula Crane over measured cpu avg_5m (weight 0.2), memory max_avg_1h (weight 0.3).",
		"Evicts nothing, because there is no DeschedulerPolicy.",
	} {
		if !slices.Contains(does, want) {
			t.Errorf("it does not say %q:\n%s", want, strings.Join(does, "\n"))
		}
	}
}

// The description lists which pods are left alone. Otherwise a spelling mistake in a selector would
// become apparent only after an eviction.
func TestWordsListWhatIsLeftAlone(t *testing.T) {
	s := subject(t, "eviction: {recreatingControllers: [CloneSet.apps.kruise.io]}\nusage: {sampleInterval: 20s}", ours)
	profile := &s.Profiles.Profiles[0]
	profile.PluginConfigs[0].Args = &realusage.Args{EvictableNamespaces: &api.Namespaces{Exclude: []string{"a", "b"}}}
	only := &metav1.LabelSelector{MatchLabels: map[string]string{"team": "web"}}
	profile.PluginConfigs = append(profile.PluginConfigs, api.PluginConfig{Name: "DefaultEvictor", Args: &defaultevictor.DefaultEvictorArgs{
		LabelSelector: only, NamespaceLabelSelector: only,
	}})
	_, does := Examine(s)
	for _, want := range []string{
		"Does not move pods in the namespaces a, b by real usage.",
		"Moves pods of these controllers, too: CloneSet.apps.kruise.io.",
		`Profile p spares pods that the labelSelector "team=web" does not match, pods of namespaces that the namespaceLabelSelector "team=web" does not match.`,
		"Without a PodDisruptionBudget, takes at most 10% of an owner's pods away at once, but at least one.",
		"Does not wait for the windows if memory has been above its evict line for 1m20s and, at its current rate, will reach 95% within 3m.",
	} {
		if !slices.Contains(does, want) {
			t.Errorf("it does not say %q:\n%s", want, strings.Join(does, "\n"))
		}
	}
}

// The description names the namespaces of each profile separately.
func TestWordsNameTheProfileOfNamespaces(t *testing.T) {
	s := subject(t, "", ours)
	first := &s.Profiles.Profiles[0]
	second := *first
	second.Name = "q"
	of := func(namespaces *api.Namespaces) []api.PluginConfig {
		return []api.PluginConfig{{Name: ours, Args: &realusage.Args{EvictableNamespaces: namespaces}}}
	}
	first.PluginConfigs, second.PluginConfigs = of(&api.Namespaces{Include: []string{"a"}}), of(&api.Namespaces{Exclude: []string{"b", "c"}})
	s.Profiles.Profiles = append(s.Profiles.Profiles, second)
	_, does := Examine(s)
	for _, want := range []string{
		"Profile p moves only pods in the namespaces a by real usage.",
		"Profile q does not move pods in the namespaces b, c by real usage.",
	} {
		if !slices.Contains(does, want) {
			t.Errorf("it does not say %q:\n%s", want, strings.Join(does, "\n"))
		}
	}
}

// Thresholds in a plugin's arguments take effect, so the description contains them.
func TestWordsUseThePluginsArguments(t *testing.T) {
	s := subject(t, "", ours)
	s.Profiles.Profiles[0].PluginConfigs[0].Args = &realusage.Args{TargetThresholds: api.ResourceThresholds{"cpu": 91}}
	findings, does := Examine(s)
	if !strings.Contains(strings.Join(does, "\n"), "whose cpu is above 91% in") {
		t.Errorf("it does:\n%s", strings.Join(does, "\n"))
	}
	if !slices.ContainsFunc(findings, func(f Finding) bool { return f.Field == "lines.cpu.evict" && f.Level == Warning }) {
		t.Errorf("findings: %+v", findings)
	}
}

// Apart from its profile, the shipped policy leads to only this warning.
func TestTheShippedPolicyGivesNoWarning(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "policy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := policy.Load("policy.yaml", data, kinds.All)
	if err != nil {
		t.Fatal(err)
	}
	s := subject(t, "", ours)
	s.File = file
	for _, line := range found(s) {
		if !strings.HasPrefix(line, string(Note)) {
			t.Error(line)
		}
	}
}

// A server without an address is a mistake, unless the address may be set elsewhere.
func TestAddressesThatAreNotSet(t *testing.T) {
	for name, tc := range map[string]struct {
		server source.Server
		want   Finding
	}{
		"something else may set it": {source.Server{Elsewhere: "a flag"}, Finding{Level: Note, Field: "x.address", Text: "it is not set: set it by a flag"}},
		"nothing else does":         {source.Server{}, Finding{Level: Warning, Field: "x.address", Text: "it is not set, so no process starts with this policy"}},
	} {
		s := survey{Subject: subject(t, "")}
		s.server(&tc.server, "x")
		if diff := cmp.Diff([]Finding{tc.want}, s.findings); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
