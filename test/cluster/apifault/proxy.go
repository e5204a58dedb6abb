// Package apifault provides a proxy between a process and the API server that makes
// requests fail: according to rules about verbs and resources, by closing watches, or,
// for all requests, by refusing connections or holding back all bytes. It terminates TLS
// with the cluster's serving certificate and passes on the client's credentials, so the
// process needs only a kubeconfig file with another address. Seen reports what has
// failed, because a case without failures would prove nothing.
package apifault

import (
	"context"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Config configures a Proxy.
type Config struct {
	// Target is the API server's address and defines how its certificate is verified. Its
	// credentials are not used.
	Target *rest.Config
	// CertFile and KeyFile are the serving certificate for loopback.
	CertFile, KeyFile string
	// Seed is the seed of the random numbers for rules with a Percent.
	Seed uint64
}

// Proxy is a running reverse proxy on loopback. It is safe for concurrent use.
type Proxy struct {
	config  Config
	address string
	gate    *gate
	infos   *request.RequestInfoFactory
	reverse *httputil.ReverseProxy
	serving sync.WaitGroup

	mu      sync.Mutex
	server  *http.Server // nil while connections are refused
	rules   rules
	seen    map[Kind]int
	tooOld  int
	watches map[*http.Request]context.CancelFunc
}

// Start runs a proxy until Stop is called or the context ends. Initially, all requests
// pass.
func Start(ctx context.Context, config Config) (*Proxy, error) {
	behind, err := url.Parse(config.Target.Host)
	if err != nil {
		return nil, fmt.Errorf("parsing the API server's address: %w", err)
	}
	anonymous := rest.AnonymousClientConfig(config.Target)
	transport, err := rest.TransportFor(anonymous)
	if err != nil {
		return nil, fmt.Errorf("reaching the API server: %w", err)
	}
	lots := rand.New(rand.NewPCG(config.Seed, config.Seed))
	p := &Proxy{
		config: config, gate: newGate(), seen: map[Kind]int{}, watches: map[*http.Request]context.CancelFunc{},
		rules: rules{roll: func() int { return lots.IntN(100) }},
		infos: &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")},
	}
	p.reverse = &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(behind) },
		Transport:      transport,
		FlushInterval:  -1, // watches are streams
		ModifyResponse: p.listen,
		ErrorLog:       log.New(io.Discard, "", 0), // an API server that is down is a valid case, and is answered with 502
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	p.address = listener.Addr().String()
	p.serve(listener)
	context.AfterFunc(ctx, func() { _ = p.Refuse() })
	return p, nil
}

// serve starts a server on the listener.
func (p *Proxy) serve(listener net.Listener) {
	server := &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0)}
	p.mu.Lock()
	p.server = server
	p.mu.Unlock()
	p.serving.Go(func() {
		_ = server.ServeTLS(gated{listener, p.gate}, p.config.CertFile, p.config.KeyFile) // it returns ErrServerClosed
	})
}

// URL returns the proxy's base URL.
func (p *Proxy) URL() string { return "https://" + p.address }

// Kubeconfig copies the kubeconfig file of to path, with the proxy's address.
func (p *Proxy) Kubeconfig(of, path string) error {
	config, err := clientcmd.LoadFromFile(of)
	if err != nil {
		return fmt.Errorf("reading kubeconfig %q: %w", of, err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server = p.URL()
	}
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("writing kubeconfig %q: %w", path, err)
	}
	return nil
}

// Apply replaces the rules. Without rules, all requests pass.
func (p *Proxy) Apply(all ...Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules.all = all
}

// Partition starts or stops holding back all bytes in both directions.
func (p *Proxy) Partition(partitioned bool) { p.gate.set(partitioned) }

// Refuse closes all connections and refuses new ones until Accept.
func (p *Proxy) Refuse() error {
	p.mu.Lock()
	server := p.server
	p.server = nil
	p.mu.Unlock()
	if server == nil {
		return nil
	}
	if err := server.Close(); err != nil {
		return fmt.Errorf("closing connections: %w", err)
	}
	return nil
}

// Accept makes the proxy accept connections again, at the same address.
func (p *Proxy) Accept(ctx context.Context) error {
	p.mu.Lock()
	accepting := p.server != nil
	p.mu.Unlock()
	if accepting {
		return nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", p.address)
	if err != nil {
		return fmt.Errorf("listening again: %w", err)
	}
	p.serve(listener)
	return nil
}

// CloseWatches ends all watches and returns their number.
func (p *Proxy) CloseWatches() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, cancel := range p.watches {
		cancel()
	}
	return len(p.watches)
}

// Seen returns the number of requests that were affected by effects of a kind.
func (p *Proxy) Seen(kind Kind) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[kind]
}

// TooOld returns how many watches the API server itself has answered with "too old
// resource version".
func (p *Proxy) TooOld() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tooOld
}

// Stop stops the proxy and cuts off unfinished responses.
func (p *Proxy) Stop() error {
	err := p.Refuse()
	p.gate.set(false)
	p.serving.Wait()
	return err
}
