package extender

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

const loadHigh = "node memory load high"

// TestLoad verifies what happens to nodes that are rejected for their load.
func TestLoad(t *testing.T) {
	rejecting := func(load ...string) *fakeAnswerer { return newFakeAnswerer("a", "b", "c").reject(RejectLoad, load...) }
	for name, tc := range map[string]struct {
		config Config
		nodes  string
		want   string
	}{
		"the message is the one that was asked for": {
			config: Config{Answerer: rejecting("a"), LoadMessage: loadHigh}, nodes: `["a","b"]`,
			want: `{"NodeNames":["b"],"FailedAndUnresolvableNodes":{"a":"node memory load high"}}`,
		},
		"otherwise its own": {
			config: Config{Answerer: rejecting("a")}, nodes: `["a","b"]`,
			want: `{"NodeNames":["b"],"FailedAndUnresolvableNodes":{"a":"node load above the policy's limit"}}`,
		},
		"a message with everything in it": {
			config: Config{Answerer: rejecting("a"), LoadMessage: "\"a\\\n\x00<é\xff"}, nodes: `["a","b"]`,
			want: `{"NodeNames":["b"],"FailedAndUnresolvableNodes":{"a":"\"a\\\n\u0000\u003cé\ufffd"}}`,
		},
		"not all nodes of a request, unless enabled": {
			config: Config{Answerer: rejecting("a", "b")}, nodes: `["a","b"]`, want: `{"NodeNames":["a","b"]}`,
		},
		"all nodes of a request": {
			config: Config{Answerer: rejecting("a", "b"), RejectAll: true, LoadMessage: loadHigh}, nodes: `["a","b"]`,
			want: `{"NodeNames":[],"FailedAndUnresolvableNodes":{"a":"node memory load high","b":"node memory load high"}}`,
		},
		"the only node": {
			config: Config{Answerer: rejecting("a"), RejectAll: true, LoadMessage: loadHigh}, nodes: `["a"]`,
			want: `{"NodeNames":[],"FailedAndUnresolvableNodes":{"a":"node memory load high"}}`,
		},
		"with none left, each is reported, whatever the limit": {
			config: Config{Answerer: rejecting("a", "b"), RejectAll: true, LoadMessage: "x", ListedRejects: -1}, nodes: `["a","b"]`,
			want: `{"NodeNames":[],"FailedAndUnresolvableNodes":{"a":"x","b":"x"}}`,
		},
		"a reason that is no limit yields before a request loses all": {
			config: Config{Answerer: rejecting("a").reject(RejectSource, "b").reject(RejectHot, "c"), RejectAll: true, LoadMessage: "x"},
			nodes:  `["a","b","c"]`, want: `{"NodeNames":["b","c"],"FailedAndUnresolvableNodes":{"a":"x"}}`,
		},
		"an unknown node is kept": {
			config: Config{Answerer: rejecting("a"), RejectAll: true, LoadMessage: "x"}, nodes: `["a","?"]`,
			want: `{"NodeNames":["?"],"FailedAndUnresolvableNodes":{"a":"x"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestServer(t, tc.config)
			code, got := post(t, s, "/filter", []byte(`{"Pod":{},"NodeNames":`+tc.nodes+`}`))
			if diff := cmp.Diff(tc.want+"\n", got); code != http.StatusOK || diff != "" {
				t.Errorf("status %d, reply (-want +got):\n%s", code, diff)
			}
			if err := json.Unmarshal([]byte(got), &extenderv1.ExtenderFilterResult{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRejectAllOfWholeNodes verifies that a list of whole nodes can be rejected completely.
func TestRejectAllOfWholeNodes(t *testing.T) {
	s := newTestServer(t, Config{Answerer: newFakeAnswerer("a").reject(RejectLoad, "a"), RejectAll: true, LoadMessage: "x"})
	_, got := post(t, s, "/filter", []byte(`{"Pod":{},"Nodes":{"items":[{"metadata":{"name":"a"}}]}}`))
	if want := `{"Nodes":{"items":[]},"FailedAndUnresolvableNodes":{"a":"x"}}` + "\n"; got != want {
		t.Errorf("reply %q, want %q", got, want)
	}
}

// TestSetLoad verifies that the message and the rule of a new policy apply at once.
func TestSetLoad(t *testing.T) {
	s := newTestServer(t, Config{Answerer: newFakeAnswerer("a").reject(RejectLoad, "a"), RejectAll: true, LoadMessage: "x"})
	body := []byte(`{"Pod":{},"NodeNames":["a"]}`)
	for _, step := range []struct {
		set  func()
		want string
	}{
		{func() {}, `{"NodeNames":[],"FailedAndUnresolvableNodes":{"a":"x"}}`},
		{func() { s.SetLoad("y", true) }, `{"NodeNames":[],"FailedAndUnresolvableNodes":{"a":"y"}}`},
		{func() { s.SetLoad("", true) }, `{"NodeNames":[],"FailedAndUnresolvableNodes":{"a":"node load above the policy's limit"}}`},
		{func() { s.SetLoad("y", false) }, `{"NodeNames":["a"]}`},
	} {
		step.set()
		if _, got := post(t, s, "/filter", body); got != step.want+"\n" {
			t.Errorf("reply %q, want %q", got, step.want)
		}
	}
}

// TestNamesOnly verifies that only the reply to a filter request without node names reports that
// they are missing.
func TestNamesOnly(t *testing.T) {
	s := newTestServer(t, Config{Answerer: newFakeAnswerer("a"), NamesOnly: true})
	for name, tc := range map[string]struct {
		path, body string
		code       int
		err        bool
	}{
		"names":                     {"/filter", `{"Pod":{},"NodeNames":["a"]}`, 200, false},
		"no nodes":                  {"/filter", `{"Pod":{}}`, 200, true},
		"no names":                  {"/filter", `{"Pod":{},"NodeNames":[]}`, 200, true},
		"names that are null":       {"/filter", `{"Pod":{},"Nodes":null,"NodeNames":null}`, 200, true},
		"whole nodes":               {"/filter", `{"Pod":{},"Nodes":{"items":[{"metadata":{"name":"a"}}]}}`, 200, true},
		"whole nodes and names":     {"/filter", `{"Pod":{},"Nodes":{"items":[{"metadata":{"name":"a"}}]},"NodeNames":["a"]}`, 200, false},
		"no pod":                    {"/filter", `{"NodeNames":["a"]}`, 400, false},
		"no JSON":                   {"/filter", `NodeNames`, 400, false},
		"nothing to be prioritized": {"/prioritize", `{"Pod":{}}`, 400, false},
	} {
		t.Run(name, func(t *testing.T) {
			code, got := post(t, s, tc.path, []byte(tc.body))
			var reply extenderv1.ExtenderFilterResult
			if code == http.StatusOK {
				if err := json.Unmarshal([]byte(got), &reply); err != nil {
					t.Fatal(err)
				}
			}
			if code != tc.code || (reply.Error != "") != tc.err {
				t.Errorf("status %d, error %q, want %d and an error: %t", code, reply.Error, tc.code, tc.err)
			}
		})
	}
}

// TestPages verifies that additional pages are served and do not affect the others.
func TestPages(t *testing.T) {
	s := newTestServer(t, Config{Answerer: newFakeAnswerer("a"), Pages: map[string]http.Handler{"/": Text("hello\n")}})
	for name, tc := range map[string]struct {
		method, path, want string
		code               int
	}{
		"an additional page":     {http.MethodGet, "/", "hello\n", 200},
		"healthcheck":            {http.MethodGet, "/healthcheck", "OK\n", 200},
		"healthcheck is read":    {http.MethodPost, "/healthcheck", "use GET or HEAD\n", 405},
		"livez":                  {http.MethodGet, "/livez", "ok\n", 200},
		"no page for every path": {http.MethodGet, "/x", "no such path: \"/x\"\n", 404},
	} {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), tc.method, tc.path, strings.NewReader("")))
			if got := w.Body.String(); w.Code != tc.code || got != tc.want {
				t.Errorf("status %d with %q, want %d with %q", w.Code, got, tc.code, tc.want)
			}
		})
	}
}
