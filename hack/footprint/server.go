package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// server is a fake that serves, on one address, an API server with nodes, pods and
// metrics.k8s.io, and a Prometheus server.
type server struct {
	*fleet
	version atomic.Int64 // the newest resourceVersion
}

// firstVersion is the resourceVersion of unchanged objects.
const firstVersion = 1000

func newServer(f *fleet) *server {
	f.births = make([]atomic.Int32, f.pods())
	s := &server{fleet: f}
	s.version.Store(firstVersion)
	return s
}

// next returns the resourceVersion of the next change.
func (s *server) next() int { return int(s.version.Add(1)) }

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"major":"1","minor":"36","gitVersion":"v1.36.3","platform":"linux/amd64"}`)
	})
	mux.HandleFunc("GET /apis", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, groups)
	})
	for path, k := range s.kinds() {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) { s.objects(w, r, k) })
	}
	mux.HandleFunc("GET /api/v1/namespaces/{namespace}/pods/{name}", s.onePod)
	mux.HandleFunc("GET /apis/metrics.k8s.io/v1beta1/nodes", s.nodeMetrics)
	mux.HandleFunc("GET /apis/metrics.k8s.io/v1beta1/pods", s.podMetrics)
	mux.HandleFunc("POST /api/v1/query", s.query)
	mux.HandleFunc("POST /api/v1/query_range", s.queryRange)
	return mux
}

// objects answers a list or a watch request.
func (s *server) objects(w http.ResponseWriter, r *http.Request, k *kind) {
	media, err := negotiate(r)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusNotAcceptable)
	case r.FormValue("watch") == "":
		s.list(w, r, k, media)
	case r.FormValue("sendInitialEvents") == "true" && !s.watchList:
		refuse(w)
	default:
		s.watch(w, r, k, media)
	}
}

// serve listens on a loopback address until the context ends. It writes its URL as the
// first line to out.
func serve(ctx context.Context, f *fleet, out io.Writer) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	fmt.Fprintf(out, "http://%s\n", listener.Addr())
	web := &http.Server{
		Handler: newServer(f).handler(), ReadHeaderTimeout: 5 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx },
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return web.Serve(listener) })
	group.Go(func() error {
		<-ctx.Done()
		return web.Close()
	})
	if err := group.Wait(); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}
