package extender

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// hostileBodies are requests that must be refused, each with a part of the error message.
var hostileBodies = map[string]struct {
	body, message string
}{
	"nothing":                       {"", "empty"},
	"white space":                   {" \n\t ", "the input ends"},
	"a NUL byte":                    {"\x00", "where an object"},
	"no JSON":                       {"hello", "where an object"},
	"a list":                        {"[]", "where an object"},
	"null":                          {"null", "no pod"},
	"an empty object":               {"{}", "no pod"},
	"no pod":                        {`{"NodeNames":["a"]}`, "no pod"},
	"null pod":                      {`{"Pod":null,"NodeNames":["a"]}`, "no pod"},
	"pod is a string":               {`{"Pod":"x","NodeNames":["a"]}`, "Pod"},
	"no nodes":                      {`{"Pod":{}}`, "no nodes"},
	"null nodes":                    {`{"Pod":{},"Nodes":null,"NodeNames":null}`, "no nodes"},
	"empty names":                   {`{"Pod":{},"NodeNames":[]}`, "no nodes"},
	"empty list":                    {`{"Pod":{},"Nodes":{"items":[]}}`, "no nodes"},
	"names are a string":            {`{"Pod":{},"NodeNames":"a"}`, "NodeNames"},
	"names are numbers":             {`{"Pod":{},"NodeNames":[1]}`, "NodeNames"},
	"a null name":                   {`{"Pod":{},"NodeNames":["a",null]}`, "NodeNames"},
	"node name is a number":         {`{"Pod":{},"Nodes":{"items":[{"metadata":{"name":1}}]}}`, "Nodes"},
	"node is a string":              {`{"Pod":{},"Nodes":{"items":["a"]}}`, "Nodes"},
	"truncated":                     {`{"Pod":{},"NodeNames":["a"`, "ends"},
	"truncated string":              {`{"Pod":{},"NodeNames":["a`, "ends"},
	"truncated escape":              {`{"Pod":{},"NodeNames":["\u12`, "escape"},
	"truncated literal":             {`{"Pod":{},"x":tru`, "true"},
	"trailing garbage":              {`{"Pod":{},"NodeNames":["a"]}x`, "the end"},
	"a second request":              {`{"Pod":{},"NodeNames":["a"]}{}`, "the end"},
	"trailing comma":                {`{"Pod":{},"NodeNames":["a",]}`, "NodeNames"},
	"trailing comma in an object":   {`{"Pod":{},"NodeNames":["a"],}`, "a string"},
	"missing comma":                 {`{"Pod":{} "NodeNames":["a"]}`, "comma"},
	"missing colon":                 {`{"Pod"{},"NodeNames":["a"]}`, "colon"},
	"mismatched brackets":           {`{"Pod":{},"x":[{]}],"NodeNames":["a"]}`, "offset"},
	"control character in a string": {"{\"Pod\":{},\"NodeNames\":[\"a\nb\"]}", "printable"},
	"bad escape":                    {`{"Pod":{},"NodeNames":["\x41"]}`, "escape"},
	"bad number":                    {`{"Pod":{},"x":01,"NodeNames":["a"]}`, "offset"},
	"lone minus":                    {`{"Pod":{},"x":-,"NodeNames":["a"]}`, "digit"},
	"number without fraction":       {`{"Pod":{},"x":1.,"NodeNames":["a"]}`, "digit"},
	"repeated pod":                  {`{"Pod":{},"pod":{},"NodeNames":["a"]}`, "twice"},
	"repeated names":                {`{"Pod":{},"NodeNames":["a"],"NodeNames":["b"]}`, "twice"},
	"repeated containers":           {`{"Pod":{"spec":{"containers":[],"containers":[]}},"NodeNames":["a"]}`, "twice"},
	"bad quantity":                  {`{"Pod":{"spec":{"containers":[{"resources":{"requests":{"cpu":"lots"}}}]}},"NodeNames":["a"]}`, "quantity"},
	"quantity that takes minutes":   {`{"Pod":{"spec":{"overhead":{"cpu":"1e-999999999"}}},"NodeNames":["a"]}`, "too long"},
	"quantity is an object":         {`{"Pod":{"spec":{"overhead":{"cpu":{}}}},"NodeNames":["a"]}`, "quantity"},
	"controller is a string":        {`{"Pod":{"metadata":{"ownerReferences":[{"controller":"yes"}]}},"NodeNames":["a"]}`, "controller"},
	"bottomless lists":              {`{"Pod":{"x":` + strings.Repeat("[", 100_000), "deeper"},
	"bottomless objects":            {`{"Pod":` + strings.Repeat(`{"a":`, 100_000), "deeper"},
	"more nodes than there are": {
		`{"Pod":{},"NodeNames":[""` + strings.Repeat(`,""`, maxNodes) + `]}`, "more than",
	},
}

// TestHostileBodies verifies that both verbs refuse a nonsensical request with status 400 and one
// line of explanation.
func TestHostileBodies(t *testing.T) {
	s := newTestServer(t, Config{Answerer: newFakeAnswerer("a", "b")})
	for name, tc := range hostileBodies {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{"/filter", "/prioritize"} {
				code, reply := post(t, s, path, []byte(tc.body))
				if code != http.StatusBadRequest {
					t.Errorf("%s: status %d with %q, want 400", path, code, reply)
				}
				if !strings.Contains(reply, tc.message) || strings.Count(reply, "\n") != 1 || len(reply) > 400 {
					t.Errorf("%s: message %q, want one line with %q", path, reply, tc.message)
				}
			}
		})
	}
}

// TestEveryCutAndFlip verifies on one request that no truncation is accepted,
// that no changed byte causes a panic, and that every 200 response keeps at
// least one node.
func TestEveryCutAndFlip(t *testing.T) {
	s := newTestServer(t, Config{Answerer: newFakeAnswerer("a", "b").reject(RejectHot, "a", "b")})
	body := []byte(`{"Pod":{"metadata":{"name":"p"},"spec":{"containers":[{"resources":{"requests":{"cpu":"1.5"}}}]}},` +
		`"Nodes":null,"NodeNames":["a","b"]}`)
	for i := range body {
		if code, reply := post(t, s, "/filter", body[:i]); code != http.StatusBadRequest {
			t.Errorf("cut at %d: status %d with %q", i, code, reply)
		}
		for _, c := range []byte("\x00\"\\{}[],:0n\xff ") {
			flipped := bytes.Clone(body)
			flipped[i] = c
			code, reply := post(t, s, "/filter", flipped)
			switch code {
			case http.StatusBadRequest:
			case http.StatusOK:
				var got struct{ NodeNames []string }
				if err := json.Unmarshal([]byte(reply), &got); err != nil || len(got.NodeNames) == 0 {
					t.Errorf("%q: reply %q: %v", flipped, reply, err)
				}
			default:
				t.Errorf("%q: status %d with %q", flipped, code, reply)
			}
		}
	}
}

// TestTooLarge verifies that a client that sends 50 MB receives a 413, whether
// or not it announces the length.
func TestTooLarge(t *testing.T) {
	server := httptest.NewServer(newTestServer(t, Config{Answerer: newFakeAnswerer("a")}))
	t.Cleanup(server.Close)
	const size = 50 << 20
	for name, length := range map[string]int64{"announced": size, "in chunks": -1} {
		t.Run(name, func(t *testing.T) {
			body := io.LimitReader(endless{}, size)
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/filter", body)
			if err != nil {
				t.Fatal(err)
			}
			r.ContentLength = length
			resp, err := server.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			if resp.StatusCode != http.StatusRequestEntityTooLarge {
				t.Errorf("status %d, want 413", resp.StatusCode)
			}
		})
	}
}

// endless yields spaces indefinitely.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// TestBrokenBody verifies that a request that breaks off only causes an error.
func TestBrokenBody(t *testing.T) {
	s := newTestServer(t, Config{Answerer: newFakeAnswerer("a")})
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/filter", brokenReader{})
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != http.StatusBadRequest {
		t.Errorf("status %d, want 400", w.Code)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

// TestMethodsAndPaths verifies what is served at which path, and that all other requests are
// refused.
func TestMethodsAndPaths(t *testing.T) {
	s := newTestServer(t, Config{Answerer: newFakeAnswerer("a")})
	body := `{"Pod":{},"NodeNames":["a"]}`
	for _, tc := range []struct {
		method, path string
		code         int
		allow        string
	}{
		{http.MethodPost, "/filter", 200, ""},
		{http.MethodPost, "/some/prefix/filter", 200, ""},
		{http.MethodPost, "//filter", 200, ""},
		{http.MethodPost, "/x/prioritize", 200, ""},
		{http.MethodGet, "/filter", 405, "POST"},
		{http.MethodPut, "/x/prioritize", 405, "POST"},
		{http.MethodPost, "/", 404, ""},
		{http.MethodPost, "/filter/", 404, ""},
		{http.MethodPost, "/filters", 404, ""},
		{http.MethodPost, "/bind", 404, ""},
		{http.MethodGet, "/nodes", 404, ""}, // no report was configured
		{http.MethodGet, "/livez", 200, ""},
		{http.MethodGet, "/readyz", 200, ""},
		{http.MethodGet, "/healthz", 200, ""},
		{http.MethodPost, "/livez", 405, "GET, HEAD"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), tc.method, "http://host"+tc.path, strings.NewReader(body))
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if got := fmt.Sprint(w.Code, w.Header().Get("Allow")); got != fmt.Sprint(tc.code, tc.allow) {
			t.Errorf("%s %s: %s, want %d %s", tc.method, tc.path, got, tc.code, tc.allow)
		}
	}
}

func newTestServer(t testing.TB, config Config) *Server {
	t.Helper()
	s, err := NewServer(config)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// post sends a request to the handler and returns the status and the reply.
func post(t testing.TB, h http.Handler, path string, body []byte) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, bytes.NewReader(body))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}
