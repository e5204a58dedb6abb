package serve

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/evenkeel/evenkeel/scorer/extender"
)

// reviewer is an API server that accepts two tokens and allows one of them to get /metrics.
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

// /metrics is served to clients that the API server authorizes, and probes to everyone.
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

// Without /metrics, probes are still answered.
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

// With a certificate of the process's own, a page is served over HTTPS and not over HTTP. Failed
// attempts are not written to the process's log.
func TestListenWithACertificate(t *testing.T) {
	secured, err := SelfSigned("evenkeel")
	if err != nil {
		t.Fatal(err)
	}
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	var logged bytes.Buffer
	log.SetOutput(&logged)
	defer log.SetOutput(os.Stderr)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- extender.Listen(ctx, address, "probes", Probes(NewHealth(time.Now), nil), secured) }()
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
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if logged.Len() > 0 {
		t.Errorf("it logs %q", logged.String())
	}
}

// Clients with unknown tokens do not keep scrapers out, however many requests they send: neither a
// known scraper whose token has changed or must be reviewed again, nor a new one.
func TestStrangersStarveNoScraper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := &rest.Config{Host: "http://api", Transport: reviews(func(token string) bool { return strings.HasPrefix(token, "scraper") })}
		handler, err := Authorized(config, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		if err != nil {
			t.Fatal(err)
		}
		get := func(ctx context.Context, client, token string) int {
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/metrics", nil)
			r.RemoteAddr = client + ":999"
			r.Header.Set("Authorization", "Bearer "+token)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			return w.Code
		}
		scrape := func(client, token string) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // the timeout of Prometheus
			defer cancel()
			if code := get(ctx, client, token); code != http.StatusOK {
				t.Errorf("%s with %q: status %d", client, token, code)
			}
		}
		scrape("10.0.0.1", "scraper")
		ctx, stop := context.WithCancel(t.Context())
		var strangers sync.WaitGroup
		for i := range 40 {
			strangers.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					impatient, leave := context.WithTimeout(ctx, time.Duration(i)*50*time.Millisecond)
					get(impatient, fmt.Sprint("10.0.1.", i/10), fmt.Sprint("made-up-", i, "-", n))
					leave()
					time.Sleep(200 * time.Millisecond)
				}
			})
		}
		for range 10 {
			time.Sleep(15 * time.Second)
			scrape("10.0.0.1", "scraper")
		}
		scrape("10.0.0.1", "scraper-rotated")
		scrape("10.0.0.2", "scraper-new")
		stop()
		strangers.Wait()
		time.Sleep(time.Minute) // abandoned lookups have ended by then
	})
}

// reviews is an in-memory API server that accepts some tokens and allows them everything.
type reviews func(token string) bool

// RoundTrip implements http.RoundTripper.
func (known reviews) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var answer any = authorizationv1.SubjectAccessReview{Status: authorizationv1.SubjectAccessReviewStatus{Allowed: true}}
	if strings.HasSuffix(r.URL.Path, "/tokenreviews") {
		var review authenticationv1.TokenReview
		if err := json.Unmarshal(body, &review); err != nil {
			return nil, err
		}
		review.Status.Authenticated, review.Status.User.Username = known(review.Spec.Token), review.Spec.Token
		answer = review
	}
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// A review that the API server does not answer ends on its own, even if somebody waits for it.
func TestReviewsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		known := reviews(func(string) bool { return true })
		config := &rest.Config{Host: "http://api", Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/tokenreviews") {
				return known.RoundTrip(r)
			}
			<-r.Context().Done()
			return nil, r.Context().Err()
		})}
		handler, err := Authorized(config, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		if err != nil {
			t.Fatal(err)
		}
		ctx, giveUp := context.WithTimeout(t.Context(), time.Hour)
		defer giveUp()
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/metrics", nil)
		r.Header.Set("Authorization", "Bearer scraper")
		began, w := time.Now(), httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if took := time.Since(began); took > 2*reviewTimeout || w.Code == http.StatusOK {
			t.Errorf("status %d after %v", w.Code, took)
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
