package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/internal/kube"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/internal/settings"
)

const (
	loadPolicyHead = "apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\n"
	upstreamHead   = "apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\nprofiles:\n- name: p\n"
	// byUsage and byDuplicates are policies' profiles. Only the first one reads usage.
	byUsage = upstreamHead + "  pluginConfig: [{name: RealUsageLowNodeUtilization, args: {}}]\n" +
		"  plugins: {balance: {enabled: [RealUsageLowNodeUtilization]}}\n---\n" + loadPolicyHead
	byDuplicates = upstreamHead + "  pluginConfig: [{name: RemoveDuplicates, args: {}}]\n" +
		"  plugins: {balance: {enabled: [RemoveDuplicates]}}\n---\n" + loadPolicyHead
)

func evictAt(percent int) string {
	return fmt.Sprintf("lines: {cpu: {low: 20, reject: %d, evict: %d, leave: %d}}\n", percent-5, percent, percent-5)
}

// reloading is an evicting process with a fake API server that was started with a policy.
type reloading struct {
	reload
	evicting *evicting
	first    *generation
	t        testing.TB
	client   *fake.Clientset
	sent     chan string
}

func newReloading(t testing.TB, content string) *reloading {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policy.yaml")
	r := &reloading{t: t, client: fake.NewClientset(), sent: make(chan string, 100)}
	r.must(os.WriteFile(path, []byte(content), 0o600))
	s := offline(t, r.client, content, func(o *flags.Options) {
		o.PolicyFile, o.Interval, o.Namespace, o.DryRun = path, time.Minute, "kube-system", true
	})
	r.evicting = evictingOffline(t, s, r.sent)
	r.process, r.first = r.evicting.process, r.evicting.process.current()
	r.must(r.evicting.process.equip(t.Context(), r.first))
	r.must(r.evicting.startInformers(t.Context()))
	r.process.announcer.Evicting(r.process.authority)
	return r
}

// changed applies new content of the file, as the watch of the file does.
func (r *reloading) changed(ctx context.Context, content []byte, err error) (done bool) {
	return policyfile.Apply(ctx, content, err, r.process.policies, r.replace)
}

func (r *reloading) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// told returns the Events recorded since the last call.
func (r *reloading) told() []string {
	var told []string
	for len(r.sent) > 0 {
		told = append(told, strings.ReplaceAll(<-r.sent, r.process.options.PolicyFile, "FILE"))
	}
	return told
}

// state returns the metrics about the policy, without times.
func (r *reloading) state() string {
	families, err := r.process.registry.Gather()
	r.must(err)
	values := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := strings.TrimPrefix(family.GetName(), "evenkeel_policy_")
			if labels := metric.GetLabel(); len(labels) == 1 {
				name = labels[0].GetValue()
			}
			values[name] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
		}
	}
	return fmt.Sprintf("ok %v, invalid %v, error %v, generation %v, successful %v",
		values["ok"], values["invalid"], values["error"], values["generation"], values["last_load_successful"])
}

// evictLine returns the evict line of the policy in effect.
func (r *reloading) evictLine() float64 { return *r.process.current().load.Lines["cpu"].Evict }

// Each content of the file is applied or rejected as a whole, reported in an Event, and counted. If
// it is rejected, the previous policy stays in effect.
func TestPolicyChanges(t *testing.T) {
	type step struct {
		content string
		gone    error // the error of reading the file, instead of content
		done    bool
		line    float64
		event   string // the start of the Event; empty for none
		state   string
	}
	first := byUsage + evictAt(60)
	byPodLifeTime := upstreamHead + "  pluginConfig: [{name: PodLifeTime, args: {conditions: [{status: x}]}}]\n" +
		"  plugins: {deschedule: {enabled: [PodLifeTime]}}\n---\n" + loadPolicyHead + evictAt(50)
	reloaded := "Normal PolicyReloaded FILE has changed and is in effect."
	cases := map[string][]step{
		"another line": {
			{content: byUsage + evictAt(50), done: true, line: 50, event: reloaded, state: "ok 2, invalid 0, error 0, generation 2, successful 1"},
		},
		"invalid, invalid in another way, and fixed": {
			{
				content: byUsage + "lines: {cpu: {evict: 101}}\n", done: true, line: 60, event: "Warning PolicyInvalid FILE: line 10, column 22: LoadPolicy: lines",
				state: "ok 1, invalid 1, error 0, generation 1, successful 0",
			},
			{
				content: byUsage + "linse: {}\n", done: true, line: 60, event: "Warning PolicyInvalid FILE: line 10, column 1: LoadPolicy: linse",
				state: "ok 1, invalid 2, error 0, generation 1, successful 0",
			},
			{content: byUsage + evictAt(70), done: true, line: 70, event: reloaded, state: "ok 2, invalid 2, error 0, generation 2, successful 1"},
		},
		"invalid and reverted": {
			{content: "a: {", done: true, line: 60, event: "Warning PolicyInvalid FILE: ", state: "ok 1, invalid 1, error 0, generation 1, successful 0"},
			{content: first, done: true, line: 60, event: reloaded, state: "ok 2, invalid 1, error 0, generation 1, successful 1"},
		},
		"the same mistake twice": {
			{content: "", done: true, line: 60, event: "Warning PolicyInvalid FILE: the file holds no document", state: "ok 1, invalid 1, error 0, generation 1, successful 0"},
			{content: "# still\n", done: true, line: 60, state: "ok 1, invalid 2, error 0, generation 1, successful 0"},
		},
		"gone": {
			{gone: fs.ErrNotExist, done: true, line: 60, event: "Warning PolicyNotLoaded file does not exist", state: "ok 1, invalid 0, error 1, generation 1, successful 0"},
			{content: first, done: true, line: 60, event: reloaded, state: "ok 2, invalid 0, error 1, generation 1, successful 1"},
		},
		"arguments that their plugin rejects": {
			{
				content: upstreamHead + "  pluginConfig: [{name: PodLifeTime, args: {maxPodLifeTimeSecond: 1}}]\n  plugins: {deschedule: {enabled: [PodLifeTime]}}\n",
				done:    true, line: 60, event: "Warning PolicyInvalid FILE: ", state: "ok 1, invalid 1, error 0, generation 1, successful 0",
			},
		},
		"a threshold whose value is null and whose class does not exist": {
			{
				content: strings.Replace(byUsage, "pluginConfig: [", "pluginConfig: [{name: DefaultEvictor, args: {priorityThreshold: {name: low, value: null}}}, ", 1),
				done:    true, line: 60, event: `Warning PolicyInvalid FILE: profile "p": DefaultEvictor: priorityThreshold.name: there is no priority class "low"`,
				state: "ok 1, invalid 1, error 0, generation 1, successful 0",
			},
		},
		"transition times that were not kept": {
			{
				content: strings.Replace(byPodLifeTime, "{status: x}", "{status: x, minTimeSinceLastTransitionSeconds: 60}", 1), done: true, line: 60,
				event: "Warning PolicyInvalid FILE: PodLifeTime: conditions", state: "ok 1, invalid 1, error 0, generation 1, successful 0",
			},
			{content: byPodLifeTime, done: true, line: 50, event: reloaded, state: "ok 2, invalid 1, error 0, generation 2, successful 1"},
		},
		"a selector whose mistake shows only when profiles are built": {
			{
				content: strings.Replace(byUsage, "profiles:", "nodeSelector: \"a b c\"\nprofiles:", 1), done: true, line: 60,
				event: "Warning PolicyInvalid FILE: ", state: "ok 1, invalid 1, error 0, generation 1, successful 0",
			},
		},
		"profiles that contradict each other": {
			{
				content: upstreamHead + usageProfile(50) + "- name: q\n" + usageProfile(60), done: true, line: 60,
				event: "Warning PolicyInvalid FILE: profiles give", state: "ok 1, invalid 1, error 0, generation 1, successful 0",
			},
		},
		"usage is no longer read, and read again": {
			{content: byDuplicates + evictAt(50), done: true, line: 50, event: reloaded, state: "ok 2, invalid 0, error 0, generation 2, successful 1"},
			{content: byUsage + evictAt(55), done: true, line: 55, event: reloaded, state: "ok 3, invalid 0, error 0, generation 3, successful 1"},
		},
		"without a DeschedulerPolicy": {
			{
				content: loadPolicyHead + "eviction: {defaultProfile: false}\n", done: true, line: 60,
				event: "Warning PolicyInvalid FILE: there is nothing to run: it has no DeschedulerPolicy", state: "ok 1, invalid 1, error 0, generation 1, successful 0",
			},
			{content: loadPolicyHead, done: true, line: 65, event: reloaded, state: "ok 2, invalid 1, error 0, generation 2, successful 1"},
		},
	}
	for name, steps := range cases {
		t.Run(name, func(t *testing.T) {
			r := newReloading(t, first)
			for i, tc := range steps {
				content := []byte(tc.content)
				if tc.gone != nil {
					content = nil
				}
				if done := r.changed(t.Context(), content, tc.gone); done != tc.done {
					t.Errorf("step %d: done %v, want %v", i, done, tc.done)
				}
				if got := r.evictLine(); got != tc.line {
					t.Errorf("step %d: evicting above %v, want %v", i, got, tc.line)
				}
				told := strings.Join(r.told(), "\n")
				if !strings.HasPrefix(told, tc.event) || tc.event == "" && told != "" {
					t.Errorf("step %d: Event %q, want %q", i, told, tc.event)
				}
				if diff := cmp.Diff(tc.state, r.state()); diff != "" {
					t.Errorf("step %d: metrics (-want +got):\n%s", i, diff)
				}
			}
		})
	}
}

func usageProfile(percent int) string {
	return fmt.Sprintf("  pluginConfig: [{name: RealUsageLowNodeUtilization, args: {thresholds: {cpu: 20}, targetThresholds: {cpu: %d}}}]\n"+
		"  plugins: {balance: {enabled: [RealUsageLowNodeUtilization]}}\n", percent)
}

// A valid policy that cannot take effect while the API server is unreachable is tried again.
func TestPolicyIsTriedAgain(t *testing.T) {
	r := newReloading(t, byUsage+evictAt(60))
	away := true
	r.client.PrependReactor("get", "priorityclasses", func(clienttesting.Action) (bool, runtime.Object, error) {
		if away {
			return true, nil, errors.New("connection refused")
		}
		return false, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "priorityclasses"}, "low")
	})
	named := strings.Replace(byUsage, "pluginConfig: [", "pluginConfig: [{name: DefaultEvictor, args: {priorityThreshold: {name: low}}}, ", 1)
	for range 2 {
		if r.changed(t.Context(), []byte(named), nil) {
			t.Error("done with a policy that is right")
		}
	}
	if diff := cmp.Diff([]string{`Warning PolicyNotLoaded reading priority class "low": connection refused`}, r.told()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if got, want := r.process.policies.Status().Problem, `reading priority class "low": connection refused`; got != want {
		t.Errorf("/status contains %q, want %q", got, want)
	}
	away = false
	if !r.changed(t.Context(), []byte(named), nil) { // the class does not exist
		t.Error("not done with a policy that names a priority class that does not exist")
	}
}

// The policy changes between cycles and never during one. The change takes effect at the same time
// for cycles, the gate and the owners.
func TestPolicyChangesBetweenCycles(t *testing.T) {
	r := newReloading(t, byUsage+evictAt(60)+"eviction: {ownerSettle: 1m}\n")
	r.process.cycling.Lock() // a cycle is running
	changed := make(chan bool)
	go func() {
		changed <- r.changed(t.Context(), []byte(byUsage+evictAt(50)+"eviction: {ownerSettle: 2m}\n"), nil)
	}()
	select {
	case <-changed:
		t.Fatal("changed during a cycle")
	case <-time.After(200 * time.Millisecond):
	}
	if r.process.current() != r.first || r.process.current().load.Eviction.OwnerSettle.Duration != time.Minute {
		t.Error("the next policy is at work during the cycle")
	}
	r.process.cycling.Unlock()
	if !<-changed || r.evictLine() != 50 || r.process.current().load.Eviction.OwnerSettle.Duration != 2*time.Minute {
		t.Errorf("after the cycle: evicting above %v, owners settle %v; want 50 and 2m", r.evictLine(), r.process.current().load.Eviction.OwnerSettle.Duration)
	}
	r.nextCycleOf(t)
}

// The policy's nodeSelector decides which nodes take part, including in the observation.
func TestTheNodeSelectorReachesTheObserver(t *testing.T) {
	takesPart := func(r *reloading) string {
		config := r.process.current().observing
		var members []string
		for _, pool := range []string{"core", "edge"} {
			node := cluster.Node{Ready: true, Schedulable: true, Labels: map[string]string{"pool": pool}}
			if config.Taints.Apply(&node); node.Member() {
				members = append(members, pool)
			}
		}
		return strings.Join(members, ", ")
	}
	r := newReloading(t, byUsage+evictAt(60))
	if got := takesPart(r); got != "core, edge" {
		t.Errorf("without a nodeSelector: %s", got)
	}
	selecting := strings.Replace(byUsage, "profiles:", "nodeSelector: pool!=edge\nprofiles:", 1)
	if selecting == byUsage {
		t.Fatal("no nodeSelector was added")
	}
	r.changed(t.Context(), []byte(selecting+evictAt(60)), nil)
	if got := takesPart(r); got != "core" {
		t.Errorf("with a nodeSelector: %s", got)
	}
}

func (r *reloading) nextCycleOf(t *testing.T) {
	t.Helper()
	if err := r.evicting.cycle(t.Context()); err != nil {
		t.Errorf("a cycle by the new policy: %v", err)
	}
}

// Tasks run only for the policy in effect, one at a time.
func TestEachPolicy(t *testing.T) {
	r := newReloading(t, byUsage+evictAt(60))
	ctx, cancel := context.WithCancel(t.Context())
	running := make(chan float64)
	ended := make(chan error, 1)
	go func() {
		ended <- r.process.eachPolicy(ctx, func(ctx context.Context, g *generation) error {
			line := *g.load.Lines["cpu"].Evict
			running <- line
			if line == 55 {
				return nil // a task that ends on its own
			}
			<-ctx.Done()
			return nil
		})
	}()
	got := []float64{<-running}
	for _, percent := range []int{55, 50} {
		r.changed(t.Context(), []byte(byUsage+evictAt(percent)), nil)
		got = append(got, <-running)
	}
	if diff := cmp.Diff([]float64{60, 55, 50}, got); diff != "" {
		t.Errorf("tasks ran by (-want +got):\n%s", diff)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	failing := r.process.eachPolicy(t.Context(), func(context.Context, *generation) error { return kube.ErrNotSynced })
	if !errors.Is(failing, kube.ErrNotSynced) {
		t.Errorf("a task that failed: %v", failing)
	}
}

// The watch detects every change from the content with which the process started.
func TestWatchPolicy(t *testing.T) {
	r := newReloading(t, byUsage+evictAt(60))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.process.watchPolicy(ctx) }()
	r.must(os.WriteFile(r.process.options.PolicyFile, []byte(byUsage+evictAt(45)), 0o600))
	deadline := time.Now().Add(time.Minute)
	for r.evictLine() != 45 && time.Now().Before(deadline) {
		time.Sleep(50 * time.Millisecond)
	}
	if got := r.evictLine(); got != 45 {
		t.Errorf("evicting above %v, want 45", got)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// The samples of two policies are incompatible if and only if the policies differ in settings on
// which samples depend.
func TestSamples(t *testing.T) {
	cases := map[string]struct {
		content string
		same    bool
	}{
		"other lines":         {content: byUsage + evictAt(50), same: true},
		"other evictions":     {content: byUsage + evictAt(60) + "eviction: {maxMovesPerCycle: 3}\n", same: true},
		"a shorter period":    {content: byUsage + evictAt(60) + "usage: {observationPeriod: 155s, minCoveragePercent: 50}\n", same: true},
		"other samples":       {content: byUsage + evictAt(60) + "usage: {sampleInterval: 30s}\n"},
		"another source":      {content: byUsage + evictAt(60) + "usage: {sources: [{type: Kubelet}]}\n"},
		"one more window":     {content: byUsage + evictAt(60) + "hot: {windows: [avg_5m, avg_1h]}\n"},
		"usage is published":  {content: byUsage + evictAt(60) + "nodesync: {annotations: {enabled: true}}\n"},
		"the profiles change": {content: byDuplicates + evictAt(60), same: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newReloading(t, byUsage+evictAt(60))
			next, err := r.prepare(t.Context(), []byte(tc.content))
			if err != nil {
				t.Fatal(err)
			}
			if same := reflect.DeepEqual(samplesOf(r.first), samplesOf(next)); same != tc.same {
				t.Errorf("samples go together: %v, want %v", same, tc.same)
			}
		})
	}
}

// The facts include the measured limits that keep pods off nodes.
func TestFactsHaveMeasuredLimits(t *testing.T) {
	for content, want := range map[string]int{
		byUsage: 0,
		byUsage + "scoring: {measured: {formula: Crane, limits: [{metric: cpu, window: avg_5m, abovePercent: 65}, {metric: memory, fromPercent: 80}]}}\n": 2,
	} {
		r := newReloading(t, content)
		r.process.observer.Sample(t.Context())
		f, err := r.evicting.explainer.Latest()
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Limits) != want {
			t.Errorf("%d limits, want %d", len(f.Limits), want)
		}
	}
}

func samplesOf(g *generation) settings.Samples {
	return settings.SamplesOf(g.load, g.profiles.MetricsProviders, g.signalsOnly)
}
