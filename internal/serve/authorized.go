package serve

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
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
)

// How the API server is asked who a client is and what it may read. Its own
// limit of requests keeps strangers from holding up evictions.
const (
	reviewsPerSecond = 5
	reviewTimeout    = 5 * time.Second
	allowedFor       = 5 * time.Minute
	refusedFor       = 30 * time.Second
	knownFor         = time.Minute
)

// authorized serves what the API server lets a client get.
type authorized struct {
	client  authenticator.Request
	allowed authorizer.Authorizer
	next    http.Handler
}

// Authorized serves a page to clients whose bearer token the API server knows
// (TokenReview) and whom it lets get the page's path (SubjectAccessReview).
func Authorized(config *rest.Config, next http.Handler) (http.Handler, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = reviewsPerSecond, 2*reviewsPerSecond
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making the client for reviews: %w", err)
	}
	again := &wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1, Steps: 2}
	a := &authorized{next: next}
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
	logger := klog.FromContext(r.Context())
	who, known, err := a.client.AuthenticateRequest(r)
	if err != nil || !known {
		logger.V(2).Info("Client is not known", "path", r.URL.Path, "client", r.RemoteAddr, "reason", err)
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "a bearer token that the API server knows is needed", http.StatusUnauthorized)
		return
	}
	decision, why, err := a.allowed.Authorize(r.Context(), authorizer.AttributesRecord{User: who.User, Verb: "get", Path: r.URL.Path})
	if decision != authorizer.DecisionAllow {
		logger.V(2).Info("Client is not allowed", "path", r.URL.Path, "user", who.User.GetName(), "reason", errors.Join(err, errors.New(why)))
		http.Error(w, fmt.Sprintf("%q may not get the path %q: a ClusterRole with nonResourceURLs grants it", who.User.GetName(), r.URL.Path), http.StatusForbidden)
		return
	}
	a.next.ServeHTTP(w, r)
}

// SelfSigned makes a certificate for clients that do not verify it, as scrapers
// of Kubernetes' own components do not: it keeps tokens from being read on the
// way. Kubelets do not verify it either.
func SelfSigned(host string) (tls.Certificate, error) {
	const age = 10 * 365 * 24 * time.Hour
	certPEM, keyPEM, err := cert.GenerateSelfSignedCertKeyWithOptions(cert.SelfSignedCertKeyOptions{Host: host, MaxAge: age})
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("making a certificate: %w", err)
	}
	return tls.X509KeyPair(certPEM, keyPEM)
}
