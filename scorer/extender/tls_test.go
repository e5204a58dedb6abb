package extender

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/scorer/extender/certs"
)

// TestTLS verifies that clients need a certificate, and what the server accepts in negotiation.
func TestTLS(t *testing.T) {
	pki := newPKI(t)
	address := runServer(t, Config{
		Answerer: newFakeAnswerer(),
		TLS:      certs.Files{CertFile: pki.certFile, KeyFile: pki.keyFile, ClientCAFile: pki.caFile},
	})
	cert, err := tls.LoadX509KeyPair(pki.certFile, pki.keyFile)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		config *tls.Config
		want   bool
	}{
		"with a certificate":    {&tls.Config{Certificates: []tls.Certificate{cert}}, true},
		"without a certificate": {&tls.Config{}, false},
		"an old protocol":       {&tls.Config{Certificates: []tls.Certificate{cert}, MaxVersion: tls.VersionTLS11}, false},
	} {
		t.Run(name, func(t *testing.T) {
			config := tc.config.Clone()
			config.RootCAs = pki.roots
			client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}}
			defer client.CloseIdleConnections()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/livez", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(r)
			if err == nil {
				defer func() { _ = resp.Body.Close() }()
			}
			if got := err == nil && resp.StatusCode == http.StatusOK && resp.ProtoMajor == 1; got != tc.want {
				t.Errorf("answered %t, want %t (%v)", got, tc.want, err)
			}
		})
	}
}

// files are a server's certificate files, whose content tests change.
type files struct {
	t *testing.T
	certs.Files
}

func newFiles(t *testing.T, from pki) *files {
	t.Helper()
	dir := t.TempDir()
	f := &files{t, certs.Files{CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key"), ClientCAFile: filepath.Join(dir, "ca.crt")}}
	f.become(from)
	return f
}

func (f *files) become(from pki) {
	f.t.Helper()
	for to, from := range map[string]string{f.CertFile: from.certFile, f.KeyFile: from.keyFile, f.ClientCAFile: from.caFile} {
		content, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, content, 0o600)
		}
		if err != nil {
			f.t.Fatal(err)
		}
	}
}

// A returning client must present its certificate again, because the CA may have changed in the
// meantime.
func TestSessionsAreNotResumed(t *testing.T) {
	pki := newPKI(t)
	address := runServer(t, Config{
		Answerer: newFakeAnswerer(),
		TLS:      certs.Files{CertFile: pki.certFile, KeyFile: pki.keyFile, ClientCAFile: pki.caFile},
	})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
		RootCAs: pki.roots, Certificates: []tls.Certificate{pki.pair}, ClientSessionCache: tls.NewLRUClientSessionCache(1),
	}}}
	for range 2 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/livez", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.TLS.DidResume {
			t.Error("a session was resumed")
		}
	}
}

// A connection that is old, or was opened with other certificates, ends with a reply that announces
// its end, so its client loses no request.
func TestConnectionsEnd(t *testing.T) {
	pki := newPKI(t)
	keepers := [2]*certs.Keeper{}
	for i := range keepers {
		var err error
		if keepers[i], err = certs.NewKeeper(certs.Files{CertFile: pki.certFile, KeyFile: pki.keyFile}, "test"); err != nil {
			t.Fatal(err)
		}
	}
	before, after := keepers[0].Current(), keepers[1].Current()
	for name, tc := range map[string]struct {
		age  time.Duration
		by   *certs.Identity
		want string
	}{
		"young":                    {time.Minute, after, ""},
		"old":                      {maxConnectionAge + time.Second, after, "close"},
		"under other certificates": {time.Minute, before, "close"},
		"young, without TLS":       {time.Minute, nil, ""},
		"old, without TLS":         {maxConnectionAge + time.Second, nil, "close"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestServer(t, Config{Answerer: newFakeAnswerer("a")})
			c := &connection{opened: time.Now().Add(-tc.age), by: tc.by}
			r := httptest.NewRequestWithContext(context.WithValue(t.Context(), connectionKey{}, c), http.MethodGet, "/livez", nil)
			w := httptest.NewRecorder()
			ageing(s.routes, keepers[1]).ServeHTTP(w, r)
			if got := w.Header().Get("Connection"); got != tc.want || w.Code != http.StatusOK {
				t.Errorf("status %d, connection %q, want %q", w.Code, got, tc.want)
			}
		})
	}
}

// A short reply arrives in one piece over TLS as well. Clients with new certificates are served as
// soon as the files change, on the same listener, and a client that keeps its connection is not
// interrupted.
func TestRotationUnderRequests(t *testing.T) {
	first, second := newPKI(t), newPKI(t)
	f, listener := newFiles(t, first), &countingListener{Listener: listen(t)}
	names := nodeNames(400)
	s := newTestServer(t, Config{Answerer: newFakeAnswerer(names...), Listener: listener, TLS: f.Files})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	connections := 0
	client := func(with pki) *http.Client {
		config := &tls.Config{RootCAs: with.roots, Certificates: []tls.Certificate{with.pair}}
		transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
		transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			connections++
			return new(net.Dialer).DialContext(ctx, network, address)
		}
		t.Cleanup(transport.CloseIdleConnections)
		return &http.Client{Transport: transport}
	}
	url, request := "https://"+listener.Addr().String()+"/filter", namesRequest(t, realisticPod(), names...)
	want := do(t, s, "/filter", request)
	old := client(first)
	for number := range 3 {
		before := listener.writes.Load()
		if got := ask(t, old, url, request); !bytes.Equal(got, want) {
			t.Fatalf("reply %.80q", got)
		}
		// The first reply follows a handshake.
		if wrote := listener.writes.Load() - before; number > 0 && wrote != 1 {
			t.Errorf("%d bytes arrived in %d pieces", len(want), wrote)
		}
	}
	f.become(second)
	for range 2 { // as Follow does, some seconds later
		s.certificates.Reread(t.Context())
	}
	if got := ask(t, old, url, request); !bytes.Equal(got, want) || connections != 1 {
		t.Errorf("after the change the open connection is answered %.80q, %d connections", got, connections)
	}
	if _, err := old.Post(url, "application/json", bytes.NewReader(request)); err == nil { //nolint:bodyclose,noctx // it must fail
		t.Error("a client of the old CA is answered on a new connection")
	}
	if got := ask(t, client(second), url, request); !bytes.Equal(got, want) {
		t.Errorf("a client of the new CA is answered %.80q", got)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// While HTTPS is served at one address, plain HTTP may be served at another.
func TestBothListeners(t *testing.T) {
	pki, free := newPKI(t), listen(t)
	plain := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	secure := runServer(t, Config{
		Answerer: newFakeAnswerer("a"), InsecureAddress: plain,
		TLS: certs.Files{CertFile: pki.certFile, KeyFile: pki.keyFile, ClientCAFile: pki.caFile},
	})
	request := namesRequest(t, realisticPod(), "a")
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pki.roots, Certificates: []tls.Certificate{pki.pair}}}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport}
	for _, url := range []string{"https://" + secure + "/filter", "http://" + plain + "/filter"} {
		if got := ask(t, client, url, request); !strings.HasPrefix(string(got), `{"NodeNames":["a"]`) {
			t.Errorf("%s answers %q", url, got)
		}
	}
}

// If either address is unavailable, nothing is served at the other.
func TestSecondAddressTaken(t *testing.T) {
	pki, taken := newPKI(t), listen(t)
	s := newTestServer(t, Config{
		Answerer: newFakeAnswerer("a"), Listener: listen(t), InsecureAddress: taken.Addr().String(),
		TLS: certs.Files{CertFile: pki.certFile, KeyFile: pki.keyFile},
	})
	if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("error %v", err)
	}
}

func TestLoopback(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1:8888": true, "127.8.9.1:0": true, "[::1]:8888": true, "localhost:8888": true, "[::ffff:127.0.0.1]:80": true,
		":8888": false, "0.0.0.0:8888": false, "[::]:8888": false, "10.0.0.1:8888": false, "[::ffff:10.0.0.1]:80": false,
		"localhost.example.com:80": false, "127.0.0.1.example.com:80": false, "127.0.0.1": false, "": false, "[fe80::1%lo]:80": false,
	} {
		if got := Loopback(address); got != want {
			t.Errorf("%q: %v, want %v", address, got, want)
		}
	}
}

// pki is a self-signed certificate.
type pki struct {
	certFile, keyFile, caFile string

	pair  tls.Certificate
	roots *x509.CertPool
}

func newPKI(t *testing.T) pki {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "extender"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	certFile := write("tls.crt", "CERTIFICATE", cert)
	p := pki{certFile: certFile, keyFile: write("tls.key", "EC PRIVATE KEY", private), caFile: certFile, roots: x509.NewCertPool()}
	parsed, err := x509.ParseCertificate(cert)
	if err != nil {
		t.Fatal(err)
	}
	p.roots.AddCert(parsed)
	p.pair = tls.Certificate{Certificate: [][]byte{cert}, PrivateKey: key}
	return p
}
