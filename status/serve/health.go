// Package serve answers HTTP requests to a process: probes, metrics, and
// reports on nodes and moves.
package serve

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/collectors/version"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // registers rest_client_*, workqueue_* and leader_election_*
)

// stuckAfter is how long a process may go without progress before /livez fails. A paced
// cycle, and waiting for the next one, count as progress.
const stuckAfter = 5 * time.Minute

// Health answers the probes.
type Health struct {
	now   func() time.Time
	last  atomic.Pointer[time.Time] // time of the last progress
	ready atomic.Bool
}

// NewHealth returns a Health that counts from now on. The clock must be
// monotonic.
func NewHealth(now func() time.Time) *Health {
	h := &Health{now: now}
	h.Progress()
	return h
}

// Progress records that the process made progress.
func (h *Health) Progress() { h.last.Store(new(h.now())) }

// Livez answers the liveness probe: it succeeds if there was recent progress.
func (h *Health) Livez(w http.ResponseWriter, _ *http.Request) {
	if age := h.now().Sub(*h.last.Load()); age > stuckAfter {
		http.Error(w, fmt.Sprintf("no progress for %v", age.Truncate(time.Second)), http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}

func (h *Health) readyz(w http.ResponseWriter, _ *http.Request) {
	if !h.ready.Load() {
		http.Error(w, "the watches have not delivered any data yet", http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}

// Ready records that the process can do its work.
func (h *Health) Ready() { h.ready.Store(true) }

// NewRegistry returns a registry for the metrics of a process, with its build
// information.
func NewRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewBuildInfoCollector(), version.NewCollector("evenkeel"))
	return registry
}

// Probes answers the kubelet's probes and, unless metrics is nil, /metrics.
func Probes(health *Health, metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	if metrics != nil {
		mux.Handle("GET /metrics", metrics)
	}
	mux.HandleFunc("GET /livez", health.Livez)
	mux.HandleFunc("GET /healthz", health.Livez)
	mux.HandleFunc("GET /readyz", health.readyz)
	return mux
}

// scrapesAtOnce is the maximum number of concurrent requests for /metrics.
const scrapesAtOnce = 8

// Metrics serves Evenkeel's metrics together with those of client-go and the Go
// runtime.
func Metrics(registry prometheus.Gatherer) http.Handler {
	gatherers := prometheus.Gatherers{registry, legacyregistry.DefaultGatherer}
	return promhttp.HandlerFor(gatherers, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: scrapesAtOnce})
}
