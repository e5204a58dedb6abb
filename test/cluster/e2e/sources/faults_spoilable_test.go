package sources

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/fault"
	"github.com/evenkeel/evenkeel/test/cluster/faultproxy"
	"github.com/evenkeel/evenkeel/test/cluster/prometheus"
)

// spoilable is a Prometheus whose responses can be corrupted.
type spoilable struct {
	url    string
	server *prometheus.Server
	proxy  *faultproxy.Proxy

	mu      sync.Mutex
	current fault.Fault
}

// startSpoilable starts a Prometheus that already has ten minutes of data about the nodes.
func startSpoilable(t *testing.T, f *stage.Fixture) *spoilable {
	t.Helper()
	server, err := prometheus.Start(t.Context(), prometheus.Config{
		Cluster: f.Cluster, Dir: t.TempDir(), ScrapeInterval: 2 * time.Second, History: 10 * time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := faultproxy.Start(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	s := &spoilable{server: server, proxy: proxy}
	front := httptest.NewServer(s.handler(t))
	s.url = front.URL
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
		for _, stop := range []func() error{proxy.Stop, server.Stop} {
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
	})
	return s
}

func (s *spoilable) setFault(f fault.Fault) {
	s.mu.Lock()
	s.current = f
	s.mu.Unlock()
	s.proxy.SetFault(f)
}

// ofValues are the faults that change values, and would therefore also change times.
var ofValues = []fault.Kind{fault.NaN, fault.Negative, fault.Tenfold, fault.Hundredth, fault.Duplicate}

// handler forwards requests to the proxy that injects faults. Queries for the times of measurement
// return these times as values, so faults of values do not apply to them. Faults of timestamps do.
func (s *spoilable) handler(t *testing.T) http.Handler {
	t.Helper()
	spoilt, truth := passOn(t, s.proxy.URL()), passOn(t, s.server.URL())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		current := s.current
		s.mu.Unlock()
		to := spoilt
		if query := r.PostFormValue("query"); strings.HasPrefix(query, "timestamp(") {
			if slices.Contains(ofValues, current.Kind) {
				to = truth
			}
			r.PostForm.Set("query", fmt.Sprintf("%s + %d", query, int(current.Shift.Seconds())))
		}
		body := r.PostForm.Encode()
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		to.ServeHTTP(w, r)
	})
}

// passOn forwards requests, and closes the connection if the server behind it does.
func passOn(t *testing.T, target string) http.Handler {
	t.Helper()
	behind, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(behind) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			if connection, _, err := http.NewResponseController(w).Hijack(); err == nil {
				_ = connection.Close()
			}
		},
		ErrorLog: log.New(io.Discard, "", 0),
	}
}
