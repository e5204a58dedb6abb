package extender

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/scorer/extender/certs"
	"github.com/evenkeel/evenkeel/scorer/extender/conns"
)

// The limits of a connection. kube-scheduler's client drops idle connections
// after 90 s. The server waits longer, because a request sent while the server
// closes the connection fails and is not repeated. No other timeout
// exceeds the time that kube-scheduler waits by default, 5 s (200 ms as configured
// here), because a later answer is useless.
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
	// certificates is nil if only plain HTTP is served.
	certificates *certs.Keeper
	verbs        *verbs
	routes       *routes
}

var _ http.Handler = (*Server)(nil)

// NewServer checks the configuration, reads the TLS files and registers the
// metrics. It does not listen yet.
func NewServer(config Config) (*Server, error) {
	config, err := config.complete()
	if err != nil {
		return nil, err
	}
	certificates, err := certs.NewKeeper(config.TLS, "extender")
	if err != nil {
		return nil, err
	}
	if err := Register(config.Registerer, certificates.Metrics()...); err != nil {
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
	s := &Server{config: config, certificates: certificates, verbs: h, routes: newRoutes(h, &config)}
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
	listeners, err := s.listen(ctx)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, listener := range listeners {
		group.Go(func() error {
			if err := Serve(ctx, s.httpServer(ctx), listener, s.config.ShutdownTimeout); err != nil {
				return fmt.Errorf("serving the extender: %w", err)
			}
			return nil
		})
	}
	if s.certificates != nil {
		group.Go(func() error { return s.certificates.Follow(ctx) })
	}
	return group.Wait()
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

// listen opens all listeners, or none if one of them fails.
func (s *Server) listen(ctx context.Context) (listeners []net.Listener, err error) {
	defer func() {
		if err != nil {
			for _, opened := range listeners {
				_ = opened.Close()
			}
		}
	}()
	main := s.config.Listener
	if main == nil {
		if main, err = open(ctx, s.config.Address); err != nil {
			return nil, err
		}
	}
	listeners = append(listeners, s.serving(ctx, main, s.certificates))
	if s.config.InsecureAddress == "" {
		return listeners, nil
	}
	second, err := open(ctx, s.config.InsecureAddress)
	if err != nil {
		return listeners, err
	}
	return append(listeners, s.serving(ctx, second, nil)), nil
}

func open(ctx context.Context, address string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening for kube-scheduler: %w", err)
	}
	return listener, nil
}

// serving returns a listener that serves HTTPS, or plain HTTP if there are no
// certificates. It logs which clients will be answered.
func (s *Server) serving(ctx context.Context, listener net.Listener, certificates *certs.Keeper) net.Listener {
	logger, address := klog.FromContext(ctx), listener.Addr().String()
	clients := certificates != nil && s.config.TLS.ClientCAFile != ""
	logger.Info("Serving kube-scheduler", "address", address, "tls", certificates != nil, "clientCertificates", clients)
	if !clients && !Loopback(address) {
		logger.Info("Warning: whoever reaches this address is answered as kube-scheduler is; serve mutual TLS, see evenkeel certificates", "address", address)
	}
	gathers := gatheringListener{conns.Bounded(listener)}
	if certificates == nil {
		return gathers
	}
	return tls.NewListener(gathers, certificates.Config())
}

// Loopback reports whether an address, such as "127.0.0.1:8888" or "localhost:8888", can
// be reached only from this host. An address without a host means all interfaces.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

func (s *Server) httpServer(ctx context.Context) *http.Server {
	// Only HTTP/1.1 is served, because kube-scheduler has one or two requests
	// in flight at a time and gains nothing from streams.
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	logger := klog.FromContext(ctx)
	base := klog.NewContext(context.WithoutCancel(ctx), logger)
	return &http.Server{
		Handler:           ageing(s.routes, s.certificates),
		Protocols:         protocols,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return base },
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return withConnection(ctx, conn, s.certificates)
		},
		ConnState: conns.Used,
		ErrorLog:  ErrorLog(logger),
	}
}
