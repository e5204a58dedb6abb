package access

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/evenkeel/evenkeel/observe/usage/source"
)

// vault is a Secret that counts how often it is read.
type vault struct {
	value string
	err   error
	reads int
}

func (v *vault) read(context.Context, string, string, string) (string, error) {
	v.reads++
	return v.value, v.err
}

// clock is a time that tests advance.
type clock struct{ now time.Time }

func newClock() *clock                   { return &clock{time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }
func (c *clock) time() time.Time         { return c.now }
func (c *clock) forward(d time.Duration) { c.now = c.now.Add(d) }

// inSecret returns where the tests keep credentials.
func inSecret() source.SecretKey {
	return source.SecretKey{Namespace: "monitoring", Name: "prometheus", Key: "token"}
}

// given holds everything from which clients are made.
type given struct {
	Config
	ReadSecret ReadSecret
	UserAgent  string
	Now        func() time.Time
}

func (g *given) client() (*http.Client, error) {
	env := Env{REST: &rest.Config{UserAgent: g.UserAgent}, ReadSecret: g.ReadSecret, Now: g.Now}
	return env.Client(g.Config)
}

func newClient(t *testing.T, config given) *http.Client {
	t.Helper()
	if config.Now == nil {
		config.Now = newClock().time
	}
	client, err := config.client()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// post sends a body and returns the status.
func post(t *testing.T, client *http.Client, url string) (int, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("query=up"))
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	return response.StatusCode, nil
}

// write writes a file into the test's folder.
func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// only accepts requests that have this Authorization header.
func only(authorization *string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") != *authorization || string(body) != "query=up" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}
}

func TestAuthentication(t *testing.T) {
	cases := map[string]struct {
		config given
		want   string
	}{
		"nothing":           {given{}, ""},
		"a token in a file": {given{Config: Config{BearerTokenFile: write(t, "token", "sesame\n")}}, "Bearer sesame"},
		"a token in a Secret": {
			given{Config: Config{BearerTokenSecret: inSecret()}, ReadSecret: (&vault{value: "sesame\n"}).read}, "Bearer sesame",
		},
		"a password in a file": {
			given{Config: Config{BasicAuth: source.BasicAuth{Username: "ali", PasswordFile: write(t, "password", "sesame")}}}, "Basic YWxpOnNlc2FtZQ==",
		},
		"a password in a Secret": {
			given{Config: Config{BasicAuth: source.BasicAuth{Username: "ali", PasswordSecret: inSecret()}}, ReadSecret: (&vault{value: "sesame"}).read}, "Basic YWxpOnNlc2FtZQ==",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(only(&tc.want))
			defer server.Close()
			if status, err := post(t, newClient(t, tc.config), server.URL); err != nil || status != http.StatusOK {
				t.Errorf("got %d, %v", status, err)
			}
		})
	}
}

// A withheld credential is not read, and no request is sent to its server. The error names the
// credential, the server, and how to allow sending it. A server that needs no credential is
// queried.
func TestCredentialsAreWithheld(t *testing.T) {
	secrets := &vault{value: "sesame"}
	cases := map[string]struct {
		config Config
		want   string
	}{
		"nothing":                {Config{}, ""},
		"headers":                {Config{Headers: map[string]string{"X-Scope-OrgID": "us"}}, ""},
		"a token in a file":      {Config{BearerTokenFile: "/root/token"}, `the file "/root/token"`},
		"a token in a Secret":    {Config{BearerTokenSecret: inSecret()}, `"token" of Secret monitoring/prometheus`},
		"a password in a file":   {Config{BasicAuth: source.BasicAuth{Username: "ali", PasswordFile: "/root/password"}}, `the file "/root/password"`},
		"a password in a Secret": {Config{BasicAuth: source.BasicAuth{Username: "ali", PasswordSecret: inSecret()}}, `"token" of Secret monitoring/prometheus`},
	}
	for name, tc := range cases {
		for _, start := range []func(http.Handler) *httptest.Server{httptest.NewServer, httptest.NewTLSServer} {
			asked := 0
			server := start(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
			tc.config.TLS.InsecureSkipVerify = true
			env := Env{REST: &rest.Config{}, ReadSecret: secrets.read, Now: newClock().time, WithholdCredentials: true}
			client, err := env.Client(tc.config)
			if err != nil {
				t.Fatal(err)
			}
			_, err = post(t, client, server.URL)
			server.Close()
			if tc.want == "" && (err != nil || asked != 1) {
				t.Errorf("%s, %s: asked %d times, error %v", name, server.URL, asked, err)
			}
			for _, want := range []string{tc.want, " to " + server.URL + ";", "add --send-credentials"} {
				if tc.want != "" && (asked != 0 || err == nil || !strings.Contains(err.Error(), want)) {
					t.Errorf("%s: asked %d times, error %v, want %q in it", name, asked, err, want)
				}
			}
		}
	}
	if secrets.reads != 0 {
		t.Errorf("a Secret was read %d times", secrets.reads)
	}
}

func TestChangedTokenFileIsUsed(t *testing.T) {
	want := "Bearer one"
	server := httptest.NewServer(only(&want))
	defer server.Close()
	path := write(t, "token", "one")
	client := newClient(t, given{Config: Config{BearerTokenFile: path}})
	for _, token := range []string{"one", "two"} {
		if err := os.WriteFile(path, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
		want = "Bearer " + token
		if status, err := post(t, client, server.URL); err != nil || status != http.StatusOK {
			t.Errorf("token %s: got %d, %v", token, status, err)
		}
	}
}

// A Secret is read once a minute. If the server refuses its value, the Secret is also read at once,
// but not repeatedly.
func TestSecretIsReadRarely(t *testing.T) {
	want := "Bearer one"
	server := httptest.NewServer(only(&want))
	defer server.Close()
	now, secret := newClock(), &vault{value: "one"}
	client := newClient(t, given{Config: Config{BearerTokenSecret: inSecret()}, ReadSecret: secret.read, Now: now.time})
	steps := []struct {
		what          string
		after         time.Duration
		value, server string
		err           error
		status, reads int
	}{
		{"the first request reads it", 0, "one", "one", nil, 200, 1},
		{"soon after it is known", 59 * time.Second, "one", "one", nil, 200, 1},
		{"after a minute it is read again", 2 * time.Second, "one", "one", nil, 200, 2},
		{"a changed one is used for the rejected request", 10 * time.Second, "two", "two", nil, 200, 3},
		{"a wrong one is reported", 10 * time.Second, "two", "three", nil, 401, 4},
		{"and not read again and again", time.Second, "two", "three", nil, 401, 4},
		{"it is used on while Secrets cannot be read", 2 * time.Minute, "two", "two", errors.New("down"), 200, 5},
		{"which is tried again soon", 6 * time.Second, "two", "two", nil, 200, 6},
	}
	for _, step := range steps {
		now.forward(step.after)
		secret.value, secret.err, want = step.value, step.err, "Bearer "+step.server
		status, err := post(t, client, server.URL)
		if err != nil || status != step.status || secret.reads != step.reads {
			t.Errorf("%s: got %d after %d reads, %v; want %d after %d", step.what, status, secret.reads, err, step.status, step.reads)
		}
	}
}

func TestMissingCredential(t *testing.T) {
	cases := map[string]struct {
		config given
		want   string
	}{
		"no file":             {given{Config: Config{BearerTokenFile: "/nowhere/token"}}, "bearerToken.file: open /nowhere/token"},
		"an empty file":       {given{Config: Config{BearerTokenFile: write(t, "token", " \n")}}, "bearerToken.file: "},
		"no Secret":           {given{Config: Config{BearerTokenSecret: inSecret()}, ReadSecret: (&vault{err: errors.New("forbidden")}).read}, "bearerToken.secret: forbidden"},
		"an empty Secret":     {given{Config: Config{BearerTokenSecret: inSecret()}, ReadSecret: (&vault{}).read}, `bearerToken.secret: Secret monitoring/prometheus has no value "token"`},
		"no file for a login": {given{Config: Config{BasicAuth: source.BasicAuth{Username: "ali", PasswordFile: "/nowhere"}}}, "basicAuth.password.file: open /nowhere"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			asked := false
			server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
			defer server.Close()
			if _, err := post(t, newClient(t, tc.config), server.URL); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if asked {
				t.Error("the server was asked without credentials")
			}
		})
	}
}

func TestHeaders(t *testing.T) {
	var got http.Header
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header }))
	defer server.Close()
	client := newClient(t, given{Config: Config{Headers: map[string]string{"X-Scope-OrgID": "blue"}}, UserAgent: "evenkeel"})
	if _, err := post(t, client, server.URL); err != nil {
		t.Fatal(err)
	}
	if got.Get("X-Scope-OrgID") != "blue" || got.Get("User-Agent") != "evenkeel" {
		t.Errorf("got %v", got)
	}
}

// Headers are added to a copy, so that the caller's request can be sent again.
func TestRequestsAreLeftAsTheyAre(t *testing.T) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Values("X-Scope-OrgID") }))
	defer server.Close()
	client := newClient(t, given{Config: Config{
		BearerTokenFile: write(t, "token", "sesame"), Headers: map[string]string{"X-Scope-OrgID": "blue"},
	}})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
	}
	if len(got) != 1 || len(request.Header) != 0 {
		t.Errorf("the server got %q, the request has %v", got, request.Header)
	}
}

// The token is not sent to redirect targets.
func TestRedirectionsAreNotFollowed(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirection was followed") }))
	defer elsewhere.Close()
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	client := newClient(t, given{Config: Config{BearerTokenFile: write(t, "token", "sesame")}})
	if status, err := post(t, client, server.URL); err != nil || status != http.StatusTemporaryRedirect {
		t.Errorf("got %d, %v", status, err)
	}
}

// identity returns a self-signed certificate and its key as PEM.
func identity(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "evenkeel"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
}

func TestTLS(t *testing.T) {
	certificate, key := identity(t)
	certFile, keyFile := write(t, "tls.crt", certificate), write(t, "tls.key", key)
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM([]byte(certificate))
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.TLS = &tls.Config{ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	caFile := write(t, "ca.crt", authority)

	cases := map[string]struct {
		tls  source.TLS
		want string
	}{
		"an unknown authority is refused":          {source.TLS{CertFile: certFile, KeyFile: keyFile}, "unknown authority"},
		"a known one is trusted":                   {source.TLS{CAFile: caFile, CertFile: certFile, KeyFile: keyFile}, ""},
		"without a client certificate":             {source.TLS{CAFile: caFile}, "certificate required"},
		"the name may be another":                  {source.TLS{CAFile: caFile, CertFile: certFile, KeyFile: keyFile, ServerName: "example.com"}, ""},
		"but it must be on the certificate":        {source.TLS{CAFile: caFile, CertFile: certFile, KeyFile: keyFile, ServerName: "thanos"}, "not thanos"},
		"whoever answers, where that is asked for": {source.TLS{CertFile: certFile, KeyFile: keyFile, InsecureSkipVerify: true}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := post(t, newClient(t, given{Config: Config{TLS: tc.tls}}), server.URL)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// A new CA that replaces the old one is used without a restart.
func TestChangedAuthorityIsUsed(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	other, _ := identity(t)
	caFile := write(t, "ca.crt", other)
	client := newClient(t, given{Config: Config{TLS: source.TLS{CAFile: caFile}}})
	if _, err := post(t, client, server.URL); err == nil {
		t.Error("another authority is trusted")
	}
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(caFile, authority, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := post(t, client, server.URL); err != nil {
		t.Errorf("the new authority is not trusted: %v", err)
	}
}
