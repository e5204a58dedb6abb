package extender

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"k8s.io/klog/v2"
)

// The limits of a connection. kube-scheduler's client drops idle connections
// after 90 s. The server waits longer, because a request sent while the server
// closes the connection fails and is not repeated. Nothing else waits much longer
// than kube-scheduler does, which is 200 ms as configured here and 5 s unless it
// is configured: what comes or is taken later serves nobody.
const (
	readHeaderTimeout = time.Second
	readTimeout       = 2 * time.Second
	writeTimeout      = 5 * time.Second
	idleTimeout       = 5 * time.Minute
	maxHeaderBytes    = 16 << 10
)

// Server answers kube-scheduler.
type Server struct {
	config Config
	tls    *tls.Config
	verbs  *verbs
	routes *routes
}

var _ http.Handler = (*Server)(nil)

// NewServer checks the configuration, reads the TLS files and registers the
// metrics. It does not listen yet.
func NewServer(config Config) (*Server, error) {
	config, err := config.complete()
	if err != nil {
		return nil, err
	}
	tlsConfig, err := config.TLS.config()
	if err != nil {
		return nil, err
	}
	m, err := newMetrics(config.Registerer)
	if err != nil {
		return nil, err
	}
	h := &verbs{
		config:   &config,
		metrics:  m,
		limits:   newLimits(&config),
		jsonType: []string{"application/json"},
	}
	s := &Server{config: config, tls: tlsConfig, verbs: h, routes: newRoutes(h, &config)}
	s.SetLoad(config.LoadMessage, config.RejectAll)
	return s, nil
}

// SetLoad replaces LoadMessage and RejectAll of the configuration. It may be
// called while requests are answered.
func (s *Server) SetLoad(message string, rejectAll bool) {
	s.verbs.load.Store(&loadRefusal{inJSON(cmp.Or(message, RejectLoad.Message())), rejectAll})
}

// ServeHTTP answers one request, for callers that have their own listener.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.routes.ServeHTTP(w, r) }

// Run listens and serves until ctx ends, then waits for requests in flight, at
// most ShutdownTimeout. It returns nil if ctx stopped it.
func (s *Server) Run(ctx context.Context) error {
	listener, err := s.listen(ctx)
	if err != nil {
		return err
	}
	server := s.httpServer(ctx)
	klog.FromContext(ctx).Info("Serving kube-scheduler", "address", listener.Addr().String(), "tls", s.tls != nil)
	if err := Serve(ctx, server, listener, s.config.ShutdownTimeout); err != nil {
		return fmt.Errorf("serving the extender: %w", err)
	}
	return nil
}

// Serve serves until the context ends, and then gives requests a grace period
// to finish.
func Serve(ctx context.Context, server *http.Server, listener net.Listener, grace time.Duration) error {
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := server.Shutdown(ending); err != nil {
		klog.FromContext(ctx).Info("Closing connections that are still busy", "reason", err.Error())
		_ = server.Close()
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (s *Server) listen(ctx context.Context) (net.Listener, error) {
	listener := s.config.Listener
	if listener == nil {
		var err error
		if listener, err = new(net.ListenConfig).Listen(ctx, "tcp", s.config.Address); err != nil {
			return nil, fmt.Errorf("listening for kube-scheduler: %w", err)
		}
	}
	listener = Bounded(listener)
	if s.tls != nil {
		return tls.NewListener(listener, s.tls), nil // TLS splits replies into records anyway
	}
	return gatheringListener{listener}, nil
}

func (s *Server) httpServer(ctx context.Context) *http.Server {
	// HTTP/1.1 only: kube-scheduler has a request or two in flight at a time
	// and gains nothing from streams.
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	logger := klog.FromContext(ctx)
	base := klog.NewContext(context.WithoutCancel(ctx), logger)
	return &http.Server{
		Handler:           s.routes,
		Protocols:         protocols,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return base },
		ConnContext:       withConn,
		ErrorLog:          log.New(serverLog{logger}, "", 0),
	}
}

// serverLog logs what net/http reports, such as failed TLS handshakes.
type serverLog struct{ logger klog.Logger }

// Write implements io.Writer for the log package: one call per message.
func (l serverLog) Write(line []byte) (int, error) {
	l.logger.V(2).Info("HTTP server reported", "message", strings.TrimSpace(string(line)))
	return len(line), nil
}
