package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	maker "github.com/evenkeel/evenkeel/internal/certificates"
)

// pki is a server's certificate, together with its CA and the CA's expiry.
type pki struct {
	cert, key, ca string
	leaf          *x509.Certificate
	authority     time.Time
}

func newPKI(t *testing.T, validity time.Duration) pki {
	t.Helper()
	ca, err := maker.NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	server, err := ca.Server([]string{"localhost"}, nil, validity, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(server.Cert, server.Key)
	if err != nil {
		t.Fatal(err)
	}
	return pki{cert: string(server.Cert), key: string(server.Key), ca: string(ca.Cert), leaf: pair.Leaf, authority: ca.Expires}
}

// files are a server's certificate files, whose content tests change.
type files struct {
	t *testing.T
	Files
}

func newFiles(t *testing.T, from pki) *files {
	t.Helper()
	dir := t.TempDir()
	f := &files{t, Files{CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key"), ClientCAFile: filepath.Join(dir, "ca.crt")}}
	f.become(from)
	return f
}

func (f *files) become(from pki) {
	f.t.Helper()
	f.write(f.CertFile, from.cert)
	f.write(f.KeyFile, from.key)
	f.write(f.ClientCAFile, from.ca)
}

func (f *files) write(to, content string) {
	f.t.Helper()
	if err := os.WriteFile(to, []byte(content), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// The files are rejected unless both certificate and key are set or none is.
func TestValidate(t *testing.T) {
	for name, tc := range map[string]struct {
		files Files
		valid bool
	}{
		"none": {Files{}, true}, "a pair": {Files{CertFile: "c", KeyFile: "k"}, true}, "all": {Files{"c", "k", "ca"}, true},
		"a certificate alone": {Files{CertFile: "c"}, false}, "a key alone": {Files{KeyFile: "k"}, false}, "a client CA alone": {Files{ClientCAFile: "ca"}, false},
	} {
		if err := tc.files.Validate(); (err == nil) != tc.valid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Changed files take effect without a restart. Unusable files change nothing and are reported once.
func TestCertificateFilesAreFollowed(t *testing.T) {
	first, second := newPKI(t, time.Hour), newPKI(t, time.Hour)
	synctest.Test(t, func(t *testing.T) {
		f := newFiles(t, first)
		k, err := NewKeeper(f.Files, "test")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- k.Follow(ctx) }()
		for _, step := range []struct {
			what    string
			change  func()
			after   time.Duration
			serving pki
			metrics [2]float64 // the number of reloads, and whether the files are unusable
		}{
			{"nothing has changed", func() {}, time.Minute, first, [2]float64{0, 0}},
			{"the certificate arrives before its key", func() { f.write(f.CertFile, second.cert) }, rereadInterval, first, [2]float64{0, 0}},
			{"and stays alone", func() {}, rereadInterval, first, [2]float64{0, 1}},
			{"with its key it is read once", func() { f.write(f.KeyFile, second.key) }, rereadInterval, first, [2]float64{0, 1}},
			{"and again, under the CA before", func() {}, rereadInterval, second, [2]float64{1, 0}},
			{"clients have another CA", func() { f.write(f.ClientCAFile, second.ca) }, 2 * rereadInterval, second, [2]float64{2, 0}},
			{"an invalid CA", func() { f.write(f.ClientCAFile, "none") }, time.Minute, second, [2]float64{2, 1}},
			{"a second CA is damaged", func() { f.write(f.ClientCAFile, damagedAfter(second)) }, time.Minute, second, [2]float64{2, 1}},
			{"the certificate is gone", func() { _ = os.Remove(f.CertFile) }, time.Minute, second, [2]float64{2, 1}},
			{"all is as it was", func() { f.become(second) }, 2 * rereadInterval, second, [2]float64{2, 0}},
			{"and as it was at first", func() { f.become(first) }, 2 * rereadInterval, first, [2]float64{3, 0}},
		} {
			step.change()
			time.Sleep(step.after)
			synctest.Wait()
			if got := k.Current().config.Certificates[0].Leaf; !got.Equal(step.serving.leaf) {
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

// damagedAfter returns a certificate followed by a truncated one.
func damagedAfter(p pki) string {
	return p.cert + p.cert[:len(p.cert)/2]
}

// The metrics export when certificates expire.
func TestExpiryIsExported(t *testing.T) {
	pki, registry := newPKI(t, time.Hour), prometheus.NewRegistry()
	k, err := NewKeeper(newFiles(t, pki).Files, "extender")
	if err != nil {
		t.Fatal(err)
	}
	registry.MustRegister(k.Metrics()...)
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
	ca := float64(pki.authority.Unix())
	want := map[string]float64{"serving": float64(pki.leaf.NotAfter.Unix()), "client_ca": ca}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("expiry by certificate (-want +got):\n%s", diff)
	}
}

// If a file has several certificates, the one that expires first counts, wherever it is in the
// file.
func TestFirstExpiryCounts(t *testing.T) {
	late, early := newPKI(t, time.Hour), newPKI(t, time.Minute)
	for _, content := range []string{early.cert + late.cert, late.cert + early.cert} {
		if _, ends, err := certificates(content); err != nil || !ends.Equal(early.leaf.NotAfter) {
			t.Errorf("they expire at %s (%v), want %s", ends, err, early.leaf.NotAfter)
		}
	}
}
