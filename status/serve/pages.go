package serve

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strings"

	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/scorer/extender"
)

// Pages are the reports of a process. They name pods of all namespaces and require no
// authentication, so they are served on loopback only.
type Pages struct {
	// Address is a loopback address; empty and "0" disable the pages.
	Address string
	Reports *Reports
	Metrics http.Handler
	// Profiling adds /debug/pprof/.
	Profiling bool
}

// Handler serves the pages. Streams end with the context.
func (p *Pages) Handler(ctx context.Context) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/status", extender.Report(p.Reports.Status))
	mux.Handle("/nodes", extender.Report(p.Reports.Nodes))
	mux.Handle("/requests", extender.Report(p.Reports.Requests))
	addPage(ctx, mux, p.Reports)
	mux.Handle("GET /metrics", p.Metrics)
	if p.Profiling {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return unnamed(bounded(mux))
}

// Run serves the pages until the context ends. If serving fails, the process continues
// without them.
func (p *Pages) Run(ctx context.Context) error {
	if err := extender.Listen(ctx, p.Address, "reports", p.Handler(ctx)); err != nil {
		klog.FromContext(ctx).Error(err, "Reports are not served; see --report-address")
	}
	<-ctx.Done()
	return nil
}

// reportsAtOnce is the maximum number of concurrent requests. In a large cluster, each
// request takes megabytes until the client has read the response, and all clients of the
// stream send requests at the same time.
const reportsAtOnce = maxStreams

// bounded refuses requests above reportsAtOnce. The stream has its own limit on clients.
func bounded(next http.Handler) http.Handler {
	places := make(chan struct{}, reportsAtOnce)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stream" {
			next.ServeHTTP(w, r)
			return
		}
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
			next.ServeHTTP(w, r)
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, fmt.Sprintf("%d requests are already being answered", reportsAtOnce), http.StatusServiceUnavailable)
		}
	})
}

// unnamed refuses requests to host names other than localhost. Otherwise a web page could
// use its own host name to read reports through a forwarded port (DNS rebinding).
func unnamed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = strings.TrimSuffix(strings.TrimPrefix(r.Host, "["), "]") // an IPv6 address without a port
		}
		if !Local(host) {
			if _, err := netip.ParseAddr(host); err != nil {
				http.Error(w, "reports are served only at localhost or an IP address", http.StatusForbidden)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// Local reports whether a host is this machine's loopback, by name or address.
func Local(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}
