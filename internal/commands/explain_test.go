package commands

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/internal/settings"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/scorer/answer"
	"github.com/evenkeel/evenkeel/scorer/extender"
	"github.com/evenkeel/evenkeel/scorer/remote"
	"github.com/evenkeel/evenkeel/status"
	"github.com/evenkeel/evenkeel/status/live"
	"github.com/evenkeel/evenkeel/status/serve"
)

// meter is a source that reports one node.
type meter struct{}

func (meter) Name() string { return "meter" }

func (meter) Sample(context.Context, *cluster.Snapshot) (usage.Batch, error) {
	now := time.Now()
	return usage.Batch{Source: "meter", Received: now, Nodes: []usage.NodeSample{{Name: "n1", Readings: []usage.Reading{
		{Metric: usage.CPU, Window: usage.Last, At: now, Value: 7000}, {Metric: usage.Memory, Window: usage.Last, At: now, Value: 1 << 30},
		{Metric: usage.CPU, Window: usage.Avg5m, At: now, Value: 7000}, {Metric: usage.Memory, Window: usage.Avg5m, At: now, Value: 1 << 30},
	}}}}, nil
}

// watching returns an observer that knows a single node.
func watching(t *testing.T) *observer.Observer {
	t.Helper()
	set, err := thresholds.New([]thresholds.Pool{{Rules: []thresholds.Rule{{
		Metric: usage.CPU, Window: usage.Avg5m, Levels: thresholds.Levels{Low: 45, Reject: 60, Evict: 65, Leave: 60},
	}}}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	load := policy.Default(kinds.All)
	o, err := observer.New(observer.Config{
		Sources: []observer.Source{meter{}}, Lines: set, SampleInterval: time.Second, Now: time.Now,
		Usage: settings.Usage(&load), HotWindows: []usage.Window{usage.Avg5m},
	})
	if err != nil {
		t.Fatal(err)
	}
	o.Store().SetNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: v1.NodeStatus{
		Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("10"), v1.ResourceMemory: resource.MustParse("100Gi")},
		Conditions:  []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
	}})
	o.Sample(t.Context())
	return o
}

// answering starts a process that knows a single node, and returns the URLs of its reports and of
// the address for kube-scheduler.
func answering(t *testing.T) (reports, asks string) {
	t.Helper()
	o := watching(t)
	pages := serve.Pages{Reports: &serve.Reports{Observer: o, Explainer: live.New(o, nil, nil, &live.Terms{})}, Metrics: http.NotFoundHandler()}
	server, err := extender.NewServer(extender.Config{Answerer: answer.NewAnswerer(o, time.Now)})
	if err != nil {
		t.Fatal(err)
	}
	urlOf := func(handler http.Handler) string {
		listening := httptest.NewServer(handler)
		t.Cleanup(listening.Close)
		return listening.URL
	}
	return urlOf(pages.Handler(t.Context())), urlOf(server)
}

// The command asks a running extender and prints the answer. If there is no answer, the exit code
// and the message explain why.
func TestExplainByExtender(t *testing.T) {
	base, asks := answering(t)
	cases := map[string]struct {
		url, format string
		words       []string
		wantCode    int
		want        string // part of the output or the error
	}{
		"a node":                      {words: []string{"node", "n1"}, want: "cpu avg_5m 70.0% is above the evict line 65%"},
		"that there is no plan":       {words: []string{"node", "n1"}, want: "only answers kube-scheduler and makes no plan"},
		"as YAML":                     {words: []string{"node", "n1"}, format: "yaml", want: "name: n1"},
		"an unknown node":             {words: []string{"node", "n9"}, wantCode: exit.Failure, want: `node "n9" is not known; 1 node is known`},
		"an unknown pod":              {words: []string{"pod", "ns/p"}, wantCode: exit.Failure, want: `pod "p" in namespace "ns" is not known`},
		"a name with dots":            {words: []string{"node", ".."}, wantCode: exit.Failure, want: "asking for an explanation: "},
		"a name that must be escaped": {words: []string{"node", "a?b#c"}, wantCode: exit.Failure, want: `node "a?b#c" is not known`},
		"wrong words":                 {words: []string{"nodes", "n1"}, wantCode: exit.Misuse, want: "explain takes"},
		"a wrong format":              {words: []string{"node", "n1"}, format: "xml", wantCode: exit.Misuse, want: "--output"},
		"no URL":                      {url: "localhost:8888", words: []string{"node", "n1"}, wantCode: exit.Misuse, want: "--extender-url"},
		"kube-scheduler's port":       {url: asks, words: []string{"node", "n1"}, wantCode: exit.Failure, want: "at --report-address of the same process"},
		"nobody there":                {url: "http://127.0.0.1:1", words: []string{"node", "n1"}, wantCode: exit.Failure, want: "asking http://127.0.0.1:1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			wanted := ExplainOptions{Format: "table", Extender: remote.Extender{URL: base}}
			if tc.format != "" {
				wanted.Format = tc.format
			}
			if tc.url != "" {
				wanted.Extender.URL = tc.url
			}
			var out bytes.Buffer
			err := Explain(t.Context(), flags.Options{}, wanted, tc.words, &out)
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

// An answer that is not an explanation, or that never ends, is reported as an error, not as an
// empty explanation.
func TestExplainByStrangers(t *testing.T) {
	for name, body := range map[string]string{"no JSON": "<html>", "an array": "[]", "nothing": "", "cut off": `{"name":"n1`} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) }))
		_, err := askToExplain(t.Context(), &remote.Extender{URL: server.URL}, status.Subject{Kind: "node", Name: "n1"})
		server.Close()
		if err == nil {
			t.Errorf("%s: accepted as an explanation", name)
		}
	}
}

// A missing policy or API server is reported.
func TestExplainHereFails(t *testing.T) {
	options := flags.Options{PolicyFile: filepath.Join(t.TempDir(), "none.yaml")}
	err := Explain(t.Context(), options, ExplainOptions{Format: "table"}, []string{"node", "n1"}, &bytes.Buffer{})
	if err == nil || exit.Code(err) == exit.OK {
		t.Errorf("got %v", err)
	}
}
