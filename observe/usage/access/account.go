package access

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	// minTokenAge is how long a token is kept although a server refuses it, and how long
	// the lack of a token is remembered. Otherwise a server that refuses everything, or a
	// failing API server, would cause a token request with every request.
	minTokenAge = 5 * time.Second
	// tokenRetry is how long to wait after a failed renewal, and how long a denial
	// is remembered.
	tokenRetry = time.Minute
	// tokenTimeout bounds one token request, because other requests wait for it.
	tokenTimeout = 5 * time.Second
)

// account is the credential of a ServiceAccount other than the process's own.
// Its token is renewed after half its lifetime, and used until it expires if it
// cannot be renewed.
type account struct {
	Account
	env *Env // with RequestToken

	mu    sync.Mutex
	token string
	err   error // why there is no token
	// at is when a token was last requested, next when it is due to be requested
	// again.
	at, next, expires time.Time
}

var _ credential = (*account)(nil)

// fetch returns the token. Concurrent requests wait for one renewal.
func (a *account) fetch(ctx context.Context, refused bool) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.env.Now()
	age := now.Sub(a.at)
	if !a.at.IsZero() && age >= 0 && (age < minTokenAge || now.Before(a.next) && !refused) {
		return a.token, a.err
	}
	bounded, cancel := context.WithTimeout(ctx, tokenTimeout)
	defer cancel()
	token, expires, err := a.env.RequestToken(bounded, a.Name)
	if err != nil {
		err = fmt.Errorf("requesting a token of ServiceAccount %q: %w", a.Name, err)
		if notGranted(err) {
			err = fmt.Errorf("%w: %s", err, a.Remedy)
		}
	}
	valid := a.token != "" && now.Before(a.expires)
	if ctx.Err() != nil && !valid {
		return "", err // only this request was cancelled
	}
	a.at, a.next = now, now.Add(tokenRetry)
	switch {
	case err == nil:
		a.token, a.err, a.expires, a.next = token, nil, expires, now.Add(expires.Sub(now)/2)
	case valid: // the old token may still work
	default:
		a.token, a.err = "", err
		if !notGranted(err) {
			a.next = now
		}
	}
	return a.token, a.err
}

// notGranted reports whether the API server has refused a token, because the
// process is not allowed to request it or the ServiceAccount does not exist.
func notGranted(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) }

// Account is a ServiceAccount in the process's namespace.
type Account struct {
	Name string
	// Remedy is appended to the error if the API server grants no token. It explains how
	// to get a token, or how to do without one.
	Remedy string
}

// AsAccount returns a transport that authenticates as another ServiceAccount and sends
// requests through bare. Without a token nothing is sent: the process's own token can
// evict pods and must not be used instead. Requests must have no body.
func (e *Env) AsAccount(a Account, bare http.RoundTripper) http.RoundTripper {
	return &authenticating{next: bare, credential: &account{Account: a, env: e}}
}

// IsOwnToken reports whether a file contains the token with which the process itself
// reaches the API server. It returns false for a file that cannot be read.
func (e *Env) IsOwnToken(path string) bool {
	content, err := os.ReadFile(path)
	token := bytes.TrimSpace(content)
	if err != nil || len(token) == 0 {
		return false
	}
	own, _ := os.ReadFile(e.REST.BearerTokenFile) // empty if there is none
	return string(token) == e.REST.BearerToken || bytes.Equal(token, bytes.TrimSpace(own))
}
