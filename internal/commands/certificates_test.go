package commands

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	v1 "k8s.io/api/core/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/scorer/admission/webhook"
)

var made = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func certificateOptions(dir string) CertificatesOptions {
	return CertificatesOptions{
		Directory: dir, Namespace: "evenkeel", Services: []string{"evenkeel", "evenkeel-extender"}, Validity: leafValidity,
	}
}

func makeCertificates(t *testing.T, options CertificatesOptions, now time.Time) (said string) {
	t.Helper()
	var out bytes.Buffer
	if err := Certificates(options, now, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func content(t *testing.T, path ...string) []byte {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// trusted fails the test unless the leaf certificates in a directory are signed by the given CA and valid at the given
// time.
func trusted(t *testing.T, dir string, ca []byte, at time.Time) {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	for name, use := range map[string]x509.ExtKeyUsage{"server": x509.ExtKeyUsageServerAuth, "client": x509.ExtKeyUsageClientAuth} {
		pair, err := tls.LoadX509KeyPair(filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key"))
		if err != nil {
			t.Fatal(err)
		}
		options := x509.VerifyOptions{Roots: roots, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{use}}
		if name == "server" {
			options.DNSName = "evenkeel.evenkeel.svc"
		}
		if _, err := pair.Leaf.Verify(options); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// One command creates all files. Only the owner can read the keys.
func TestCertificatesAreMade(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	options := certificateOptions(dir)
	options.Names, options.Addresses = []string{"steering.example.com"}, []net.IP{net.ParseIP("10.96.0.50")}
	said := makeCertificates(t, options, made)
	for _, want := range []string{"CA made, expires 2036-03-01", "expire 2027-03-01", "kubectl apply -f " + filepath.Join(dir, "secrets.yaml")} {
		if !strings.Contains(said, want) {
			t.Errorf("said %q, want %q in it", said, want)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	modes := map[string]os.FileMode{}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		modes[entry.Name()] = info.Mode().Perm()
	}
	want := map[string]os.FileMode{
		"ca.crt": 0o644, "ca.key": 0o600, "server.crt": 0o644, "server.key": 0o600, "client.crt": 0o644, "client.key": 0o600, "secrets.yaml": 0o600, "webhook.yaml": 0o644,
	}
	if diff := cmp.Diff(want, modes); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	trusted(t, dir, content(t, dir, "ca.crt"), made)
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "server.crt"), filepath.Join(dir, "server.key"))
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"evenkeel.evenkeel.svc", "evenkeel-extender.evenkeel.svc.cluster.local", "localhost", "127.0.0.1", "::1", "steering.example.com", "10.96.0.50"} {
		if err := pair.Leaf.VerifyHostname(host); err != nil {
			t.Error(err)
		}
	}
}

// A file or link that already exists at the path of a key does not expose the key, neither by its
// mode nor by its target.
func TestKeysAreNotGivenAway(t *testing.T) {
	dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "theirs")
	if err := os.WriteFile(filepath.Join(dir, ".server.key.new"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(dir, ".ca.key.new")); err != nil {
		t.Fatal(err)
	}
	makeCertificates(t, certificateOptions(dir), made)
	for _, name := range []string{"server.key", "ca.key"} {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != 0o600 {
			t.Errorf("%s has mode %s", name, info.Mode())
		}
	}
	if _, err := os.Stat(elsewhere); err == nil {
		t.Error("the CA's key was written to where a link leads")
	}
}

// The Secrets contain the files and have the names that the shipped manifests mount.
func TestSecretsHoldTheCertificates(t *testing.T) {
	dir := t.TempDir()
	makeCertificates(t, certificateOptions(dir), made)
	documents := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(content(t, dir, "secrets.yaml")), 4096)
	for _, want := range [][2]string{{serverSecret, "server"}, {clientSecret, "client"}} {
		var secret v1.Secret
		if err := documents.Decode(&secret); err != nil {
			t.Fatal(err)
		}
		data := map[string][]byte{
			"tls.crt": content(t, dir, want[1]+".crt"), "tls.key": content(t, dir, want[1]+".key"), "ca.crt": content(t, dir, "ca.crt"),
		}
		if diff := cmp.Diff(data, secret.Data); diff != "" || secret.Name != want[0] || secret.Namespace != "evenkeel" || secret.Type != v1.SecretTypeTLS {
			t.Errorf("Secret %s/%s of type %s (-want +got):\n%s", secret.Namespace, secret.Name, secret.Type, diff)
		}
	}
	deployment := string(content(t, "..", "..", "deploy", "overlays", "serve", "deployment.yaml"))
	if !strings.Contains(deployment, "secretName: "+serverSecret+"\n") {
		t.Errorf("the shipped Deployment does not mount the Secret %s", serverSecret)
	}
}

// The patch sets the CA of the shipped webhook, and the server's certificate has the name that the
// API server uses.
func TestPatchOfTheWebhook(t *testing.T) {
	dir := t.TempDir()
	makeCertificates(t, certificateOptions(dir), made)
	shipped := content(t, "..", "..", "deploy", "components", "admission-steering-webhook", "webhook.yaml")
	var want, patch admissionregistrationv1.MutatingWebhookConfiguration
	if err := yaml.UnmarshalStrict(bytes.Split(shipped, []byte("\n---\n"))[0], &want); err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(content(t, dir, "webhook.yaml"), &patch); err != nil {
		t.Fatal(err)
	}
	if patch.Name != want.Name || len(patch.Webhooks) != 1 || len(want.Webhooks) != 1 || patch.Webhooks[0].Name != want.Webhooks[0].Name {
		t.Fatalf("the patch is for %+v", patch)
	}
	if diff := cmp.Diff(content(t, dir, "ca.crt"), patch.Webhooks[0].ClientConfig.CABundle); diff != "" {
		t.Errorf("CA (-want +got):\n%s", diff)
	}
	server, err := tls.LoadX509KeyPair(filepath.Join(dir, "server.crt"), filepath.Join(dir, "server.key"))
	if err != nil {
		t.Fatal(err)
	}
	asked := want.Webhooks[0].ClientConfig.Service
	if err := server.Leaf.VerifyHostname(asked.Name + "." + asked.Namespace + ".svc"); err != nil || *asked.Path != webhook.Path {
		t.Errorf("the API server asks %s: %v", *asked.Path, err)
	}
}

// Running the command again renews the leaf certificates and keeps the CA, even if the CA is stored elsewhere or is
// about to be replaced.
func TestCertificatesAreRenewed(t *testing.T) {
	dir, later := t.TempDir(), made.AddDate(0, 11, 0)
	makeCertificates(t, certificateOptions(dir), made)
	ca, before := content(t, dir, "ca.crt"), content(t, dir, "server.crt")
	if said := makeCertificates(t, certificateOptions(dir), later); !strings.Contains(said, "CA kept, expires 2036-03-01") {
		t.Errorf("said %q", said)
	}
	if !bytes.Equal(ca, content(t, dir, "ca.crt")) || bytes.Equal(before, content(t, dir, "server.crt")) {
		t.Error("the CA is another one, or the server's certificate the same")
	}
	trusted(t, dir, ca, made.AddDate(1, 6, 0))

	elsewhere := certificateOptions(t.TempDir())
	elsewhere.CAFile, elsewhere.CAKeyFile = filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key")
	makeCertificates(t, elsewhere, later)
	trusted(t, elsewhere.Directory, ca, later)
	if _, err := os.Stat(filepath.Join(elsewhere.Directory, "ca.key")); err == nil {
		t.Error("the key of the CA was copied")
	}

	// A new CA is followed by the old one, so that both are trusted.
	next := t.TempDir()
	makeCertificates(t, certificateOptions(next), later)
	both := slices.Concat(content(t, next, "ca.crt"), ca)
	if err := os.WriteFile(filepath.Join(next, "ca.crt"), both, 0o600); err != nil {
		t.Fatal(err)
	}
	makeCertificates(t, certificateOptions(next), later)
	trusted(t, next, both, later)
	trusted(t, dir, both, later)
	if !bytes.Equal(both, content(t, next, "ca.crt")) {
		t.Error("the old CA is no longer trusted")
	}
}

// A mistake is reported with the flag or the file, and nothing is written.
func TestCertificatesRefuse(t *testing.T) {
	ready := t.TempDir()
	makeCertificates(t, certificateOptions(ready), made)
	for name, tc := range map[string]struct {
		change func(*CertificatesOptions)
		want   string
	}{
		"no directory":        {func(o *CertificatesOptions) { o.Directory = "" }, "--directory: "},
		"a CA without key":    {func(o *CertificatesOptions) { o.CAFile = "x" }, "--ca-file and --ca-key-file must be used together"},
		"too short a time":    {func(o *CertificatesOptions) { o.Validity = time.Minute }, "--validity: 1m0s is less than 1h0m0s"},
		"longer than the CA":  {func(o *CertificatesOptions) { o.Validity = 11 * 365 * 24 * time.Hour }, "--validity: a certificate that is valid for 96360h0m0s would outlive its CA"},
		"an odd namespace":    {func(o *CertificatesOptions) { o.Namespace = "Even.Keel" }, `--namespace: "Even.Keel": `},
		"an odd Service":      {func(o *CertificatesOptions) { o.Services = []string{"1"} }, `--service: "1": `},
		"an odd name":         {func(o *CertificatesOptions) { o.Names = []string{"a b"} }, `--dns: "a b": `},
		"a CA that is absent": {func(o *CertificatesOptions) { o.CAFile, o.CAKeyFile = "/nowhere/ca.crt", "/nowhere/ca.key" }, "open /nowhere/ca.crt"},
		"a CA with another key": {
			func(o *CertificatesOptions) {
				o.CAFile, o.CAKeyFile = filepath.Join(ready, "ca.crt"), filepath.Join(ready, "client.key")
			}, "private key does not match",
		},
		"an incomplete CA": {func(o *CertificatesOptions) {
			if err := os.WriteFile(filepath.Join(o.Directory, "ca.crt"), content(t, ready, "ca.crt"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "ca.key: no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			options := certificateOptions(dir)
			tc.change(&options)
			err := Certificates(options, made, &bytes.Buffer{})
			if err == nil || !strings.Contains(err.Error(), tc.want) || exit.Code(err) != exit.Misuse {
				t.Errorf("exit code %d, error %v, want %q", exit.Code(err), err, tc.want)
			}
			if _, err := os.Stat(filepath.Join(dir, "server.crt")); err == nil {
				t.Error("something was written")
			}
		})
	}
}
