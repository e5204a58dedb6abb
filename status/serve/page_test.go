package serve

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/servertime"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/status"
	"github.com/evenkeel/evenkeel/status/announce"
	"github.com/evenkeel/evenkeel/status/live"
	"github.com/evenkeel/evenkeel/status/page"
)

// shown is a process that observes a cluster with a burning and an idle node and a move in flight.
func shown(t *testing.T) (*Pages, *observer.Observer) {
	t.Helper()
	f := &fleet{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), used: map[string]cluster.Amounts{"burning": {9660, 40 * gib}, "idle": {1000, 20 * gib}}}
	o := f.watching(t)
	for range 6 {
		f.now = f.now.Add(15 * time.Second)
		o.Sample(t.Context())
	}
	o.Ledger().Record(f.now, ledger.Intent{
		Namespace: "shop", Pod: "a", PodUID: "a", Owner: cluster.Owner{UID: "rs", Kind: "ReplicaSet", Name: "web"}, From: "burning", To: "idle", TTL: time.Minute,
	})
	explainer := live.New(o, nil, nil, &live.Terms{})
	clock := servertime.New(func() time.Time { return f.now })
	return &Pages{
		Reports: &Reports{Observer: o, Policies: &announce.Policies{}, Begun: f.now, Clock: clock, Explainer: explainer},
		Metrics: http.NotFoundHandler(),
	}, o
}

// get requests a path with the given headers.
func get(t *testing.T, handler http.Handler, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

func body(t *testing.T, response *httptest.ResponseRecorder) string {
	t.Helper()
	reader := io.Reader(response.Body)
	if response.Header().Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(reader)
		if err != nil {
			t.Fatal(err)
		}
		reader = unpacked
	}
	content, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// Browsers get HTML pages. Other clients get JSON if they ask for it. A page may load only its own
// files.
func TestPageIsNegotiated(t *testing.T) {
	pages, _ := shown(t)
	handler := pages.Handler(t.Context())
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	cases := map[string]struct {
		path, accept string
		code         int
		kind, has    string
	}{
		"the page":                      {"/", browser, 200, "text/html; charset=utf-8", "<h1>"},
		"the page, whatever":            {"/", "*/*", 200, "text/html; charset=utf-8", "burning is hot"},
		"its data":                      {"/", "application/json", 200, "application/json", `"kind":"Page"`},
		"its style":                     {"/page/page.css", "text/css", 200, "text/css; charset=utf-8", "prefers-color-scheme"},
		"its script":                    {"/page/page.js", "*/*", 200, "text/javascript; charset=utf-8", "EventSource"},
		"its icon":                      {"/page/icon.svg", "image/*", 200, "image/svg+xml", "<svg"},
		"no other file":                 {"/page/page.html", browser, 404, "text/plain; charset=utf-8", "404"},
		"a node, for a browser":         {"/explain/node/burning", browser, 200, "text/html; charset=utf-8", "shop/b"},
		"whose requests are wrong":      {"/requests", "", 200, "application/json", `"nodes":[{"name":"burning","usedMilliCores":9660,"requestedMilliCores":2000`},
		"a node, for a command":         {"/explain/node/burning", "", 200, "application/json", `"summary":"burning is hot`},
		"a pod, for a browser":          {"/explain/pod/shop/b", browser, 200, "text/html; charset=utf-8", "shop/b"},
		"no such node, for a browser":   {"/explain/node/nope", browser, 404, "text/html; charset=utf-8", "is not known"},
		"no such node, for a command":   {"/explain/node/nope", "", 404, "text/plain; charset=utf-8", "is not known"},
		"nothing to explain, a browser": {"/explain/", browser, 404, "text/html; charset=utf-8", "no such path"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			response := get(t, handler, tc.path, "Accept", tc.accept)
			text := body(t, response)
			if response.Code != tc.code || response.Header().Get("Content-Type") != tc.kind || !strings.Contains(text, tc.has) {
				t.Errorf("status %d, %s, without %q:\n%.2000s", response.Code, response.Header().Get("Content-Type"), tc.has, text)
			}
			guarded := response.Header().Get("Content-Security-Policy") == page.Policy
			if html := strings.HasPrefix(tc.kind, "text/html"); html != guarded {
				t.Errorf("the Content-Security-Policy is %q", response.Header().Get("Content-Security-Policy"))
			}
			packed := body(t, get(t, handler, tc.path, "Accept", tc.accept, "Accept-Encoding", "gzip, br"))
			if diff := cmp.Diff(text, packed); diff != "" {
				t.Errorf("compressed (-plain +compressed):\n%s", diff)
			}
		})
	}
}

// The first response has the most important content, and tells browsers without a script where to
// load the rest.
func TestFirstAnswerIsBrief(t *testing.T) {
	pages, _ := shown(t)
	handler := pages.Handler(t.Context())
	brief, whole := body(t, get(t, handler, "/", "Accept", "text/html")), body(t, get(t, handler, "/?page=1", "Accept", "text/html"))
	for text, in := range map[string][2]bool{
		"burning is hot</a></h1>": {true, true}, "Usage known": {true, true}, `id="explained"`: {true, true},
		`id="map"`: {false, true}, `id="nodes"`: {false, true},
		`<noscript><meta http-equiv="refresh" content="0; url=/?page=1"></noscript>`: {true, false},
	} {
		if got := [2]bool{strings.Contains(brief, text), strings.Contains(whole, text)}; got != in {
			t.Errorf("%s is in the first answer, and in the whole page: %v, want %v", text, got, in)
		}
	}
}

// The page's values are those of /status and /nodes.
func TestPageAgreesWithStatus(t *testing.T) {
	pages, _ := shown(t)
	handler := pages.Handler(t.Context())
	var made page.Page
	var reported status.Status
	var nodes []status.NodeStatus
	for path, value := range map[string]any{"/": &made, "/status": &reported, "/nodes": &nodes} {
		if err := json.Unmarshal([]byte(body(t, get(t, handler, path, "Accept", "application/json"))), value); err != nil {
			t.Fatal(err)
		}
	}
	if made.Observed.Format(time.RFC3339) != reported.Observed || made.ReadyNodes != reported.ReadyNodes || made.FreshNodes != reported.FreshNodes {
		t.Errorf("observed %v, %d of %d ready nodes known; status: %s, %d of %d",
			made.Observed, made.FreshNodes, made.ReadyNodes, reported.Observed, reported.FreshNodes, reported.ReadyNodes)
	}
	type told struct {
		State       string
		CPU, Memory *float64
		Pods        int
	}
	want, got := map[string]told{}, map[string]told{}
	for i := range nodes {
		n := &nodes[i]
		want[n.Name] = told{n.State, n.CPU.UsedPercent, n.Memory.UsedPercent, n.Pods}
	}
	for _, n := range made.Nodes {
		got[n.Name] = told{n.State, n.CPU, n.Memory, n.Pods}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(got) != 3 {
		t.Errorf("nodes (-nodes +page):\n%s", diff)
	}
	var moves []status.Move
	for _, m := range made.Moves {
		moves = append(moves, m.Move)
	}
	if diff := cmp.Diff(reported.Moves, moves); diff != "" {
		t.Errorf("moves (-status +page):\n%s", diff)
	}
	source := made.Sources[0]
	if source.Name != reported.Sources[0].Name || source.Nodes != reported.Sources[0].Chosen || strings.Join(made.Evicting.Stopped, "; ") != reported.GateDetail {
		t.Errorf("sources %+v, stopped %q; status: %+v, %q", made.Sources, made.Evicting.Stopped, reported.Sources, reported.GateDetail)
	}
	const by, action = "cpu avg_5m 96.6% is above the evict line 65%", "1 pod is on the way off it: shop/a to idle."
	if diff := cmp.Diff(page.Headline{Node: "burning", Text: "burning is hot", By: by, Action: action}, made.Headline); diff != "" {
		t.Errorf("headline (-want +got):\n%s", diff)
	}
}

// A process that has not read any usage yet has a page that says so.
func TestPageBeforeTheFirstReading(t *testing.T) {
	f := &fleet{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	o := f.watching(t)
	explainer := live.New(o, nil, nil, &live.Terms{})
	pages := &Pages{Metrics: http.NotFoundHandler(), Reports: &Reports{
		Observer: o, Policies: &announce.Policies{}, Clock: servertime.New(time.Now), Explainer: explainer,
	}}
	handler := pages.Handler(t.Context())
	// If something cannot be explained at the moment, the response is a page as well.
	if response := get(t, handler, "/explain/node/burning", "Accept", "text/html"); response.Code != http.StatusServiceUnavailable {
		t.Errorf("status %d", response.Code)
	} else if text := body(t, response); !strings.Contains(text, "It cannot be explained now: usage has not been read yet") {
		t.Errorf("the explanation is %s", text)
	}
	text := body(t, get(t, handler, "/?page=1", "Accept", "text/html"))
	for _, want := range []string{"No usage is known", "No nodes are known yet.", "nothing observed yet"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}
