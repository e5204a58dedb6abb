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

	"github.com/evenkeel/evenkeel/observe/usage/source"
)

// credential is a token or password.
type credential interface {
	// fetch returns the value. refused means that a server has just refused it; a cached
	// value is then read again.
	fetch(ctx context.Context, refused bool) (string, error)
}

var (
	_ credential        = (*file)(nil)
	_ credential        = (*secret)(nil)
	_ http.RoundTripper = (*authenticating)(nil)
)

// file is a credential that is read for each request.
type file struct{ field, path string }

func (f *file) fetch(context.Context, bool) (string, error) {
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

const (
	// maxSecretAge is how long the value of a Secret is used.
	maxSecretAge = time.Minute
	// minSecretAge is how long the value is used even if it is refused, so that a wrong
	// value does not cause too many requests to the API server.
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

// fetch returns the value. Concurrent requests wait for one read.
func (s *secret) fetch(ctx context.Context, refused bool) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	allowed := maxSecretAge
	if refused {
		allowed = minSecretAge
	}
	now := s.now()
	if age := now.Sub(s.at); s.value != "" && age >= 0 && age < allowed {
		return s.value, nil
	}
	value, err := s.read(ctx, s.key.Namespace, s.key.Name, s.key.Key)
	if err != nil && s.value != "" {
		s.at = now.Add(minSecretAge - maxSecretAge) // the old value may still work; read again soon
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

// authenticating adds a credential to copies of requests. The caller's requests must not
// change, because the underlying transports share headers with them
// (github.com/prometheus/common/issues/981), and the headers would grow with every retry.
type authenticating struct {
	next http.RoundTripper
	// credential is nil if none is sent.
	credential credential
	// username is the user of the password; empty for a bearer token.
	username string
}

// RoundTrip implements http.RoundTripper. If a server refuses a credential that
// has changed in the meantime, the request is retried.
func (a *authenticating) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx := request.Context()
	if a.credential == nil {
		return a.next.RoundTrip(request.Clone(ctx))
	}
	value, err := a.credential.fetch(ctx, false)
	if err != nil {
		if request.Body != nil {
			request.Body.Close()
		}
		return nil, err
	}
	response, err := a.next.RoundTrip(a.with(request, value))
	if err != nil || response.StatusCode != http.StatusUnauthorized || request.Body != nil && request.GetBody == nil {
		return response, err
	}
	newer, err := a.credential.fetch(ctx, true)
	if err != nil || newer == value {
		return response, nil //nolint:nilerr // the server's refusal says more
	}
	again := a.with(request, newer)
	if request.Body != nil {
		if again.Body, err = request.GetBody(); err != nil {
			return response, nil //nolint:nilerr // the server's refusal says more
		}
	}
	_, _ = io.CopyN(io.Discard, response.Body, 4<<10) // so that the connection can be reused
	response.Body.Close()
	return a.next.RoundTrip(again)
}

// with returns a copy of a request with a credential.
func (a *authenticating) with(request *http.Request, value string) *http.Request {
	request = request.Clone(request.Context())
	if a.username != "" {
		request.SetBasicAuth(a.username, value)
	} else {
		request.Header.Set("Authorization", "Bearer "+value)
	}
	return request
}
