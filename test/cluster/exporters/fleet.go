package exporters

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster"
)

// fleet is one HTTP server per node, at the node's own address.
type fleet struct {
	// handler returns the handler for a node.
	handler func(node string) http.Handler
	// port returns the port of a node's server.
	port func(cluster.NodeTruth) int
	// secure returns the TLS configuration of a node's server; if it is nil, servers use
	// plain HTTP.
	secure func(ip net.IP) (*tls.Config, error)

	mu      sync.Mutex
	servers map[string]*http.Server
	running sync.WaitGroup
}

// sync starts a server for each node that has none, and stops servers whose nodes are
// gone.
func (f *fleet) sync(ctx context.Context, nodes []cluster.NodeTruth) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	gone := f.servers
	f.servers = map[string]*http.Server{}
	var errs []error
	for _, node := range nodes {
		address := net.JoinHostPort(node.InternalIP, strconv.Itoa(f.port(node)))
		key := node.Name + "@" + address
		if server, runs := gone[key]; runs {
			f.servers[key] = server
			delete(gone, key)
			continue
		}
		server, err := f.serve(ctx, node, address)
		if err != nil {
			errs = append(errs, fmt.Errorf("serving for node %q: %w", node.Name, err))
			continue
		}
		f.servers[key] = server
	}
	return errors.Join(append(errs, closeAll(gone))...)
}

func closeAll(servers map[string]*http.Server) error {
	var errs []error
	for _, server := range servers {
		errs = append(errs, server.Close())
	}
	return errors.Join(errs...)
}

func (f *fleet) serve(ctx context.Context, node cluster.NodeTruth, address string) (*http.Server, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if f.secure != nil {
		config, err := f.secure(net.ParseIP(node.InternalIP))
		if err != nil {
			return nil, errors.Join(err, listener.Close())
		}
		listener = tls.NewListener(listener, config)
	}
	server := &http.Server{
		Handler:           f.handler(node.Name),
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          log.New(io.Discard, "", 0), // clients that distrust a certificate are valid cases
	}
	f.running.Go(func() { _ = server.Serve(listener) }) // it returns ErrServerClosed
	return server, nil
}

func (f *fleet) stop() error {
	f.mu.Lock()
	err := closeAll(f.servers)
	f.servers = nil
	f.mu.Unlock()
	f.running.Wait()
	return err
}
