package serve

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/servertime"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/scorer/answer"
	"github.com/evenkeel/evenkeel/scorer/extender"
	"github.com/evenkeel/evenkeel/status"
	"github.com/evenkeel/evenkeel/status/announce"
	"github.com/evenkeel/evenkeel/status/live"
)

// silent is a usage source that reports nothing.
type silent struct{}

func (silent) Name() string { return "silent" }
func (silent) Sample(context.Context, *cluster.Snapshot) (usage.Batch, error) {
	return usage.Batch{}, nil
}

// reporting returns the reports of a process with a move in flight.
func reporting(t *testing.T) *Reports {
	t.Helper()
	set, err := thresholds.New([]thresholds.Pool{{Name: "default"}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	o, err := observer.New(observer.Config{
		Sources: []observer.Source{silent{}}, Lines: set, SampleInterval: time.Second, Now: time.Now,
		Usage: usage.Config{SampleInterval: time.Second, MaxAge: time.Minute, MinWindow: time.Minute},
	})
	if err != nil {
		t.Fatal(err)
	}
	o.Sample(t.Context())
	o.Ledger().Record(time.Now(), ledger.Intent{Namespace: "secret", Pod: "web-1", PodUID: "u", From: "n1", To: "n2"})
	return &Reports{
		Observer: o, Policies: &announce.Policies{}, Answerer: answer.NewAnswerer(o, time.Now), Begun: time.Now(), Clock: servertime.New(time.Now),
		Explainer: live.New(o, nil, nil, &live.Terms{}),
	}
}

// Pages are served for localhost or an IP address, on any port. Under another host name, a web page
// in a browser could read them. Profiles must be enabled.
func TestPages(t *testing.T) {
	pages := Pages{Reports: reporting(t), Metrics: Metrics(prometheus.NewRegistry())}
	profiling := pages
	profiling.Profiling = true
	for name, tc := range map[string]struct {
		pages  *Pages
		method string
		url    string
		want   int
	}{
		"the status":                {url: "http://127.0.0.1:8889/status", want: 200},
		"by name":                   {url: "http://localhost:8889/nodes", want: 200},
		"without a port":            {url: "http://localhost/nodes", want: 200},
		"through a forwarded port":  {url: "http://10.0.0.7:1234/explain/pod/secret/web-1", want: 200},
		"by an IPv6 address":        {url: "http://[::1]:8889/metrics", want: 200},
		"by one without a port":     {url: "http://[::1]/metrics", want: 200},
		"by a stranger's name":      {url: "http://evil.example:8889/status", want: 403},
		"by a name like localhost":  {url: "http://localhost.evil.example/status", want: 403},
		"a page is only read":       {method: http.MethodPost, url: "http://localhost/status", want: 405},
		"no profile":                {url: "http://localhost/debug/pprof/heap", want: 404},
		"a profile, if asked for":   {pages: &profiling, url: "http://localhost/debug/pprof/heap", want: 200},
		"no stranger gets profiles": {pages: &profiling, url: "http://evil.example/debug/pprof/heap", want: 403},
		"nothing else":              {url: "http://localhost/filter", want: 404},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.pages == nil {
				tc.pages = &pages
			}
			if tc.method == "" {
				tc.method = http.MethodGet
			}
			w := httptest.NewRecorder()
			tc.pages.Handler(t.Context()).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), tc.method, tc.url, nil))
			if w.Code != tc.want {
				t.Errorf("status %d with %q, want %d", w.Code, w.Body, tc.want)
			}
		})
	}
}

// The process does not hold more and more responses for clients that do not read them.
func TestReportsAreBounded(t *testing.T) {
	entered, leave := make(chan struct{}, 2*reportsAtOnce), make(chan struct{})
	pages := Pages{Reports: reporting(t), Metrics: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-leave
	})}
	handler := pages.Handler(t.Context())
	ask := func(ctx context.Context, path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, nil))
		return w
	}
	var waiting sync.WaitGroup
	for range reportsAtOnce {
		waiting.Go(func() { ask(t.Context(), "/metrics") })
	}
	for range reportsAtOnce {
		<-entered
	}
	if w := ask(t.Context(), "/nodes"); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("request %d gets %d", reportsAtOnce+1, w.Code)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if w := ask(gone, "/stream"); w.Code != http.StatusOK {
		t.Errorf("the stream gets %d", w.Code)
	}
	close(leave)
	waiting.Wait()
	if w := ask(t.Context(), "/nodes"); w.Code != http.StatusOK {
		t.Errorf("when the others have their answers, a request gets %d", w.Code)
	}
}

// On the port for kube-scheduler, strangers learn whether kube-scheduler asks and how current the
// ledger is, but nothing about pods or nodes.
func TestStrangersReadNoReports(t *testing.T) {
	reports := reporting(t)
	server, err := extender.NewServer(extender.Config{Answerer: reports.Answerer, Status: extender.Report(reports.Steering)})
	if err != nil {
		t.Fatal(err)
	}
	get := func(handler http.Handler, path string) (int, map[string]any) {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, nil))
		var fields map[string]any
		_ = json.Unmarshal(w.Body.Bytes(), &fields)
		return w.Code, fields
	}
	code, fields := get(server, "/status?pod=u")
	want := []string{"asked", "gate", "ledger", "started"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(fields))); code != http.StatusOK || diff != "" {
		t.Errorf("status %d, fields (-want +got):\n%s", code, diff)
	}
	// The details would reveal the number of nodes.
	if latest := reports.Observer.Latest(); fields["gate"] != string(latest.Blocked) || latest.Closed() == string(latest.Blocked) {
		t.Errorf("gate %q, want %q without the details of %q", fields["gate"], latest.Blocked, latest.Closed())
	}
	if diff := cmp.Diff(map[string]any{"generation": 0.0}, fields["ledger"]); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
	for _, path := range []string{"/nodes", "/explain/pod/secret/web-1", "/metrics", "/debug/pprof/"} {
		if code, _ := get(server, path); code != http.StatusNotFound {
			t.Errorf("%s: status %d, want 404", path, code)
		}
	}
	pages := Pages{Reports: reports, Metrics: http.NotFoundHandler()}
	if _, fields := get(pages.Handler(t.Context()), "/status"); len(fields["moves"].([]any)) != 1 {
		t.Errorf("reports have %v", fields)
	}
}

// In /status, the replacement of a move is given by its UID, by which scripts find the pod.
func TestStatusNamesReplacementsByUID(t *testing.T) {
	reports, now := reporting(t), time.Now()
	moves := reports.Observer.Ledger()
	moves.Record(now, ledger.Intent{
		Namespace: "ns", Pod: "web-1", PodUID: "uid-1", Owner: cluster.Owner{UID: "rs-9", Kind: "ReplicaSet", Name: "web"}, From: "a", To: "b", TTL: time.Hour,
	})
	moves.Accepted("uid-1", now)
	moves.Leaves("uid-1", now)
	moves.Bound(ledger.Pod{UID: "uid-2", Namespace: "ns", Name: "web-2", OwnerUID: "rs-9", OwnerKind: "ReplicaSet"}, "b", now)
	answer, err := reports.Status(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/status", nil))
	is, ok := answer.(status.Status)
	if err != nil || !ok {
		t.Fatalf("%T, %v", answer, err)
	}
	if !slices.ContainsFunc(is.Moves, func(m status.Move) bool { return m.Namespace == "ns" && m.Replacement == "uid-2" }) {
		t.Errorf("moves %+v, want one with the replacement's UID", is.Moves)
	}
}
