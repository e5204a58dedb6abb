package access

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/common/config"

	"github.com/evenkeel/evenkeel/usage/source"
)

var (
	_ config.SecretReader = (*file)(nil)
	_ config.SecretReader = (*secret)(nil)
	_ http.RoundTripper   = (*renewing)(nil)
	_ http.RoundTripper   = (*cloning)(nil)
)

// file is a credential that is read for each request.
type file struct{ field, path string }

// Fetch returns what the file holds now.
func (f *file) Fetch(context.Context) (string, error) {
	content, err := os.ReadFile(f.path)
	if err != nil {
		return "", fmt.Errorf("%s.file: %w", f.field, err)
	}
	value := strings.TrimSpace(string(content))
	if value == "" {
		return "", fmt.Errorf("%s.file: %q is empty", f.field, f.path)
	}
	return value, nil
}

// Description names the credential without its value.
func (f *file) Description() string { return f.field + " in file " + f.path }

// Immutable is false.
func (f *file) Immutable() bool { return false }

const (
	// maxSecretAge is how long the value of a Secret is used.
	maxSecretAge = time.Minute
	// minSecretAge is how long it is used even though it is refused, so that a
	// wrong one does not keep the API server busy.
	minSecretAge = 5 * time.Second
)

// ReadSecret returns a value of a Secret.
type ReadSecret func(ctx context.Context, namespace, name, key string) (string, error)

// secret is a credential in a Secret.
type secret struct {
	field string
	key   source.SecretKey
	read  ReadSecret
	now   func() time.Time

	mu    sync.Mutex
	value string
	at    time.Time
}

// Fetch returns the value, read anew once a minute.
func (s *secret) Fetch(ctx context.Context) (string, error) { return s.fetch(ctx, maxSecretAge) }

// fetch returns the value, read anew if it is older than allowed. Requests wait
// for each other's reading.
func (s *secret) fetch(ctx context.Context, allowed time.Duration) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if age := now.Sub(s.at); s.value != "" && age >= 0 && age < allowed {
		return s.value, nil
	}
	value, err := s.read(ctx, s.key.Namespace, s.key.Name, s.key.Key)
	if err != nil && s.value != "" {
		s.at = now.Add(minSecretAge - maxSecretAge) // it is still the best guess; read again soon
		return s.value, nil
	}
	if err != nil {
		return "", fmt.Errorf("%s.secret: %w", s.field, err)
	}
	if value = strings.TrimSpace(value); value == "" {
		return "", fmt.Errorf("%s.secret: Secret %s/%s has no value %q", s.field, s.key.Namespace, s.key.Name, s.key.Key)
	}
	s.value, s.at = value, now
	return value, nil
}

// Description names the credential without its value.
func (s *secret) Description() string {
	return fmt.Sprintf("%s in Secret %s/%s, key %q", s.field, s.key.Namespace, s.key.Name, s.key.Key)
}

// Immutable is false.
func (s *secret) Immutable() bool { return false }

// renewing reads a Secret anew when a server refuses its value, and asks again
// if that has changed.
type renewing struct {
	next   http.RoundTripper
	secret *secret
}

// RoundTrip implements http.RoundTripper.
func (r *renewing) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx := request.Context()
	used, err := r.secret.Fetch(ctx)
	if err != nil {
		closeBody(request)
		return nil, err
	}
	response, err := r.next.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusUnauthorized {
		return response, err
	}
	value, err := r.secret.fetch(ctx, minSecretAge)
	again, ok := repeat(request)
	if err != nil || value == used || !ok {
		return response, nil //nolint:nilerr // the server's refusal says more
	}
	_, _ = io.CopyN(io.Discard, response.Body, 4<<10) // so that the connection can be used again
	response.Body.Close()
	return r.next.RoundTrip(again)
}

// CloseIdleConnections lets go of connections that are not in use.
func (r *renewing) CloseIdleConnections() { closeIdle(r.next) }

// cloning keeps what the transports below add to a request out of the caller's:
// they share its headers (github.com/prometheus/common/issues/981), which would
// grow with each repetition.
type cloning struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (c *cloning) RoundTrip(request *http.Request) (*http.Response, error) {
	return c.next.RoundTrip(request.Clone(request.Context()))
}

// CloseIdleConnections lets go of connections that are not in use.
func (c *cloning) CloseIdleConnections() { closeIdle(c.next) }

func closeIdle(transport http.RoundTripper) {
	if t, ok := transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// repeat returns the same request once more, if its body can be had again.
func repeat(request *http.Request) (*http.Request, bool) {
	again := request.Clone(request.Context())
	if request.Body == nil || request.Body == http.NoBody {
		return again, true
	}
	if request.GetBody == nil {
		return nil, false
	}
	body, err := request.GetBody()
	if err != nil {
		return nil, false
	}
	again.Body = body
	return again, true
}

func closeBody(request *http.Request) {
	if request.Body != nil {
		request.Body.Close()
	}
}
