// Package faultproxy is a proxy between a reader and Prometheus, or anything that answers
// in Prometheus' format. It corrupts answers to queries according to a fault.Fault. Other
// answers pass unchanged, except for faults that do not depend on the format.
package faultproxy

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster/fault"
)

// Proxy is a running reverse proxy on loopback.
type Proxy struct {
	url      string
	server   *http.Server
	done     chan struct{}
	requests atomic.Int64

	mu    sync.Mutex
	fault fault.Fault
}

// Start runs a proxy for the server at a base URL, until Stop is called or the context
// ends.
func Start(ctx context.Context, target string) (*Proxy, error) {
	behind, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("parsing the target address: %w", err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	p := &Proxy{url: "http://" + listener.Addr().String(), done: make(chan struct{})}
	reverse := &httputil.ReverseProxy{
		Rewrite:  func(r *httputil.ProxyRequest) { r.SetURL(behind) },
		ErrorLog: log.New(io.Discard, "", 0), // a target that is down is a valid case, and is answered with 502
	}
	p.server = &http.Server{
		Handler:           fault.Handler(p.current, p.spoil(reverse)),
		ReadHeaderTimeout: 10 * time.Second,
	}
	go func() {
		defer close(p.done)
		_ = p.server.Serve(listener) // it returns ErrServerClosed
	}()
	context.AfterFunc(ctx, func() { _ = p.server.Close() })
	return p, nil
}

// URL returns the proxy's base URL.
func (p *Proxy) URL() string { return p.url }

// Requests returns the number of requests so far, answered or not.
func (p *Proxy) Requests() int64 { return p.requests.Load() }

// SetFault sets the fault for all following requests. The zero Fault removes all faults.
func (p *Proxy) SetFault(f fault.Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
}

// Stop stops the proxy and cuts off unfinished answers.
func (p *Proxy) Stop() error {
	err := p.server.Close()
	<-p.done
	if err != nil {
		return fmt.Errorf("stopping the proxy: %w", err)
	}
	return nil
}

func (p *Proxy) current(*http.Request) fault.Fault {
	p.requests.Add(1)
	return p.now()
}

func (p *Proxy) now() fault.Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault
}

// spoil applies the fault to the answers to queries.
func (p *Proxy) spoil(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f := p.now()
		query := strings.HasSuffix(r.URL.Path, "/api/v1/query") || strings.HasSuffix(r.URL.Path, "/api/v1/query_range")
		if !query || f.Kind == fault.None {
			next.ServeHTTP(w, r)
			return
		}
		answer := fault.Record(next, r)
		body, err := spoilAnswer(answer.Body.Bytes(), f)
		if err != nil || answer.Code != http.StatusOK {
			body = answer.Body.Bytes()
		}
		answer.Send(w, body)
	})
}
