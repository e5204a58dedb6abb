package apifault

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"
)

// The first matching rule applies, for the number of requests that it sets.
func TestRules(t *testing.T) {
	get := func(verb, resource, subresource string) *request.RequestInfo {
		return &request.RequestInfo{Verb: verb, Resource: resource, Subresource: subresource}
	}
	tests := map[string]struct {
		rules []Rule
		rolls []int
		asked []*request.RequestInfo
		want  []Kind
	}{
		"no rule passes": {asked: []*request.RequestInfo{get("list", "pods", "")}, want: []Kind{Pass}},
		"by verb": {
			rules: []Rule{{Verbs: []string{"list", "get"}, Effect: OfKind(Reset)}},
			asked: []*request.RequestInfo{get("list", "pods", ""), get("watch", "pods", ""), get("get", "nodes", "")},
			want:  []Kind{Reset, Pass, Reset},
		},
		"by resource, of which a subresource is another": {
			rules: []Rule{{Resources: []string{"pods/eviction"}, Effect: OfKind(Lost)}},
			asked: []*request.RequestInfo{get("create", "pods", "eviction"), get("create", "pods", "")},
			want:  []Kind{Lost, Pass},
		},
		"by namespace, but for one object": {
			rules: []Rule{{Namespaces: []string{"shop"}, Except: []string{"old"}, Effect: OfKind(Silent)}},
			asked: []*request.RequestInfo{
				{Verb: "patch", Resource: "pods", Namespace: "shop", Name: "new"}, {Verb: "patch", Resource: "pods", Namespace: "shop", Name: "old"},
				{Verb: "patch", Resource: "pods", Namespace: "vault", Name: "new"},
			},
			want: []Kind{Silent, Pass, Pass},
		},
		"twice, and then the next rule": {
			rules: []Rule{{Times: 2, Effect: OfKind(Reset)}, {Effect: OfKind(Silent)}},
			asked: []*request.RequestInfo{get("list", "pods", ""), get("list", "pods", ""), get("list", "pods", "")},
			want:  []Kind{Reset, Reset, Silent},
		},
		"by lot": {
			rules: []Rule{{Percent: 30, Effect: OfKind(Reset)}},
			rolls: []int{29, 30, 0},
			asked: []*request.RequestInfo{get("list", "pods", ""), get("list", "pods", ""), get("list", "pods", "")},
			want:  []Kind{Reset, Pass, Reset},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := rules{all: tc.rules, roll: func() int {
				next := tc.rolls[0]
				tc.rolls = tc.rolls[1:]
				return next
			}}
			var got []Kind
			for _, info := range tc.asked {
				got = append(got, r.effect(info).Kind)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("effects (-want +got):\n%s", diff)
			}
		})
	}
}

// site is an API server with four paths, behind a proxy.
type site struct {
	*Proxy
	client  *http.Client
	created atomic.Int64
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/nodes", func(w http.ResponseWriter, r *http.Request) {
		if !r.URL.Query().Has("watch") {
			fmt.Fprint(w, "nodes for ", r.Header.Get("Authorization"))
			return
		}
		fmt.Fprintln(w, "an event")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("GET /api/v1/pods", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, `{"type":"ERROR","object":{"message":"too old resource version: 1 (2)","code":410}}`)
	})
	mux.HandleFunc("POST /api/v1/namespaces/shop/pods/hog/eviction", func(http.ResponseWriter, *http.Request) { s.created.Add(1) })
	behind := httptest.NewUnstartedServer(mux)
	behind.EnableHTTP2 = true
	behind.StartTLS()
	t.Cleanup(behind.Close)

	certificate := behind.TLS.Certificates[0]
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	config := Config{
		Target:   &rest.Config{Host: behind.URL, TLSClientConfig: rest.TLSClientConfig{CAData: authority}},
		CertFile: filepath.Join(t.TempDir(), "crt"), KeyFile: filepath.Join(t.TempDir(), "key"),
	}
	for path, content := range map[string][]byte{config.CertFile: authority, config.KeyFile: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if s.Proxy, err = Start(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(behind.Certificate())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}
	s.client = &http.Client{Transport: transport}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// answer is a response to a client; its code is 0 if there was no response.
type answer struct {
	code, http       int
	body, retryAfter string
}

func (s *site) ask(ctx context.Context, t *testing.T, method, path string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, s.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer mine")
	response, err := s.client.Do(r)
	if err != nil {
		return answer{}
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return answer{code: response.StatusCode, http: response.ProtoMajor, body: string(body), retryAfter: response.Header.Get("Retry-After")}
}

// Rules affect requests as intended over HTTP/2, and the client's credentials reach the API server.
func TestEffects(t *testing.T) {
	const nodes, eviction = "/api/v1/nodes", "/api/v1/namespaces/shop/pods/hog/eviction"
	tests := map[string]struct {
		effect       Effect
		method, path string
		code         int
		body         string
		done         int64
	}{
		"pass":        {method: http.MethodGet, path: nodes, code: 200, body: "nodes for Bearer mine"},
		"late":        {effect: SlowBy(time.Millisecond), method: http.MethodGet, path: nodes, code: 200, body: "nodes for Bearer mine"},
		"reset":       {effect: OfKind(Reset), method: http.MethodPost, path: eviction},
		"lost":        {effect: OfKind(Lost), method: http.MethodPost, path: eviction, done: 1},
		"throttled":   {effect: WithStatus(429, time.Second), method: http.MethodPost, path: eviction, code: 429, body: "Too many requests, please try again later.\n"},
		"too old":     {effect: WithStatus(410, 0), method: http.MethodGet, path: nodes, code: 410},
		"unavailable": {effect: WithStatus(503, 0), method: http.MethodGet, path: nodes, code: 503},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.Apply(Rule{Effect: tc.effect})
			got := s.ask(t.Context(), t, tc.method, tc.path)
			if got.code != tc.code || tc.body != "" && got.body != tc.body {
				t.Errorf("answered %d %q, want %d %q", got.code, got.body, tc.code, tc.body)
			}
			if (got.retryAfter == "1") != (tc.effect.RetryAfter > 0) {
				t.Errorf("Retry-After is %q", got.retryAfter)
			}
			if got.http != 2 && tc.code != 0 {
				t.Errorf("answered by HTTP/%d, want HTTP/2", got.http)
			}
			if got := s.created.Load(); got != tc.done {
				t.Errorf("the API server did it %d times, want %d", got, tc.done)
			}
			if got := s.Seen(tc.effect.Kind); got != 1 {
				t.Errorf("seen %d times, want once", got)
			}
		})
	}
}

// A watch streams until it is closed. A client notices a "too old resource version" response.
func TestWatches(t *testing.T) {
	s := newSite(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+"/api/v1/nodes?watch=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	events := bufio.NewReader(response.Body)
	if event, err := events.ReadString('\n'); event != "an event\n" || err != nil {
		t.Fatalf("event %q, %v", event, err)
	}
	if got := s.CloseWatches(); got != 1 {
		t.Errorf("%d watches closed, want 1", got)
	}
	if event, err := events.ReadString('\n'); err == nil {
		t.Errorf("event %q, want the end", event)
	}
	s.ask(t.Context(), t, http.MethodGet, "/api/v1/pods?watch=1")
	if got := s.TooOld(); got != 1 {
		t.Errorf("%d watches were too old, want 1", got)
	}
}

// During a partition, requests hang until it ends. Refused connections fail at once. Afterwards the
// address is still the same.
func TestPartitionAndRefusal(t *testing.T) {
	s := newSite(t)
	s.Partition(true)
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got := s.ask(short, t, http.MethodGet, "/api/v1/nodes"); got.code != 0 || !errors.Is(short.Err(), context.DeadlineExceeded) {
		t.Errorf("answered %d in a partition, %v", got.code, short.Err())
	}
	s.Partition(false)
	if got := s.ask(t.Context(), t, http.MethodGet, "/api/v1/nodes"); got.code != http.StatusOK {
		t.Errorf("answered %d after the partition", got.code)
	}
	if err := s.Refuse(); err != nil {
		t.Fatal(err)
	}
	if got := s.ask(t.Context(), t, http.MethodGet, "/api/v1/nodes"); got.code != 0 {
		t.Errorf("answered %d while connections are refused", got.code)
	}
	if err := s.Accept(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.ask(t.Context(), t, http.MethodGet, "/api/v1/nodes"); got.code != http.StatusOK {
		t.Errorf("answered %d after the refusal", got.code)
	}
}
