package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/explain"
	"github.com/evenkeel/evenkeel/internal/kube"
	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/internal/servertime"
	"github.com/evenkeel/evenkeel/internal/settings"
	"github.com/evenkeel/evenkeel/internal/steering"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/scorer/extender"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/realusage"
	"github.com/evenkeel/evenkeel/thresholds"
	"github.com/evenkeel/evenkeel/usage"
	"github.com/evenkeel/evenkeel/usage/kinds"
)

func TestParseSubject(t *testing.T) {
	long := strings.Repeat("x", 1<<16)
	cases := map[string]struct {
		words []string
		want  subject
		fails bool
	}{
		"a node":             {words: []string{"node", "n1"}, want: subject{kind: "node", name: "n1"}},
		"a pod":              {words: []string{"pod", "ns/p"}, want: subject{kind: "pod", namespace: "ns", name: "p"}},
		"nothing":            {fails: true},
		"one word":           {words: []string{"node"}, fails: true},
		"three words":        {words: []string{"pod", "ns", "p"}, fails: true},
		"a pod as one word":  {words: []string{"pod/ns/p", "x"}, fails: true},
		"no such kind":       {words: []string{"deployment", "d"}, fails: true},
		"a node with slash":  {words: []string{"node", "a/b"}, fails: true},
		"no name":            {words: []string{"node", ""}, fails: true},
		"no namespace":       {words: []string{"pod", "p"}, fails: true},
		"empty namespace":    {words: []string{"pod", "/p"}, fails: true},
		"a pod of two parts": {words: []string{"pod", "a/b/c"}, fails: true},
		"a long name":        {words: []string{"pods", long}, fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := parseSubject(tc.words)
			if got != tc.want || (err != nil) != tc.fails {
				t.Errorf("got %+v, %v; want %+v", got, err, tc.want)
			}
			if err != nil && len(err.Error()) > 300 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
		})
	}
}

// meter is a source that tells of one node.
type meter struct{}

func (meter) Name() string { return "meter" }

func (meter) Sample(context.Context, *cluster.Snapshot) (usage.Batch, error) {
	now := time.Now()
	return usage.Batch{Source: "meter", Received: now, Nodes: []usage.NodeSample{{Name: "n1", Readings: []usage.Reading{
		{Metric: usage.CPU, Window: usage.Last, At: now, Value: 7000}, {Metric: usage.Memory, Window: usage.Last, At: now, Value: 1 << 30},
		{Metric: usage.CPU, Window: usage.Avg5m, At: now, Value: 7000}, {Metric: usage.Memory, Window: usage.Avg5m, At: now, Value: 1 << 30},
	}}}}, nil
}

// watching is a process that knows of one node.
func watching(t *testing.T) *App {
	t.Helper()
	set, err := thresholds.New([]thresholds.Pool{{Rules: []thresholds.Rule{{
		Metric: usage.CPU, Window: usage.Avg5m, Levels: thresholds.Levels{Low: 45, Reject: 60, Evict: 65, Leave: 60},
	}}}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	load := policy.Default(kinds.All)
	a := &App{process: &process{kube: &kube.Connection{Clock: servertime.New(time.Now)}}, load: &load}
	a.active.Store(a)
	a.observer, err = observer.New(observer.Config{
		Sources: []observer.Source{meter{}}, Lines: set, SampleInterval: time.Second, Now: time.Now,
		Usage: settings.Usage(&load), HotWindows: []usage.Window{usage.Avg5m},
	})
	if err != nil {
		t.Fatal(err)
	}
	a.observer.Store().SetNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: v1.NodeStatus{
		Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("10"), v1.ResourceMemory: resource.MustParse("100Gi")},
		Conditions:  []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
	}})
	a.observer.Sample(t.Context())
	return a
}

// answering is an extender that knows of one node, and its URL.
func answering(t *testing.T) string {
	t.Helper()
	a := watching(t)
	server, err := extender.NewServer(extender.Config{
		Judge:   steering.NewJudge(a.observer, time.Now),
		Explain: a.explains(&desk{}),
	})
	if err != nil {
		t.Fatal(err)
	}
	listening := httptest.NewServer(server)
	t.Cleanup(listening.Close)
	return listening.URL
}

// The command asks a running extender and prints what it says; what cannot be told has its exit code and its sentence.
func TestExplainByExtender(t *testing.T) {
	base := answering(t)
	cases := map[string]struct {
		url, format string
		words       []string
		wantCode    int
		want        string // of the output or the error
	}{
		"a node":                {words: []string{"node", "n1"}, want: "cpu avg_5m 70.0 % is above the evict line 65 %"},
		"that there is no plan": {words: []string{"node", "n1"}, want: "only answers kube-scheduler and makes no plan"},
		"as YAML":               {words: []string{"node", "n1"}, format: "yaml", want: "name: n1"},
		"an unknown node":       {words: []string{"node", "n9"}, wantCode: exit.Failure, want: `node "n9" is not known; 1 nodes are`},
		"an unknown pod":        {words: []string{"pod", "ns/p"}, wantCode: exit.Failure, want: `pod "p" in namespace "ns" is not known`},
		"a name that climbs":    {words: []string{"node", ".."}, wantCode: exit.Failure, want: "asking for an explanation: "},
		"a name to be escaped":  {words: []string{"node", "a?b#c"}, wantCode: exit.Failure, want: `node "a?b#c" is not known`},
		"wrong words":           {words: []string{"nodes", "n1"}, wantCode: exit.Misuse, want: "explain takes"},
		"a wrong format":        {words: []string{"node", "n1"}, format: "xml", wantCode: exit.Misuse, want: "--output"},
		"no URL":                {url: "localhost:8888", words: []string{"node", "n1"}, wantCode: exit.Misuse, want: "--extender-url"},
		"nobody there":          {url: "http://127.0.0.1:1", words: []string{"node", "n1"}, wantCode: exit.Failure, want: "asking http://127.0.0.1:1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			wanted := ExplainOptions{Format: "table", ExtenderURL: base}
			if tc.format != "" {
				wanted.Format = tc.format
			}
			if tc.url != "" {
				wanted.ExtenderURL = tc.url
			}
			var out bytes.Buffer
			err := Explain(t.Context(), Options{}, wanted, tc.words, &out)
			said := out.String()
			if err != nil {
				said += err.Error()
			}
			if exit.Code(err) != tc.wantCode || !strings.Contains(said, tc.want) {
				t.Errorf("exit code %d, want %d; said\n%s\nwant %q", exit.Code(err), tc.wantCode, said, tc.want)
			}
		})
	}
}

// An answer that is no explanation, or endless, is an error and no empty explanation.
func TestExplainByStrangers(t *testing.T) {
	for name, body := range map[string]string{"no JSON": "<html>", "an array": "[]", "nothing": "", "cut off": `{"name":"n1`} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }))
		_, err := askToExplain(t.Context(), server.URL, subject{kind: "node", name: "n1"})
		server.Close()
		if err == nil {
			t.Errorf("%s: taken for an explanation", name)
		}
	}
}

// Without a policy or an API server the command says so.
func TestExplainHereFails(t *testing.T) {
	options := Options{PolicyFile: filepath.Join(t.TempDir(), "none.yaml")}
	err := Explain(t.Context(), options, ExplainOptions{Format: "table"}, []string{"node", "n1"}, &bytes.Buffer{})
	if err == nil || exit.Code(err) == exit.OK {
		t.Errorf("got %v", err)
	}
}

// The same values come over the wire as are told here.
func TestExplanationsSurviveTheWire(t *testing.T) {
	response, err := http.Get(answering(t) + "/explain/node/n1")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var got explain.Node
	if err := json.NewDecoder(response.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	want := []string{"cpu is at 70.0 % over avg_5m, above the evict line of 65 %"}
	if diff := cmp.Diff(want, got.Over); diff != "" || got.HasToLeave.CPUMilli != 500 || got.Predicted.CPUMilli != 7000 {
		t.Errorf("over (-want +got):\n%s\n%+v", diff, got)
	}
}

// A cycle tells the log of hot nodes alone, at V(2), with the numbers.
func TestJudgedIsLogged(t *testing.T) {
	a := watching(t)
	latest := a.observer.Latest()
	made := realusage.Made{Observed: strategies.Observed{View: latest.View, Board: latest.Board, Lines: latest.Lines, States: map[string]thresholds.NodeState{}}}
	for verbosity := range 3 {
		for _, state := range []thresholds.State{thresholds.Warm, thresholds.Hot} {
			want := 0
			if state == thresholds.Hot && verbosity == 2 {
				want = 1
			}
			var out bytes.Buffer
			logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&out), textlogger.Verbosity(verbosity)))
			made.Observed.States["n1"] = thresholds.NodeState{State: state, Since: time.Now()}
			a.judged(klog.NewContext(t.Context(), logger), &desk{}, &made)
			if got := strings.Count(out.String(), `"Node judged" node="n1" state="hot"`); got != want {
				t.Errorf("-v=%d, %s: %d lines, want %d:\n%s", verbosity, state, got, want, out.String())
			}
			if want == 1 && !strings.Contains(out.String(), `hasToLeave="500m cpu, 0 Mi memory"`) {
				t.Errorf("no numbers in %s", out.String())
			}
		}
	}
}

// One plan is made at a time, nobody waits longer than five seconds, and a plan that fails badly ends nothing else.
func TestDesk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d desk
		release := make(chan struct{})
		began := time.Now()
		slow := func(context.Context) (*explain.Facts, error) { <-release; return &explain.Facts{}, nil }
		if _, err := d.study(t.Context(), slow); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != explainTimeout {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		if _, err := d.study(t.Context(), slow); err == nil || !strings.Contains(err.Error(), "ask again") {
			t.Errorf("a second plan beside the first: %v", err)
		}
		close(release)
		synctest.Wait()
		if f, err := d.study(t.Context(), slow); f == nil || err != nil {
			t.Errorf("after the first was made: %v", err)
		}
		synctest.Wait()
		if _, err := d.study(t.Context(), func(context.Context) (*explain.Facts, error) { panic("oh") }); err == nil || !strings.Contains(err.Error(), "oh") {
			t.Errorf("a panic: %v", err)
		}
	})
}

// What keeps pods off by measured usage is among the facts.
func TestFactsHaveMeasuredLimits(t *testing.T) {
	for content, want := range map[string]int{
		byUsage: 0,
		byUsage + "scoring: {measured: {formula: Crane, limits: [{metric: cpu, window: avg_5m, abovePercent: 65}, {metric: memory, fromPercent: 80}]}}\n": 2,
	} {
		r := newReloading(t, content)
		r.observer.Sample(t.Context())
		f, err := r.latest()
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Limits) != want {
			t.Errorf("%d limits, want %d", len(f.Limits), want)
		}
	}
}
