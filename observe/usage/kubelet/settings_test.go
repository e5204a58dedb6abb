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
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/evenkeel/evenkeel/observe/usage/access"
	"github.com/evenkeel/evenkeel/observe/usage/source"
)

// Anyone who controls a node sees what is sent to its kubelet. Only two kinds of credentials may be
// sent: the token of the ServiceAccount that can do nothing but read usage, and the policy's
// credentials. Without either, nothing is sent. The token or password with which the process
// evicts, or that a user's kubeconfig contains, is never sent.
func TestWhatKubeletsAreShown(t *testing.T) {
	mayEvict := &rest.Config{BearerToken: "may-evict"}
	granted := func(_ context.Context, name string) (string, time.Time, error) {
		return "of-" + name, clock.Add(time.Hour), nil
	}
	denied := func(context.Context, string) (string, time.Time, error) {
		return "", time.Time{}, apierrors.NewForbidden(schema.GroupResource{Resource: "serviceaccounts"}, ServiceAccount, errors.New("no rule"))
	}
	deleted := func(context.Context, string) (string, time.Time, error) {
		return "", time.Time{}, apierrors.NewNotFound(schema.GroupResource{Resource: "serviceaccounts"}, ServiceAccount)
	}
	away := func(context.Context, string) (string, time.Time, error) {
		return "", time.Time{}, errors.New("connection refused")
	}
	const nothing = "nothing arrived"
	file, own, copied := write(t, "token", []byte("of-the-file")), write(t, "own", []byte("of-the-process")), write(t, "copied", []byte("may-evict"))
	shown := certificate(t)
	cases := map[string]struct {
		change func(*Config)
		api    *rest.Config
		grant  access.RequestToken
		hold   bool
		want   string
		err    string
	}{
		"by default":                            {grant: granted, want: "Bearer of-evenkeel-kubelet-source"},
		"another ServiceAccount":                {change: func(c *Config) { c.ServiceAccount = "reader" }, grant: granted, want: "Bearer of-reader"},
		"it may not be asked for":               {grant: denied, want: nothing, err: "add deploy/components/kubelet-source"},
		"it was deleted":                        {grant: deleted, want: nothing, err: "add deploy/components/kubelet-source"},
		"the API server is unreachable":         {grant: away, want: nothing, err: "connection refused"},
		"no client to request one":              {want: nothing, err: "no token for them"},
		"none is wanted":                        {change: func(c *Config) { c.ServiceAccount = "" }, grant: granted, want: nothing, err: "no token for them"},
		"a password":                            {api: &rest.Config{Username: "admin", Password: "x"}, grant: denied, want: nothing, err: "forbidden"},
		"a command's token":                     {api: &rest.Config{ExecProvider: &clientcmdapi.ExecConfig{Command: "/bin/false", APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode}}, grant: denied, want: nothing, err: "forbidden"},
		"a separate file with the token":        {api: &rest.Config{BearerTokenFile: own}, grant: denied, want: nothing, err: "forbidden"},
		"its own, as the policy's":              {api: &rest.Config{BearerTokenFile: own}, change: func(c *Config) { c.BearerTokenFile = own }, grant: granted, want: nothing, err: "is the token of this process"},
		"its own, copied":                       {change: func(c *Config) { c.BearerTokenFile = copied }, grant: granted, want: nothing, err: "is the token of this process"},
		"a file together with a command":        {api: &rest.Config{ExecProvider: &clientcmdapi.ExecConfig{}}, change: func(c *Config) { c.BearerTokenFile = file }, want: "Bearer of-the-file"},
		"a file together with a password":       {api: &rest.Config{Username: "admin", Password: "x"}, change: func(c *Config) { c.BearerTokenFile = file }, want: "Bearer of-the-file"},
		"a certificate together with a command": {api: &rest.Config{ExecProvider: &clientcmdapi.ExecConfig{}}, change: func(c *Config) { c.TLS = shown }},
		"impersonating a user":                  {api: &rest.Config{Impersonate: rest.ImpersonationConfig{UserName: "admin"}}, grant: granted},
		"a token in a file":                     {change: func(c *Config) { c.BearerTokenFile = file }, grant: granted, want: "Bearer of-the-file"},
		"a certificate":                         {change: func(c *Config) { c.TLS = shown }, grant: granted},
		"a certificate and a token":             {change: func(c *Config) { c.TLS = shown; c.BearerTokenFile = file }, grant: granted, want: "Bearer of-the-file"},
		"in clear text":                         {change: func(c *Config) { c.Scheme = source.HTTP }, grant: granted},
		"the API server accepts no tokens":      {api: &rest.Config{}, grant: granted},
		"withheld, the shipped one":             {hold: true, grant: granted, want: "Bearer of-evenkeel-kubelet-source"},
		"withheld, another one":                 {hold: true, change: func(c *Config) { c.ServiceAccount = "reader" }, grant: granted, want: nothing, err: `a token of ServiceAccount "reader"`},
		"withheld, a file":                      {hold: true, change: func(c *Config) { c.BearerTokenFile = file }, want: nothing, err: "add --send-credentials"},
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
			got := nothing
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get("Authorization") }))
			defer server.Close()
			err := func() error {
				client, err := config.client(&access.Env{REST: api, RequestToken: tc.grant, WithholdCredentials: tc.hold, Now: func() time.Time { return clock }})
				if err != nil {
					return err
				}
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
				if err != nil {
					t.Fatal(err)
				}
				response, err := client.Do(request)
				if err == nil {
					response.Body.Close()
				}
				return err
			}()
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("error %v, want %q", err, tc.err)
			}
			if got != tc.want {
				t.Errorf("a kubelet is shown %q, want %q", got, tc.want)
			}
		})
	}
}

// The error of a reading without a token contains the remedy.
func TestSampleWithoutAToken(t *testing.T) {
	k := newKubelets(t)
	node := k.add(aNode("n1"), body(summaryOf("n1")))
	env := &access.Env{REST: &rest.Config{BearerToken: "may-evict"}, Now: func() time.Time { return clock }, RequestToken: func(context.Context, string) (string, time.Time, error) {
		return "", time.Time{}, apierrors.NewForbidden(schema.GroupResource{Resource: "serviceaccounts"}, ServiceAccount, errors.New("no rule"))
	}}
	settings := newSettings()
	client, err := settings.client(env)
	if err != nil {
		t.Fatal(err)
	}
	source, err := sourceOf(settings, client)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := source.Sample(t.Context(), snapshotOf(node)); err == nil || !strings.Contains(err.Error(), "rbac.kubeletSource=always") {
		t.Errorf("error %v, want the remedy", err)
	}
	if asked := k.requests(); asked != nil {
		t.Errorf("asked %q", asked)
	}
}

// certificate returns the files of a client certificate.
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
