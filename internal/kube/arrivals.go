package kube

import (
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/util/net"
)

// arrivals counts the bytes of lists and watches that the API server has sent,
// by resource, to distinguish a slow list from one that never arrives. It is
// safe for concurrent use.
type arrivals struct {
	mu    sync.Mutex
	bytes map[string]*atomic.Int64
}

// of returns how many bytes of the given resources have arrived.
func (a *arrivals) of(resources ...string) (sum int64) {
	for _, resource := range resources {
		sum += a.counter(resource).Load()
	}
	return sum
}

func (a *arrivals) counter(resource string) *atomic.Int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.bytes == nil {
		a.bytes = map[string]*atomic.Int64{}
	}
	if a.bytes[resource] == nil {
		a.bytes[resource] = new(atomic.Int64)
	}
	return a.bytes[resource]
}

// wrap is a transport.WrapperFunc.
func (a *arrivals) wrap(next http.RoundTripper) http.RoundTripper {
	return &countingTransport{arrivals: a, next: next}
}

type countingTransport struct {
	arrivals *arrivals
	next     http.RoundTripper
}

var _ net.RoundTripperWrapper = (*countingTransport)(nil)

// RoundTrip implements http.RoundTripper. It does not count error responses.
func (c *countingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusOK || request.Method != http.MethodGet {
		return response, err
	}
	if resource := listed(request.URL.Path); resource != "" {
		response.Body = &countedBody{response.Body, c.arrivals.counter(resource)}
	}
	return response, nil
}

// WrappedRoundTripper lets client-go unwrap the RoundTripper.
func (c *countingTransport) WrappedRoundTripper() http.RoundTripper { return c.next }

type countedBody struct {
	io.ReadCloser
	bytes *atomic.Int64
}

func (b *countedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	b.bytes.Add(int64(n))
	return n, err
}

// listed returns the resource that a path such as /api/v1/pods or
// /apis/apps/v1/replicasets, with or without a prefix, lists or watches in the whole
// cluster. It returns "" for any other path, so there are never more entries than the API
// server has resources.
func listed(url string) string {
	parts := strings.Split(path.Clean(url), "/")
	n := len(parts)
	if n >= 3 && parts[n-3] == "api" || n >= 4 && parts[n-4] == "apis" {
		return parts[n-1]
	}
	return ""
}
