// Package access makes HTTP clients that know how to authenticate and whom to
// trust: bearer token, basic authentication, CA, client certificate and extra
// headers.
//
// It decides when credentials are read anew: files for every request, so that
// rotated ones are taken up; Secrets at most once a minute, and at once when a
// server answers 401. Certificates are checked unless that is switched off by
// name, and redirections are not followed: they would end at a login page, or
// take the token elsewhere. Time limits are left to the contexts of the
// requests; getting at Secrets is left to the caller.
package access

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/common/config"

	"github.com/evenkeel/evenkeel/usage/source"
)

// Config says how to reach a server. What it says of files, Secrets and headers
// is valid.
type Config struct {
	// Name tells the clients of a process apart.
	Name string
	// A bearer token authenticates, or else a user name and password.
	BearerTokenFile   string
	BearerTokenSecret source.SecretKey
	BasicAuth         source.BasicAuth
	TLS               source.TLS
	// Headers are added to each request, such as X-Scope-OrgID.
	Headers map[string]string
}

// Client returns a client for a source, which calls itself what the process
// does. Files of certificates must be there already; tokens and passwords are
// first read with the first request.
func (e *Env) Client(c Config) (*http.Client, error) {
	secret := c.BearerTokenSecret != source.SecretKey{} || c.BasicAuth.PasswordSecret != source.SecretKey{}
	switch {
	case e.Now == nil:
		return nil, errors.New("making its client: no clock is given")
	case secret && e.ReadSecret == nil:
		return nil, errors.New("making its client: nobody is given to read Secrets")
	}
	transport, err := config.NewRoundTripperFromConfig(c.transport(), c.Name, config.WithUserAgent(e.REST.UserAgent))
	if err != nil {
		return nil, fmt.Errorf("making its client: tls: %w", err)
	}
	return &http.Client{
		Transport:     e.authenticate(&c, transport),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
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

// authenticate puts the credentials around a transport.
func (e *Env) authenticate(c *Config, next http.RoundTripper) http.RoundTripper {
	basic := &c.BasicAuth
	switch {
	case c.BearerTokenFile != "" || c.BearerTokenSecret != source.SecretKey{}:
		return &authenticating{next: next, credential: e.credential("bearerToken", c.BearerTokenFile, c.BearerTokenSecret)}
	case basic.Username != "":
		password := e.credential("basicAuth.password", basic.PasswordFile, basic.PasswordSecret)
		return &authenticating{next: next, credential: password, username: basic.Username}
	}
	return &authenticating{next: next}
}

func (e *Env) credential(field, path string, key source.SecretKey) credential {
	if path != "" {
		return &file{field: field, path: path}
	}
	return &secret{field: field, key: key, read: e.ReadSecret, now: e.Now}
}
