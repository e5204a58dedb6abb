package certificates_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/internal/certificates"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const year = 365 * 24 * time.Hour

func authority(t *testing.T) *certificates.Authority {
	t.Helper()
	ca, err := certificates.NewAuthority(now)
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

func leafOf(t *testing.T, pair certificates.Pair) *x509.Certificate {
	t.Helper()
	got, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	return got.Leaf
}

// A certificate is valid only for its own side of a connection, for its names, under its own CA and
// within its lifetime.
func TestCertificatesAreGoodForOneThing(t *testing.T) {
	ca, other := authority(t), authority(t)
	served, err := ca.Server([]string{"evenkeel.evenkeel.svc"}, []net.IP{net.ParseIP("10.96.0.50")}, year, now)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := ca.Client("kube-scheduler", year, now)
	if err != nil {
		t.Fatal(err)
	}
	server, client := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	for name, tc := range map[string]struct {
		pair certificates.Pair
		ca   *certificates.Authority
		as   x509.VerifyOptions
		want bool
	}{
		"the server by its name":          {served, ca, x509.VerifyOptions{DNSName: "evenkeel.evenkeel.svc", KeyUsages: server}, true},
		"the server by its address":       {served, ca, x509.VerifyOptions{DNSName: "10.96.0.50", KeyUsages: server}, true},
		"the server by another name":      {served, ca, x509.VerifyOptions{DNSName: "evenkeel.shop.svc", KeyUsages: server}, false},
		"the server as a client":          {served, ca, x509.VerifyOptions{KeyUsages: client}, false},
		"the client":                      {shown, ca, x509.VerifyOptions{KeyUsages: client}, true},
		"the client as a server":          {shown, ca, x509.VerifyOptions{KeyUsages: server}, false},
		"under another CA":                {shown, other, x509.VerifyOptions{KeyUsages: client}, false},
		"by a clock that is behind":       {shown, ca, x509.VerifyOptions{KeyUsages: client, CurrentTime: now.Add(-time.Hour)}, true},
		"before its time":                 {shown, ca, x509.VerifyOptions{KeyUsages: client, CurrentTime: now.Add(-2 * time.Hour)}, false},
		"on its last day":                 {shown, ca, x509.VerifyOptions{KeyUsages: client, CurrentTime: now.Add(year)}, true},
		"after it":                        {shown, ca, x509.VerifyOptions{KeyUsages: client, CurrentTime: now.Add(year + time.Second)}, false},
		"the CA outlives its certificate": {ca.Pair, ca, x509.VerifyOptions{KeyUsages: client, CurrentTime: now.Add(9 * year)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			options := tc.as
			options.Roots = x509.NewCertPool()
			options.Roots.AppendCertsFromPEM(tc.ca.Cert)
			if options.CurrentTime.IsZero() {
				options.CurrentTime = now
			}
			if _, err := leafOf(t, tc.pair).Verify(options); (err == nil) != tc.want {
				t.Errorf("good: %v (%v), want %v", err == nil, err, tc.want)
			}
		})
	}
}

// A stored CA can sign further certificates, even if it is only the first of several trusted ones.
func TestAStoredAuthoritySignsAgain(t *testing.T) {
	ca, old := authority(t), authority(t)
	later := now.AddDate(9, 0, 0)
	kept, err := certificates.ParseAuthority(append(ca.Cert, old.Cert...), ca.Key, later)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := kept.Client("kube-scheduler", 300*24*time.Hour, later)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.Cert)
	if _, err := leafOf(t, pair).Verify(x509.VerifyOptions{Roots: roots, CurrentTime: later, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
		t.Error(err)
	}
	if want := now.AddDate(10, 0, 0); !kept.Expires.Equal(want) {
		t.Errorf("the CA expires at %v, want %v", kept.Expires, want)
	}
}

func TestAuthoritiesThatCannotSign(t *testing.T) {
	ca, other := authority(t), authority(t)
	leaf, err := ca.Client("kube-scheduler", year, now)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		cert, key []byte
		at        time.Time
		validity  time.Duration
		want      string
	}{
		"not PEM":              {[]byte("x"), ca.Key, now, year, "reading the CA: tls: failed to find any PEM data"},
		"another's key":        {ca.Cert, other.Key, now, year, "reading the CA: tls: private key does not match public key"},
		"a leaf certificate":   {leaf.Cert, leaf.Key, now, year, "reading the CA: its certificate may not sign others"},
		"it has expired":       {ca.Cert, ca.Key, now.AddDate(10, 0, 1), year, "reading the CA: it expired at 2036-03-01T12:00:00Z"},
		"it expires too early": {ca.Cert, ca.Key, now.AddDate(9, 6, 0), year, "would outlive its CA, which expires at 2036-03-01T12:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			ca, err := certificates.ParseAuthority(tc.cert, tc.key, tc.at)
			if err == nil {
				_, err = ca.Client("kube-scheduler", tc.validity, tc.at)
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// No two certificates share a serial number, because it identifies them.
func TestSerialNumbersDiffer(t *testing.T) {
	ca := authority(t)
	seen := map[string]bool{}
	for range 3 {
		pair, err := ca.Client("kube-scheduler", year, now)
		if err != nil {
			t.Fatal(err)
		}
		seen[leafOf(t, pair).SerialNumber.String()] = true
	}
	if diff := cmp.Diff(3, len(seen)); diff != "" {
		t.Errorf("different serial numbers (-want +got):\n%s", diff)
	}
}
