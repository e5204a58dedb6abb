package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/internal/certificates"
	"github.com/evenkeel/evenkeel/observe/usage/source"
)

// process serves a status on a loopback address, at a port that all processes share.
func process(t *testing.T, ip string, port int, status string) int {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(ip, strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/status" || r.URL.Query().Get("pod") != "p" || !strings.HasPrefix(r.Host, "evenkeel.test:") {
			http.Error(w, r.Host+r.URL.String(), http.StatusBadRequest)
			return
		}
		_, _ = w.Write([]byte(status))
	}))
	_ = server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return listener.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // it listens on TCP
}

// kube-scheduler may have asked any of the processes to which a name resolves.
func TestEveryProcessIsAsked(t *testing.T) {
	const idle, asked = `{"asked":2,"podAsked":false,"ledger":{"generation":7}}`, `{"asked":3,"podAsked":true,"ledger":{"generation":9}}`
	status := func(n int64, podAsked bool, generation int64) (s Status) {
		s.Asked, s.PodAsked, s.Ledger.Generation = n, podAsked, generation
		return s
	}
	for name, tc := range map[string]struct {
		processes map[string]string // what the process at each address answers; nothing listens at other addresses
		addresses []string
		want      Status
		wantErr   string
	}{
		"the second was asked": {
			processes: map[string]string{"127.0.0.2": idle, "127.0.0.3": asked}, addresses: []string{"127.0.0.2", "127.0.0.3"},
			want: status(5, true, 7),
		},
		"none was asked": {
			processes: map[string]string{"127.0.0.2": idle, "127.0.0.3": idle}, addresses: []string{"127.0.0.3", "127.0.0.2"},
			want: status(4, false, 7),
		},
		"each has an address of both families": {
			processes: map[string]string{"127.0.0.2": idle, "127.0.0.3": asked}, addresses: []string{"2001:db8::2", "127.0.0.2", "2001:db8::3", "127.0.0.3"},
			want: status(5, true, 7),
		},
		"one is gone, another was asked": {
			processes: map[string]string{"127.0.0.3": asked}, addresses: []string{"127.0.0.2", "127.0.0.3"},
			want: status(3, true, 0),
		},
		"one is gone, and may have been asked": {
			processes: map[string]string{"127.0.0.3": idle}, addresses: []string{"127.0.0.2", "127.0.0.3"},
			wantErr: "refused",
		},
	} {
		t.Run(name, func(t *testing.T) {
			port := 0
			for ip, answer := range tc.processes {
				port = process(t, ip, port, answer)
			}
			r := &Extender{URL: "http://evenkeel.test:" + strconv.Itoa(port), Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
				if host != "evenkeel.test" {
					return nil, errors.New("unknown host")
				}
				var found []netip.Addr
				for _, ip := range tc.addresses {
					found = append(found, netip.MustParseAddr(ip))
				}
				return found, nil
			}}
			got, err := r.Status(t.Context(), "p")
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("error %v, want one with %q", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
		})
	}
}

// A proxy may know a host that DNS does not know.
func TestAnUnknownHostIsAskedAllTheSame(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"asked":4}`)) }))
	t.Cleanup(server.Close)
	r := &Extender{URL: server.URL, Resolve: func(context.Context, string) ([]netip.Addr, error) { return nil, errors.New("no such host") }}
	if got, err := r.Status(t.Context(), "p"); err != nil || got.Asked != 4 {
		t.Errorf("%+v, error %v", got, err)
	}
}

// An extender that requests client certificates gets one, but only if its own certificate is signed
// by the configured CA.
func TestMutualTLS(t *testing.T) {
	now := time.Now()
	ca, err := certificates.NewAuthority(now)
	if err != nil {
		t.Fatal(err)
	}
	serving, err := ca.Server([]string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1)}, time.Hour, now)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := ca.Client("evenkeel", time.Hour, now)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"asked":4}`)) }))
	pair, err := tls.X509KeyPair(serving.Cert, serving.Key)
	if err != nil {
		t.Fatal(err)
	}
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: x509.NewCertPool(), ClientAuth: tls.RequireAndVerifyClientCert}
	server.TLS.ClientCAs.AppendCertsFromPEM(ca.Cert)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)

	dir := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	caFile, certFile, keyFile := write("ca.crt", ca.Cert), write("client.crt", shown.Cert), write("client.key", shown.Key)
	for name, tc := range map[string]struct {
		tls     source.TLS
		invalid bool
		want    string // of the error
	}{
		"both know each other":         {tls: source.TLS{CAFile: caFile, CertFile: certFile, KeyFile: keyFile}},
		"no client certificate":        {tls: source.TLS{CAFile: caFile}, want: "certificate required"},
		"no CA":                        {tls: source.TLS{CertFile: certFile, KeyFile: keyFile}, want: "unknown authority"},
		"another name":                 {tls: source.TLS{CAFile: caFile, CertFile: certFile, KeyFile: keyFile, ServerName: "evenkeel.shop.svc"}, want: "not evenkeel.shop.svc"},
		"a key without its pair":       {tls: source.TLS{CAFile: caFile, KeyFile: keyFile}, invalid: true, want: "must be used together"},
		"a missing CA":                 {tls: source.TLS{CAFile: "/nowhere/ca.crt"}, invalid: true, want: "/nowhere/ca.crt"},
		"a key of another certificate": {tls: source.TLS{CAFile: caFile, CertFile: caFile, KeyFile: keyFile}, invalid: true, want: "does not match"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Extender{URL: server.URL, TLS: tc.tls}
			err := r.Validate()
			if (err != nil) != tc.invalid {
				t.Fatalf("valid: %v", err)
			}
			var status Status
			if err == nil {
				status, err = r.Status(t.Context(), "p")
			}
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("error %v, want %q", err, tc.want)
				}
				return
			}
			if err != nil || status.Asked != 4 {
				t.Errorf("%+v, error %v", status, err)
			}
		})
	}
}

// A redirect is treated as the answer and not followed.
func TestRedirectsAreNotFollowed(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was followed") }))
	t.Cleanup(elsewhere.Close)
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	t.Cleanup(server.Close)
	r := &Extender{URL: server.URL}
	if _, err := r.Status(t.Context(), "p"); err == nil || !strings.Contains(err.Error(), "307") {
		t.Errorf("error %v, want the status", err)
	}
}
