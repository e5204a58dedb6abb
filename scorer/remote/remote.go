// Package remote queries an extender in a separate process over HTTP: whether
// kube-scheduler asked it, and its explanations.
package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/evenkeel/evenkeel/internal/terminal/layout"
	"github.com/evenkeel/evenkeel/observe/usage/access"
	"github.com/evenkeel/evenkeel/observe/usage/source"
)

// Extender is an extender in a separate process, reached over HTTP. If the host of its
// URL has several addresses, as with a headless Service, each address is a separate
// process, and all of them are queried.
type Extender struct {
	URL string
	// TLS configures how the extender is verified, and how this process authenticates to
	// it.
	TLS source.TLS
	// Resolve returns a host's addresses; nil uses DNS.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
}

// Status is the part of an extender's status that the evictor uses, combined
// over all of the extender's processes.
type Status struct {
	// Asked counts kube-scheduler's requests. PodAsked reports whether one of
	// them was about the given pod.
	Asked    int64 `json:"asked"`
	PodAsked bool  `json:"podAsked"`
	Ledger   struct {
		// Generation is the generation of the newest stored ledger that all processes
		// have read.
		Generation int64 `json:"generation"`
	} `json:"ledger"`
}

func (s *Status) add(other *Status) {
	s.Asked += other.Asked
	s.PodAsked = s.PodAsked || other.PodAsked
	s.Ledger.Generation = min(s.Ledger.Generation, other.Ledger.Generation)
}

const (
	// timeout bounds a request to a separate extender.
	timeout = 5 * time.Second
	// maxStatusBytes bounds an extender's status.
	maxStatusBytes = 1 << 20
)

// maxProcesses bounds how many addresses of one host are queried.
const maxProcesses = 16

// Status reads the extender's status, including what it knows about one pod. It fails if
// a process does not answer, unless kube-scheduler asked another process about the pod.
func (r *Extender) Status(ctx context.Context, podUID string) (status Status, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	address, err := r.Address()
	if err != nil {
		return status, fmt.Errorf("asking the extender: %w", err)
	}
	clients, err := r.clients(ctx, address)
	if err != nil {
		return status, err
	}
	address = address.JoinPath("status")
	address.RawQuery = url.Values{"pod": {podUID}}.Encode()
	return ofAll(ctx, clients, address)
}

// ReadGeneration returns the generation of the newest stored ledger that all replicas of
// the extender have read.
func (r *Extender) ReadGeneration(ctx context.Context) (int64, error) {
	status, err := r.Status(ctx, "")
	return status.Ledger.Generation, err
}

func ofAll(ctx context.Context, clients []*http.Client, address *url.URL) (Status, error) {
	statuses, errs := make([]Status, len(clients)), make([]error, len(clients))
	var group errgroup.Group
	for i, client := range clients {
		group.Go(func() error {
			errs[i] = ask(ctx, client, address, maxStatusBytes, &statuses[i])
			return nil
		})
	}
	_ = group.Wait() // errs holds the errors
	status := statuses[0]
	for i := range statuses[1:] {
		status.add(&statuses[1+i])
	}
	if status.PodAsked {
		return status, nil
	}
	return status, errors.Join(errs...)
}

// clients returns a client for each process behind an address.
func (r *Extender) clients(ctx context.Context, address *url.URL) ([]*http.Client, error) {
	host := address.Hostname()
	resolve := r.Resolve
	if resolve == nil {
		resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	addresses, err := resolve(ctx, host)
	if err != nil {
		addresses = nil // a proxy may resolve the host; otherwise the request fails with the reason
	}
	addresses = ofOneFamily(addresses)
	if len(addresses) > maxProcesses {
		return nil, fmt.Errorf("asking the extender: %s has %d addresses, more than %d", host, len(addresses), maxProcesses)
	}
	if len(addresses) < 2 {
		client, err := r.client(nil)
		return []*http.Client{client}, err
	}
	port := cmp.Or(address.Port(), map[string]string{"http": "80", "https": "443"}[address.Scheme])
	clients := make([]*http.Client, len(addresses))
	for i, ip := range addresses {
		dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(ip.String(), port))
		}
		if clients[i], err = r.client(dial); err != nil {
			return nil, err
		}
	}
	return clients, nil
}

// client returns a client for a few requests. It rereads the certificates each
// time.
func (r *Extender) client(dial func(context.Context, string, string) (net.Conn, error)) (*http.Client, error) {
	env := access.Env{REST: &rest.Config{UserAgent: rest.DefaultKubernetesUserAgent()}, Now: time.Now}
	client, err := env.Client(access.Config{Name: "extender", TLS: r.TLS, Dial: dial, OneShot: true})
	if err != nil {
		return nil, fmt.Errorf("asking the extender: %w", err)
	}
	return client, nil
}

// ofOneFamily returns the IPv4 addresses, or all if there are none, because a
// process may have one of each family.
func ofOneFamily(addresses []netip.Addr) []netip.Addr {
	var v4 []netip.Addr
	for _, ip := range addresses {
		if ip = ip.Unmap(); ip.Is4() {
			v4 = append(v4, ip)
		}
	}
	if len(v4) > 0 {
		addresses = v4
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	return slices.Compact(addresses)
}

// Validate returns an error for the first mistake in the address and the certificates.
func (r *Extender) Validate() error {
	if _, err := r.Address(); err != nil {
		return err
	}
	if (r.TLS.CertFile == "") != (r.TLS.KeyFile == "") {
		return errors.New("the client certificate and its key must be used together")
	}
	_, err := r.client(nil)
	return err
}

// Address parses the URL.
func (r *Extender) Address() (*url.URL, error) {
	address, err := url.Parse(r.URL)
	if err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Host == "" {
		return nil, errors.New("it is not a URL that begins with http:// or https:// and names a host")
	}
	return address, nil
}

// maxRefusalBytes bounds the part of an error response that is reported.
const maxRefusalBytes = 400

// Ask decodes an extender's JSON response into a value. The address is below
// the URL. It reads at most maxBytes; the caller bounds the time.
func (r *Extender) Ask(ctx context.Context, address *url.URL, maxBytes int64, into any) error {
	client, err := r.client(nil)
	if err != nil {
		return err
	}
	return ask(ctx, client, address, maxBytes, into)
}

func ask(ctx context.Context, client *http.Client, address *url.URL, maxBytes int64, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return fmt.Errorf("asking %s: the address is not a URL", address.Redacted())
	}
	response, err := client.Do(request)
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // the URL in the error would repeat the address
	}
	if err != nil {
		return fmt.Errorf("asking %s: %w", address.Redacted(), err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(io.LimitReader(response.Body, maxRefusalBytes))
		return fmt.Errorf("asking %s: %s: %s", address.Redacted(), response.Status, strings.Join(strings.Fields(layout.Printable(string(why))), " "))
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxBytes)).Decode(into); err != nil {
		return fmt.Errorf("reading the answer of %s: %w", address.Redacted(), err)
	}
	return nil
}
