package doctor_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/compat/presets"
	"github.com/evenkeel/evenkeel/observe/usage/metricsserver"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/status/doctor"
)

// The cases are a correct configuration of kube-scheduler with the plugin, and variants with one
// mistake each.
func TestSchedulerPlugin(t *testing.T) {
	const (
		head   = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
		inside = "{schedulerName: default-scheduler, plugins: {multiPoint: {enabled: [{name: EvenkeelLoad, weight: 15}]}}}"
		entry  = "extenders: [{urlPrefix: 'http://127.0.0.1:8888', filterVerb: filter, prioritizeVerb: prioritize, weight: 15, nodeCacheCapable: true, ignorable: true, httpTimeout: 200ms}]\n"
		fine   = "ok sched.yaml: Evenkeel's plugin is enabled correctly."
		first  = "sched.yaml: profiles[0]: "
	)
	enabled := func(plugins string) string { return "{plugins: {" + plugins + "}}" }
	cases := map[string]struct {
		profiles, rest, address string
		want                    []string // how the findings start
		fix                     string
	}{
		"the plugin alone": {profiles: inside, want: []string{fine}},
		"the plugin and the extender": {
			profiles: inside, rest: entry, address: "http://127.0.0.1:8888", fix: "Remove the entry from extenders",
			want: []string{"problem " + first + `The scheduler "default-scheduler" has the plugin EvenkeelLoad inside, and extenders[0] asks Evenkeel about the same pods: real usage counts twice`},
		},
		"an extender of the same verbs": {
			profiles: inside, rest: entry,
			want: []string{"warning " + first + `The scheduler "default-scheduler" has the plugin EvenkeelLoad inside, and extenders[0] has the verbs of Evenkeel's extender: if it is Evenkeel, real usage`},
		},
		"an extender somewhere else": {
			profiles: inside, rest: entry, address: "http://10.0.0.9:8888", want: []string{"warning " + first},
		},
		"an extender of other verbs": {
			profiles: inside, rest: "extenders: [{urlPrefix: 'http://10.0.0.7:7777', bindVerb: bind}]\n", address: "http://127.0.0.1:8888", want: []string{fine},
		},
		"an earlier name and the extender": {
			profiles: enabled("score: {enabled: [{name: MemRealUsage, weight: 100}]}"), rest: entry, address: "http://127.0.0.1:8888",
			want: []string{"problem " + first + `The scheduler "default-scheduler" has the plugin MemRealUsage inside, and extenders[0] asks`},
		},
		"an earlier name alone": {profiles: enabled("filter: {enabled: [{name: Dynamic}]}, score: {enabled: [{name: Dynamic, weight: 3}]}"), want: []string{fine}},
		"two names": {
			profiles: enabled("multiPoint: {enabled: [{name: Dynamic, weight: 3}, {name: EvenkeelLoad, weight: 15}]}"),
			want:     []string{"warning " + first + "It has EvenkeelLoad and Dynamic: each of them scores"},
		},
		"it only scores": {
			profiles: enabled("score: {enabled: [{name: EvenkeelLoad, weight: 15}]}"),
			want:     []string{"warning " + first + "EvenkeelLoad does not filter"}, fix: "multiPoint",
		},
		"it only filters": {
			profiles: enabled("multiPoint: {enabled: [{name: EvenkeelLoad, weight: 15}]}, score: {disabled: [{name: EvenkeelLoad}]}"),
			want:     []string{"warning " + first + "EvenkeelLoad does not score"},
		},
		"all others' scores are off": {
			profiles: enabled("multiPoint: {enabled: [{name: EvenkeelLoad, weight: 15}]}, score: {disabled: [{name: '*'}], enabled: [{name: EvenkeelLoad, weight: 15}]}"),
			want:     []string{fine},
		},
		"no weight, which is 1": {
			profiles: enabled("multiPoint: {enabled: [{name: EvenkeelLoad}]}"), want: []string{"warning " + first + "EvenkeelLoad has a weight of 1, which is low"}, fix: "weight: 15",
		},
		"a high weight": {
			profiles: enabled("multiPoint: {enabled: [{name: EvenkeelLoad, weight: 100}]}"), want: []string{"warning " + first + "EvenkeelLoad has a weight of 100, which is high"},
		},
		"the weight of score counts": {
			profiles: enabled("multiPoint: {enabled: [{name: EvenkeelLoad}]}, score: {enabled: [{name: EvenkeelLoad, weight: 15}]}"), want: []string{fine},
		},
		"a ledger somewhere else": {
			profiles: "{plugins: {multiPoint: {enabled: [{name: EvenkeelLoad, weight: 15}]}}, pluginConfig: [{name: EvenkeelLoad, args: {namespace: kube-system}}]}",
			want:     []string{"warning " + first + `EvenkeelLoad reads the moves in flight in the namespace "kube-system", but the evicting process keeps them in "evenkeel"`}, fix: "namespace: evenkeel",
		},
		"the ledger of what evicts": {
			profiles: "{plugins: {multiPoint: {enabled: [{name: EvenkeelLoad, weight: 15}]}}, pluginConfig: [{name: EvenkeelLoad, args: {namespace: evenkeel}}]}",
			want:     []string{fine},
		},
		"args that are no object": {
			profiles: "{plugins: {multiPoint: {enabled: [{name: EvenkeelLoad, weight: 15}]}}, pluginConfig: [{name: EvenkeelLoad, args: [1]}]}",
			want:     []string{fine},
		},
		"a second scheduler, and pods of the first are moved": {
			profiles: "{schedulerName: default-scheduler}, {schedulerName: x, plugins: {multiPoint: {enabled: [{name: EvenkeelLoad, weight: 15}]}}}",
			want:     []string{`warning sched.yaml: profiles: The policy moves pods of the scheduler "default-scheduler", whose profile has no plugin of Evenkeel's`},
		},
		"it is switched off everywhere": {
			profiles: enabled("multiPoint: {disabled: [{name: EvenkeelLoad}]}"), want: []string{"problem sched.yaml: None of its 0 extenders is for Evenkeel"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			says, fix := configured(t, head+"profiles: ["+tc.profiles+"]\n"+tc.rest, tc.address)
			begins(t, says, tc.want)
			if !strings.Contains(fix, tc.fix) {
				t.Errorf("fix: got %q, want it to contain %q", fix, tc.fix)
			}
		})
	}
}

// If the plugin decides, doctor does not ask for the extender's address.
func TestSchedulerPluginNeedsNoExtender(t *testing.T) {
	w := newFixture(t, metricsserver.Name)
	w.installation.Extender = doctor.Extender{}
	w.installation.SchedulerConfig = &doctor.SchedulerConfig{Name: "sched.yaml", Data: []byte("apiVersion: kubescheduler.config.k8s.io/v1\n" +
		"kind: KubeSchedulerConfiguration\nprofiles: [{plugins: {multiPoint: {enabled: [{name: EvenkeelLoad, weight: 15}]}}}]\n")}
	want := []string{
		"ok: Not asked: the configuration runs Evenkeel's plugin inside kube-scheduler.",
		"ok sched.yaml: Evenkeel's plugin is enabled correctly.",
	}
	if diff := cmp.Diff(want, found(w.ask().installation, doctor.CheckExtender)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// The shipped configuration for a second scheduler passes, and uses the plugin's names.
func TestShippedSecondScheduler(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "deploy", "overlays", "second-scheduler", "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(data), "|\n")
	if !ok {
		t.Fatal("there is no configuration in it")
	}
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimPrefix(line, "    "))
	}
	text = strings.Join(lines, "")
	got, _ := configured(t, text, "")
	want := []string{
		`warning sched.yaml: profiles: The policy moves pods of the scheduler "default-scheduler", but this configuration has only evenkeel-scheduler: unless another configuration asks Evenkeel, their destinations are left to chance.`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, name := range presets.PluginNames() {
		got, _ := configured(t, strings.ReplaceAll(text, policy.EvenkeelLoadName, name), "")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}
