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
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestTLS verifies that clients need a certificate, and the server's limits on
// what is negotiated.
func TestTLS(t *testing.T) {
	pki := newPKI(t)
	address := runServer(t, Config{
		Answerer: newFakeAnswerer(),
		TLS:      TLS{CertFile: pki.certFile, KeyFile: pki.keyFile, ClientCAFile: pki.caFile},
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

// files are those of a server, which tests change.
type files struct {
	t *testing.T
	TLS
}

func newFiles(t *testing.T, from pki) *files {
	t.Helper()
	dir := t.TempDir()
	f := &files{t, TLS{CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key"), ClientCAFile: filepath.Join(dir, "ca.crt")}}
	f.become(from)
	return f
}

func (f *files) become(from pki) {
	f.t.Helper()
	f.copy(from.certFile, f.CertFile)
	f.copy(from.keyFile, f.KeyFile)
	f.copy(from.caFile, f.ClientCAFile)
}

func (f *files) copy(from, to string) {
	f.t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		f.t.Fatal(err)
	}
	f.write(to, string(content))
}

func (f *files) write(to, content string) {
	f.t.Helper()
	if err := os.WriteFile(to, []byte(content), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// Changed files take effect without a restart; unusable ones leave everything
// as it was, and are told of once.
func TestCertificateFilesAreFollowed(t *testing.T) {
	first, second := newPKI(t), newPKI(t)
	synctest.Test(t, func(t *testing.T) {
		f := newFiles(t, first)
		k, err := newKeeper(f.TLS, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- k.follow(ctx) }()
		for _, step := range []struct {
			what    string
			change  func()
			after   time.Duration
			serving pki
			metrics [2]float64 // reloads, and whether the files are unusable
		}{
			{"nothing has changed", func() {}, time.Minute, first, [2]float64{0, 0}},
			{"the certificate is there before its key", func() { f.copy(second.certFile, f.CertFile) }, rereadInterval, first, [2]float64{0, 0}},
			{"and stays alone", func() {}, rereadInterval, first, [2]float64{0, 1}},
			{"with its key it is read once", func() { f.copy(second.keyFile, f.KeyFile) }, rereadInterval, first, [2]float64{0, 1}},
			{"and again, under the CA before", func() {}, rereadInterval, second, [2]float64{1, 0}},
			{"clients have another CA", func() { f.copy(second.caFile, f.ClientCAFile) }, 2 * rereadInterval, second, [2]float64{2, 0}},
			{"the CA is none", func() { f.write(f.ClientCAFile, "none") }, time.Minute, second, [2]float64{2, 1}},
			{"a second CA is damaged", func() { f.write(f.ClientCAFile, damagedAfter(second)) }, time.Minute, second, [2]float64{2, 1}},
			{"the certificate is gone", func() { _ = os.Remove(f.CertFile) }, time.Minute, second, [2]float64{2, 1}},
			{"all is as it was", func() { f.become(second) }, 2 * rereadInterval, second, [2]float64{2, 0}},
			{"and as it was at first", func() { f.become(first) }, 2 * rereadInterval, first, [2]float64{3, 0}},
		} {
			step.change()
			time.Sleep(step.after)
			synctest.Wait()
			if got := k.current.Load().config.Certificates[0].Leaf; !got.Equal(step.serving.leaf) {
				t.Errorf("%s: it serves with the wrong certificate", step.what)
			}
			if got := [2]float64{testutil.ToFloat64(k.reloads), testutil.ToFloat64(k.stale)}; got != step.metrics {
				t.Errorf("%s: reloads, and whether the files are unusable: %v, want %v", step.what, got, step.metrics)
			}
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// damagedAfter is a certificate and another one that lacks its end.
func damagedAfter(p pki) string {
	whole := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.leaf.Raw}))
	return whole + whole[:len(whole)/2]
}

// When certificates expire can be read from the metrics.
func TestExpiryIsExported(t *testing.T) {
	pki, registry := newPKI(t), prometheus.NewRegistry()
	if _, err := newKeeper(TLS{CertFile: pki.certFile, KeyFile: pki.keyFile, ClientCAFile: pki.caFile}, registry); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		if family.GetName() == "evenkeel_extender_certificate_expiry_timestamp_seconds" {
			for _, m := range family.GetMetric() {
				got[m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
			}
		}
	}
	ends := float64(pki.leaf.NotAfter.Unix())
	if diff := cmp.Diff(map[string]float64{"serving": ends, "client-ca": ends}, got); diff != "" {
		t.Errorf("expiry by certificate (-want +got):\n%s", diff)
	}
}

// Of several certificates in a file the one counts that expires first, wherever
// it is.
func TestFirstExpiryCounts(t *testing.T) {
	pki := newPKI(t)
	first := newPKI(t, pki.leaf.NotAfter.Add(-30*time.Minute))
	contents := map[string]string{}
	for name, from := range map[string]string{"early": first.certFile, "late": pki.certFile} {
		content, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		contents[name] = string(content)
	}
	for _, content := range []string{contents["early"] + contents["late"], contents["late"] + contents["early"]} {
		if _, ends, err := certificates(content); err != nil || !ends.Equal(first.leaf.NotAfter) {
			t.Errorf("they expire at %s (%v), want %s", ends, err, first.leaf.NotAfter)
		}
	}
}

// A client that comes again is asked for its certificate again: the CA may have
// changed since.
func TestSessionsAreNotResumed(t *testing.T) {
	pki := newPKI(t)
	address := runServer(t, Config{
		Answerer: newFakeAnswerer(),
		TLS:      TLS{CertFile: pki.certFile, KeyFile: pki.keyFile, ClientCAFile: pki.caFile},
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

// A connection that is old, or was opened under other certificates, ends with a
// reply that says so: its client loses no request.
func TestConnectionsEnd(t *testing.T) {
	before, after := &identity{}, &identity{}
	for name, tc := range map[string]struct {
		age  time.Duration
		by   *identity
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
			s.certificates = &keeper{}
			s.certificates.current.Store(after)
			c := &connection{opened: time.Now().Add(-tc.age), by: tc.by}
			r := httptest.NewRequestWithContext(context.WithValue(t.Context(), connectionKey{}, c), http.MethodGet, "/livez", nil)
			w := httptest.NewRecorder()
			s.certificates.ageing(s.routes).ServeHTTP(w, r)
			if got := w.Header().Get("Connection"); got != tc.want || w.Code != http.StatusOK {
				t.Errorf("status %d, connection %q, want %q", w.Code, got, tc.want)
			}
		})
	}
}

// Over TLS too a short reply comes in one piece, and clients with other
// certificates are served from when the files change, on the same listener: a
// client that keeps its connection is not interrupted.
func TestRotationUnderRequests(t *testing.T) {
	first, second := newPKI(t), newPKI(t)
	f, listener := newFiles(t, first), &countingListener{Listener: listen(t)}
	names := nodeNames(400)
	s := newTestServer(t, Config{Answerer: newFakeAnswerer(names...), Listener: listener, TLS: f.TLS})
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
		// The first one comes after a handshake.
		if wrote := listener.writes.Load() - before; number > 0 && wrote != 1 {
			t.Errorf("%d bytes came in %d pieces", len(want), wrote)
		}
	}
	f.become(second)
	changed, err := f.identity(f.read()) // as follow finds it, some seconds later
	if err != nil {
		t.Fatal(err)
	}
	s.certificates.current.Store(changed)
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

// While HTTPS is served at one address plain HTTP may be served at another.
func TestBothListeners(t *testing.T) {
	pki, free := newPKI(t), listen(t)
	plain := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	secure := runServer(t, Config{
		Answerer: newFakeAnswerer("a"), InsecureAddress: plain,
		TLS: TLS{CertFile: pki.certFile, KeyFile: pki.keyFile, ClientCAFile: pki.caFile},
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

// Without both addresses none is served.
func TestSecondAddressTaken(t *testing.T) {
	pki, taken := newPKI(t), listen(t)
	s := newTestServer(t, Config{
		Answerer: newFakeAnswerer("a"), Listener: listen(t), InsecureAddress: taken.Addr().String(),
		TLS: TLS{CertFile: pki.certFile, KeyFile: pki.keyFile},
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

// pki is a certificate that is its own authority.
type pki struct {
	certFile, keyFile, caFile string

	leaf  *x509.Certificate
	pair  tls.Certificate
	roots *x509.CertPool
}

func newPKI(t *testing.T, notAfter ...time.Time) pki {
	t.Helper()
	ends := append(notAfter, time.Now().Add(time.Hour))[0]
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "extender"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: ends,
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
	p.leaf, p.pair = parsed, tls.Certificate{Certificate: [][]byte{cert}, PrivateKey: key}
	return p
}
