// Package access makes HTTP clients that know how to authenticate and whom to trust: bearer token, basic authentication, CA,
// client certificate and extra headers.
//
// It decides when credentials are read anew: files for every request, so that rotated ones are taken up; Secrets at most
// once a minute, and at once when a server answers 401. Certificates are checked unless that is switched off by name, and
// redirections are not followed: they would end at a login page, or take the token elsewhere. Time limits are left to the
// contexts of the requests; getting at Secrets is left to the caller.
package access

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/config"
)

// SecretKey names a value in a Secret.
type SecretKey struct{ Namespace, Name, Key string }

// Credential is where a token or a password is read: a file or a Secret. The zero value is none.
type Credential struct {
	File   string
	Secret SecretKey
}

// TLS says whom to trust and who to be.
type TLS struct {
	// CAFile replaces the system's authorities; CertFile and KeyFile are the client's certificate.
	CAFile, CertFile, KeyFile string
	// ServerName is the name that the server's certificate must have, where it is not the address's host.
	ServerName string
	// InsecureSkipVerify trusts whoever answers.
	InsecureSkipVerify bool
}

// ReadSecret returns a value of a Secret.
type ReadSecret func(ctx context.Context, namespace, name, key string) (string, error)

// Config says how to reach a server.
type Config struct {
	// Name tells the clients of a process apart; UserAgent is what they call themselves.
	Name, UserAgent string
	// BearerToken authenticates, or else Username and Password.
	BearerToken Credential
	Username    string
	Password    Credential
	TLS         TLS
	// Headers are added to each request, such as X-Scope-OrgID.
	Headers map[string]string
	// ReadSecret must be set where a Secret is named.
	ReadSecret ReadSecret
	// Now tells the time.
	Now func() time.Time
}

// New returns a client. Files of certificates must be there already; tokens and passwords are first read with the first
// request.
func New(c Config) (*http.Client, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	options := []config.HTTPClientOption{}
	if c.UserAgent != "" {
		options = append(options, config.WithUserAgent(c.UserAgent))
	}
	transport, err := config.NewRoundTripperFromConfig(c.transport(), c.Name, options...)
	if err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	return &http.Client{
		Transport:     c.authenticate(transport),
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
func (c *Config) authenticate(next http.RoundTripper) http.RoundTripper {
	var source config.SecretReader
	switch {
	case c.BearerToken != Credential{}:
		source = c.reader("bearerToken", c.BearerToken)
		next = config.NewAuthorizationCredentialsRoundTripper("Bearer", source, next)
	case c.Username != "":
		source = c.reader("basicAuth.password", c.Password)
		next = config.NewBasicAuthRoundTripper(config.NewInlineSecret(c.Username), source, next)
	}
	next = &cloning{next}
	if secret, ok := source.(*secret); ok {
		next = &renewing{next: next, secret: secret}
	}
	return next
}

func (c *Config) reader(field string, from Credential) config.SecretReader {
	if from.File != "" {
		return &file{field: field, path: from.File}
	}
	return &secret{field: field, key: from.Secret, read: c.ReadSecret, now: c.Now}
}

func (c *Config) validate() error {
	errs := []error{
		c.validateCredential("bearerToken", c.BearerToken),
		c.validateCredential("basicAuth.password", c.Password),
		c.TLS.validate(),
	}
	check := func(ok bool, message string) {
		if !ok {
			errs = append(errs, errors.New(message))
		}
	}
	basic := c.Username != "" || c.Password != Credential{}
	check(!basic || c.BearerToken == Credential{}, "bearerToken and basicAuth exclude each other")
	check(!basic || c.Username != "", "basicAuth.username is missing")
	check(!basic || c.Password != Credential{}, "basicAuth.password is missing")
	check(c.Now != nil, "Now must be set")
	for name, value := range c.Headers {
		errs = append(errs, validateHeader(name, value))
	}
	return errors.Join(errs...)
}

func (c *Config) validateCredential(field string, from Credential) error {
	secret := from.Secret
	switch {
	case secret == SecretKey{}:
		return nil
	case from.File != "":
		return fmt.Errorf("%s: either a file or a Secret, not both", field)
	case secret.Namespace == "" || secret.Name == "" || secret.Key == "":
		return fmt.Errorf("%s.secret: namespace, name and key must all be set", field)
	case c.ReadSecret == nil:
		return fmt.Errorf("%s.secret: Secrets cannot be read here", field)
	}
	return nil
}

func (t *TLS) validate() error {
	var errs []error
	if (t.CertFile == "") != (t.KeyFile == "") {
		errs = append(errs, errors.New("tls.certFile and tls.keyFile must be set together"))
	}
	if t.InsecureSkipVerify && t.CAFile != "" {
		errs = append(errs, errors.New("tls.caFile means nothing with tls.insecureSkipVerify"))
	}
	for _, f := range []struct{ field, path string }{
		{"tls.caFile", t.CAFile}, {"tls.certFile", t.CertFile}, {"tls.keyFile", t.KeyFile},
	} {
		if f.path == "" {
			continue
		}
		if _, err := os.ReadFile(f.path); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.field, err))
		}
	}
	return errors.Join(errs...)
}

// validateHeader refuses what is no header, and those that are set otherwise.
func validateHeader(name, value string) error {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~"
	noLetter := func(r rune) bool { return !strings.ContainsRune(letters, r) }
	control := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
	if name == "" || strings.ContainsFunc(name, noLetter) {
		return fmt.Errorf("headers: %q is no header", name)
	}
	headers := config.Headers{Headers: map[string]config.Header{name: {}}}
	if err := headers.Validate(); err != nil {
		return fmt.Errorf("headers: %q is set otherwise", http.CanonicalHeaderKey(name))
	}
	if slices.ContainsFunc([]rune(value), control) {
		return fmt.Errorf("headers[%q]: the value has control characters", name)
	}
	return nil
}
