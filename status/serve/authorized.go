package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
	"k8s.io/klog/v2"
	"k8s.io/utils/lru"

	"github.com/evenkeel/evenkeel/scorer/extender"
)

// Limits for token and access reviews. A separate request limit keeps strangers from
// delaying evictions.
const (
	reviewsPerSecond = 5
	reviewTimeout    = 5 * time.Second
	allowedFor       = 5 * time.Minute
	refusedFor       = 30 * time.Second
	knownFor         = time.Minute
)

// Requests of unknown clients count against the request limit, too. Only a few of them
// are reviewed concurrently, so that clients that were admitted before are reviewed in
// time.
const (
	// maxRegulars is the maximum number of remembered addresses.
	maxRegulars     = 64
	newcomersAtOnce = 2 * reviewsPerSecond
	newcomersOfOne  = 2
)

// authorized serves clients that the API server authorizes.
type authorized struct {
	client  authenticator.Request
	allowed authorizer.Authorizer
	next    http.Handler
	// regulars holds the addresses of clients that were admitted.
	regulars *lru.Cache

	mu sync.Mutex
	// reviewed is the number of newcomers' requests under review. of holds the number for
	// each address.
	reviewed int
	of       map[string]int
}

// Authorized serves next to clients whose bearer token the API server accepts
// (TokenReview) and who are allowed to get the request's path (SubjectAccessReview).
func Authorized(config *rest.Config, next http.Handler) (http.Handler, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = reviewsPerSecond, 2*reviewsPerSecond
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making the client for reviews: %w", err)
	}
	again := &wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1, Steps: 2}
	a := &authorized{next: next, regulars: lru.New(maxRegulars), of: map[string]int{}}
	a.client, _, err = authenticatorfactory.DelegatingAuthenticatorConfig{
		TokenAccessReviewClient: client.AuthenticationV1(), TokenAccessReviewTimeout: reviewTimeout,
		WebhookRetryBackoff: again, CacheTTL: knownFor,
	}.New()
	if err != nil {
		return nil, fmt.Errorf("preparing to review tokens: %w", err)
	}
	a.allowed, err = authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: client.AuthorizationV1(), AllowCacheTTL: allowedFor, DenyCacheTTL: refusedFor, WebhookRetryBackoff: again,
	}.New()
	if err != nil {
		return nil, fmt.Errorf("preparing to review access: %w", err)
	}
	return a, nil
}

// ServeHTTP implements http.Handler.
func (a *authorized) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	address, _, _ := net.SplitHostPort(r.RemoteAddr)
	if a.admitted(w, r, address) {
		a.regulars.Add(address, nil)
		a.next.ServeHTTP(w, r)
	}
}

// admitted reviews a request. A newcomer's request is refused if too many are under
// review.
func (a *authorized) admitted(w http.ResponseWriter, r *http.Request, address string) bool {
	if _, regular := a.regulars.Get(address); !regular {
		if !a.enter(address) {
			http.Error(w, "other requests are being reviewed", http.StatusTooManyRequests)
			return false
		}
		defer a.leave(address)
	}
	return a.review(w, r)
}

// enter reports whether a newcomer's request may be reviewed. If so, the caller must call
// leave.
func (a *authorized) enter(address string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.reviewed >= newcomersAtOnce || a.of[address] >= newcomersOfOne {
		return false
	}
	a.reviewed++
	a.of[address]++
	return true
}

func (a *authorized) leave(address string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.reviewed--
	if a.of[address]--; a.of[address] == 0 {
		delete(a.of, address)
	}
}

// review reports whether a client may get a page, and sends an error to the client if
// not. The review continues if the client disconnects. Otherwise the review would no
// longer be counted, although the API server may still be working on it and keep other
// clients waiting.
func (a *authorized) review(w http.ResponseWriter, r *http.Request) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), 2*reviewTimeout)
	defer cancel()
	logger := klog.FromContext(ctx)
	who, known, err := a.client.AuthenticateRequest(r.WithContext(ctx))
	if err != nil || !known {
		extender.LogRefused(logger, "Client is not known", "path", r.URL.Path, "client", r.RemoteAddr, "reason", err)
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "a bearer token that the API server accepts is required", http.StatusUnauthorized)
		return false
	}
	decision, why, err := a.allowed.Authorize(ctx, authorizer.AttributesRecord{User: who.User, Verb: "get", Path: r.URL.Path})
	if decision != authorizer.DecisionAllow {
		extender.LogRefused(logger, "Client is not allowed", "path", r.URL.Path, "user", who.User.GetName(), "reason", errors.Join(err, errors.New(why)))
		http.Error(w, fmt.Sprintf("%q is not allowed to get the path %q; a ClusterRole with nonResourceURLs can allow it", who.User.GetName(), r.URL.Path), http.StatusForbidden)
	}
	return decision == authorizer.DecisionAllow
}

// SelfSigned makes a certificate for clients that do not verify it, such as kubelets and
// scrapers of Kubernetes components. It protects tokens in transit.
func SelfSigned(host string) (*tls.Config, error) {
	const age = 10 * 365 * 24 * time.Hour
	certPEM, keyPEM, err := cert.GenerateSelfSignedCertKeyWithOptions(cert.SelfSignedCertKeyOptions{Host: host, MaxAge: age})
	if err != nil {
		return nil, fmt.Errorf("making a certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}, err
}
