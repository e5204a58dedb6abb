// Package access makes HTTP clients that authenticate and verify servers:
// bearer token, basic authentication, CA, client certificate and extra headers.
//
// It decides when credentials are read again. Files are read for every request, so that
// rotated credentials are used. Secrets are read at most once a minute, and again soon
// after a 401. Certificates are checked unless explicitly disabled. Redirects are not
// followed, because they would end at a login page or send the token elsewhere. Request
// contexts set the time limits; the caller provides access to Secrets.
package access

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/prometheus/common/config"

	"github.com/evenkeel/evenkeel/observe/usage/source"
)

// Config describes how to reach a server. Its files, Secrets and headers are
// already validated.
type Config struct {
	// Name identifies the client within the process.
	Name string
	// Authentication uses a bearer token or, without one, a user name and
	// password.
	BearerTokenFile   string
	BearerTokenSecret source.SecretKey
	BasicAuth         source.BasicAuth
	TLS               source.TLS
	// Headers are added to each request, such as X-Scope-OrgID.
	Headers map[string]string
	// Dial, if set, replaces the default dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// OneShot closes each connection after its request.
	OneShot bool
}

// Client returns a client for a source, with the process's user agent.
// Certificate files must already exist; tokens and passwords are first read
// with the first request.
func (e *Env) Client(c Config) (*http.Client, error) {
	secret := c.BearerTokenSecret != source.SecretKey{} || c.BasicAuth.PasswordSecret != source.SecretKey{}
	switch {
	case e.Now == nil:
		return nil, errors.New("making the HTTP client: Now must be set")
	case secret && e.ReadSecret == nil:
		return nil, errors.New("making the HTTP client: ReadSecret must be set")
	}
	transport, err := config.NewRoundTripperFromConfig(c.transport(), c.Name, c.options(e.REST.UserAgent)...)
	if err != nil {
		return nil, fmt.Errorf("making the HTTP client: tls: %w", err)
	}
	return &http.Client{
		Transport:     e.authenticate(&c, transport),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

func (c *Config) options(userAgent string) []config.HTTPClientOption {
	options := []config.HTTPClientOption{config.WithUserAgent(userAgent)}
	if c.Dial != nil {
		options = append(options, config.WithDialContextFunc(c.Dial))
	}
	if c.OneShot {
		options = append(options, config.WithKeepAlivesDisabled())
	}
	return options
}

func (c *Config) transport() config.HTTPClientConfig {
	headers := map[string]config.Header{}
	for name, value := range c.Headers {
		headers[name] = config.Header{Values: []string{value}}
	}
	return config.HTTPClientConfig{
		TLSConfig: config.TLSConfig{
			CAFile: c.TLS.CAFile, CertFile: c.TLS.CertFile, KeyFile: c.TLS.KeyFile,
			ServerName: c.TLS.ServerName, InsecureSkipVerify: c.TLS.InsecureSkipVerify,
		},
		ProxyConfig: config.ProxyConfig{ProxyFromEnvironment: true},
		HTTPHeaders: &config.Headers{Headers: headers},
		EnableHTTP2: true,
	}
}

// authenticate wraps a transport with the credentials.
func (e *Env) authenticate(c *Config, next http.RoundTripper) http.RoundTripper {
	basic := &c.BasicAuth
	switch {
	case e.WithholdCredentials && c.credentials() != "":
		return Withholding(c.credentials())
	case c.BearerTokenFile != "" || c.BearerTokenSecret != source.SecretKey{}:
		return &authenticating{next: next, credential: e.credential("bearerToken", c.BearerTokenFile, c.BearerTokenSecret)}
	case basic.Username != "":
		password := e.credential("basicAuth.password", basic.PasswordFile, basic.PasswordSecret)
		return &authenticating{next: next, credential: password, username: basic.Username}
	}
	return &authenticating{next: next}
}

// credentials returns the name of the credential that the client sends; empty if it sends
// none.
func (c *Config) credentials() string {
	switch {
	case c.BearerTokenFile != "" || c.BearerTokenSecret != source.SecretKey{}:
		return named(c.BearerTokenFile, c.BearerTokenSecret)
	case c.BasicAuth.Username != "":
		return named(c.BasicAuth.PasswordFile, c.BasicAuth.PasswordSecret)
	}
	return ""
}

func named(path string, key source.SecretKey) string {
	if path != "" {
		return fmt.Sprintf("the file %q", path)
	}
	return fmt.Sprintf("%q of Secret %s/%s", key.Key, key.Namespace, key.Name)
}

// Withholding is a transport that sends nothing. Its value is the name of the
// credential that requests would carry.
type Withholding string

var _ http.RoundTripper = Withholding("")

// RoundTrip implements http.RoundTripper.
func (w Withholding) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body != nil {
		_ = request.Body.Close() // nothing has been read from it
	}
	return nil, fmt.Errorf("not asked: the policy sends %s, read with your rights, to %s://%s; if you trust that server with it, add --send-credentials",
		string(w), request.URL.Scheme, request.URL.Host)
}

func (e *Env) credential(field, path string, key source.SecretKey) credential {
	if path != "" {
		return &file{field: field, path: path}
	}
	return &secret{field: field, key: key, read: e.ReadSecret, now: e.Now}
}
