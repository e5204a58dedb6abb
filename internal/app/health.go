package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"
)

// stuckAfter is how long a process may show no progress before /livez fails. A paced cycle and a wait for the next one
// count as progress all along.
const stuckAfter = 5 * time.Minute

// health answers the probes.
type health struct {
	now   func() time.Time
	last  atomic.Pointer[time.Time] // of the last progress
	ready atomic.Bool
}

func newHealth(now func() time.Time) *health {
	h := &health{now: now}
	h.progress()
	return h
}

func (h *health) progress() { h.last.Store(new(h.now())) }

func (h *health) livez(w http.ResponseWriter, _ *http.Request) {
	if age := h.now().Sub(*h.last.Load()); age > stuckAfter {
		http.Error(w, fmt.Sprintf("no progress for %v", age.Truncate(time.Second)), http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}

func (h *health) readyz(w http.ResponseWriter, _ *http.Request) {
	if !h.ready.Load() {
		http.Error(w, "the watches have not delivered yet", http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}

func newRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewBuildInfoCollector())
	return registry
}

// serveMetrics serves /metrics, /livez and /readyz until the context ends.
func (a *App) serveMetrics(ctx context.Context) error {
	if a.options.MetricsAddress == "" || a.options.MetricsAddress == "0" {
		return nil
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.metricsPage())
	mux.HandleFunc("GET /livez", a.health.livez)
	mux.HandleFunc("GET /healthz", a.health.livez)
	mux.HandleFunc("GET /readyz", a.health.readyz)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.options.MetricsAddress)
	if err != nil {
		return fmt.Errorf("serving metrics: %w", err)
	}
	return serve(ctx, listener, mux)
}

// metricsPage has upstream's and client-go's metrics beside Evenkeel's own.
func (a *App) metricsPage() http.Handler {
	gatherers := prometheus.Gatherers{a.registry, legacyregistry.DefaultGatherer}
	return promhttp.HandlerFor(gatherers, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// serve serves until the context ends and then lets requests finish.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: time.Minute,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 1 << 16,
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := server.Shutdown(ending); err != nil {
		klog.FromContext(ctx).V(2).Info("Requests were cut off", "error", err)
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving %s: %w", listener.Addr(), err)
	}
	return nil
}
