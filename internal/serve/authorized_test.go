package serve

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"
)

// reviewer is an API server that knows two tokens and lets one of them get
// /metrics.
func reviewer(t *testing.T, reviews *atomic.Int64) *rest.Config {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reviews.Add(1)
		body, _ := io.ReadAll(r.Body)
		var answer any
		switch {
		case strings.HasSuffix(r.URL.Path, "/tokenreviews"):
			var review authenticationv1.TokenReview
			_ = json.Unmarshal(body, &review)
			token := review.Spec.Token
			if token == "unanswered" {
				http.Error(w, "not now", http.StatusForbidden)
				return
			}
			review.Status.Authenticated = token == "scraper" || token == "tenant"
			review.Status.User.Username = token
			answer = review
		case strings.HasSuffix(r.URL.Path, "/subjectaccessreviews"):
			var review authorizationv1.SubjectAccessReview
			_ = json.Unmarshal(body, &review)
			what := review.Spec.NonResourceAttributes
			review.Status.Allowed = review.Spec.User == "scraper" && what != nil && *what == authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"}
			answer = review
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

// /metrics are for those whom the API server lets get them; probes for everyone.
func TestAuthorizedMetrics(t *testing.T) {
	var reviews atomic.Int64
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "figures") })
	metrics, err := Authorized(reviewer(t, &reviews), page)
	if err != nil {
		t.Fatal(err)
	}
	health := NewHealth(time.Now)
	handler := Probes(health, metrics)
	for name, tc := range map[string]struct {
		path, header string
		want         int
	}{
		"a scraper":                   {path: "/metrics", header: "Bearer scraper", want: 200},
		"a tenant's token":            {path: "/metrics", header: "Bearer tenant", want: 403},
		"an unknown token":            {path: "/metrics", header: "Bearer made-up", want: 401},
		"no token":                    {path: "/metrics", want: 401},
		"another kind of credentials": {path: "/metrics", header: "Basic c2NyYXBlcjpzY3JhcGVy", want: 401},
		"no answer":                   {path: "/metrics", header: "Bearer unanswered", want: 401},
		"a probe":                     {path: "/livez", want: 200},
		"an early probe":              {path: "/readyz", want: 503},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, tc.path, nil)
			if tc.header != "" {
				r.Header.Set("Authorization", tc.header)
			}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != tc.want || (w.Body.String() == "figures") != (tc.path == "/metrics" && tc.want == 200) {
				t.Errorf("status %d with %q, want %d", w.Code, w.Body, tc.want)
			}
		})
	}
	before := reviews.Load()
	for range 20 {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
		r.Header.Set("Authorization", "Bearer scraper")
		handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	if again := reviews.Load() - before; again != 0 {
		t.Errorf("%d reviews of a client that was reviewed before", again)
	}
}

// Without /metrics probes are answered all the same.
func TestProbesAlone(t *testing.T) {
	handler := Probes(NewHealth(time.Now), nil)
	for path, want := range map[string]int{"/livez": 200, "/healthz": 200, "/metrics": 404} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if w.Code != want {
			t.Errorf("%s: status %d, want %d", path, w.Code, want)
		}
	}
}

// Where access is authorized everything is served over HTTPS, and nothing over
// HTTP.
func TestMonitoredOverHTTPS(t *testing.T) {
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	var reviews atomic.Int64
	m := Monitored{Address: address, Access: AccessAuthorized, Health: NewHealth(time.Now), Registry: NewRegistry(), REST: reviewer(t, &reviews)}
	go func() { done <- m.Run(ctx) }()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	get := func(url string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(r)
		if err != nil {
			return 0
		}
		defer func() { _ = response.Body.Close() }()
		return response.StatusCode
	}
	for deadline := time.Now().Add(10 * time.Second); get("https://"+address+"/livez") != http.StatusOK; {
		if time.Now().After(deadline) {
			t.Fatal("it does not answer")
		}
	}
	if got := get("http://" + address + "/livez"); got == http.StatusOK {
		t.Error("it answers over HTTP too")
	}
	if got := get("https://" + address + "/metrics"); got != http.StatusUnauthorized {
		t.Errorf("/metrics without a token: status %d, want 401", got)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
