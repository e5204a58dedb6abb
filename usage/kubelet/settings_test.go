package kubelet

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/evenkeel/evenkeel/usage/access"
	"github.com/evenkeel/evenkeel/usage/source"
)

// Whoever controls a node sees what its kubelet is sent. It is the token of the
// ServiceAccount that may only read usage, or what the policy gives; the token
// that may evict is sent only where there is no other.
func TestWhatKubeletsAreShown(t *testing.T) {
	mayEvict := &rest.Config{BearerToken: "may-evict"}
	granted := func(_ context.Context, name string) (string, time.Time, error) {
		return "of-" + name, clock.Add(time.Hour), nil
	}
	denied := func(context.Context, string) (string, time.Time, error) {
		return "", time.Time{}, apierrors.NewForbidden(schema.GroupResource{Resource: "serviceaccounts"}, ServiceAccount, errors.New("no rule"))
	}
	file := write(t, "token", []byte("of-the-file"))
	shown := certificate(t)
	cases := map[string]struct {
		change func(*Config)
		api    *rest.Config
		grant  access.RequestToken
		want   string
	}{
		"by default":                     {grant: granted, want: "Bearer of-evenkeel-kubelet-source"},
		"another ServiceAccount":         {change: func(c *Config) { c.ServiceAccount = "reader" }, grant: granted, want: "Bearer of-reader"},
		"it may not be asked for":        {grant: denied, want: "Bearer may-evict"},
		"none is wanted":                 {change: func(c *Config) { c.ServiceAccount = "" }, grant: granted, want: "Bearer may-evict"},
		"a token in a file":              {change: func(c *Config) { c.BearerTokenFile = file }, grant: granted, want: "Bearer of-the-file"},
		"a certificate":                  {change: func(c *Config) { c.TLS = shown }, grant: granted},
		"a certificate and a token":      {change: func(c *Config) { c.TLS = shown; c.BearerTokenFile = file }, grant: granted, want: "Bearer of-the-file"},
		"in clear text":                  {change: func(c *Config) { c.Scheme = source.HTTP }, grant: granted},
		"the API server takes no tokens": {api: &rest.Config{}, grant: granted},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			config := new(Config).Default().(*Config)
			if tc.change != nil {
				tc.change(config)
			}
			api := tc.api
			if api == nil {
				api = mayEvict
			}
			client, err := config.client(&access.Env{REST: api, RequestToken: tc.grant, Now: func() time.Time { return clock }})
			if err != nil {
				t.Fatal(err)
			}
			got := "nothing arrived"
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get("Authorization") }))
			defer server.Close()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if got != tc.want {
				t.Errorf("a kubelet is shown %q, want %q", got, tc.want)
			}
		})
	}
}

// certificate returns files of a client certificate.
func certificate(t *testing.T) source.TLS {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return source.TLS{
		CertFile: write(t, "tls.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		KeyFile:  write(t, "tls.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})),
	}
}

func write(t *testing.T, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
