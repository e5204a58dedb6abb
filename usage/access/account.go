package access

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
)

const (
	// minTokenAge is how long a token is used, or the lack of one believed,
	// even if it is refused, so that neither a server that refuses everything
	// nor an API server that fails is asked with every request.
	minTokenAge = 5 * time.Second
	// tokenRetry is how long after a failed renewal the next one is tried, and
	// how long a denial is believed.
	tokenRetry = time.Minute
	// tokenTimeout bounds one request for a token: other requests wait for it.
	tokenTimeout = 5 * time.Second
)

// account is the credential of a ServiceAccount other than the process's own.
// Its token is renewed after half its life, and used until its end if it cannot
// be renewed.
type account struct {
	name string
	env  *Env // with RequestToken

	mu    sync.Mutex
	token string
	err   error // why there is no token
	// at is when a token was last asked for, next when it is to be asked for
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
	token, expires, err := a.env.RequestToken(bounded, a.name)
	if err != nil {
		err = fmt.Errorf("requesting a token of ServiceAccount %q: %w", a.name, err)
	}
	valid := a.token != "" && now.Before(a.expires)
	if ctx.Err() != nil && !valid {
		return "", err // this request was given up, which says nothing about the next one
	}
	a.at, a.next = now, now.Add(tokenRetry)
	switch {
	case err == nil:
		a.token, a.err, a.expires, a.next = token, nil, expires, now.Add(expires.Sub(now)/2)
	case valid: // and still the best guess
	default:
		a.token, a.err = "", err
		if !notGranted(err) {
			a.next = now
		}
	}
	return a.token, a.err
}

// notGranted reports whether the API server has decided that there is no token:
// the process may not ask for it, or the ServiceAccount does not exist.
func notGranted(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) }

// AsAccount returns a transport that authenticates as another ServiceAccount of
// the process's namespace: bare sends requests that carry its token. Where the
// API server grants none, requests go out by own, with the process's own
// credentials, and the log warns. They must have no body.
func (e *Env) AsAccount(name string, bare, own http.RoundTripper) http.RoundTripper {
	return &substitute{
		account: &authenticating{next: bare, credential: &account{name: name, env: e}}, own: own, name: name,
	}
}

// substitute sends requests as an account, or else with own credentials.
type substitute struct {
	account *authenticating
	own     http.RoundTripper
	name    string
	warned  sync.Once
}

// RoundTrip implements http.RoundTripper.
func (s *substitute) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := s.account.RoundTrip(request)
	if err == nil || !notGranted(err) {
		return response, err
	}
	s.warned.Do(func() {
		klog.FromContext(request.Context()).Error(err, "Usage is read with this process's own token, which may evict pods; run evenkeel doctor", "serviceAccount", s.name)
	})
	return s.own.RoundTrip(request)
}
