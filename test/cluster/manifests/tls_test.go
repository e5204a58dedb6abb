package manifests

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// issued describes a certificate or a request to cert-manager for one.
type issued struct {
	DNSNames, IPAddresses, Usages []string
	IsCA                          bool
	// Days is rounded down.
	Days int
}

// The Secrets that cert-manager creates hold certificates with the same names, uses and lifetimes
// as those from `evenkeel certificates`.
func TestCertManagerMakesTheSame(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	if stderr, err := run(t, "certificates", "--directory", dir); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	ours := map[string]issued{
		"evenkeel-ca":         issuedFile(t, filepath.Join(dir, "ca.crt")),
		"evenkeel-server-tls": issuedFile(t, filepath.Join(dir, "server.crt")),
		"evenkeel-client-tls": issuedFile(t, filepath.Join(dir, "client.crt")),
	}
	theirs := map[string]issued{}
	for document := range strings.SplitSeq(string(Read(t, filepath.Join(Dir(t), CertManager))), "\n---\n") {
		var object struct {
			Kind string
			Spec struct {
				issued
				SecretName string
				Duration   metav1.Duration
			}
		}
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		if object.Kind == "Certificate" {
			object.Spec.Days = days(object.Spec.Duration.Duration)
			theirs[object.Spec.SecretName] = object.Spec.issued
		}
	}
	if diff := cmp.Diff(ours, theirs); diff != "" {
		t.Errorf("certificates (-ours +cert-manager's):\n%s", diff)
	}
}

func issuedFile(t *testing.T, path string) issued {
	t.Helper()
	block, _ := pem.Decode(Read(t, path))
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	got := issued{DNSNames: cert.DNSNames, IsCA: cert.IsCA, Days: days(cert.NotAfter.Sub(cert.NotBefore))}
	if cert.IsCA {
		got.Days = got.Days / 3650 * 3650 // ten years, with or without leap days
	}
	for _, ip := range cert.IPAddresses {
		got.IPAddresses = append(got.IPAddresses, ip.String())
	}
	if !cert.IsCA && cert.KeyUsage == x509.KeyUsageDigitalSignature {
		got.Usages = append(got.Usages, "digital signature")
	}
	names := map[x509.ExtKeyUsage]string{x509.ExtKeyUsageServerAuth: "server auth", x509.ExtKeyUsageClientAuth: "client auth"}
	for _, use := range cert.ExtKeyUsage {
		got.Usages = append(got.Usages, names[use])
	}
	return got
}

func days(d time.Duration) int { return int(d / (24 * time.Hour)) }

// patch changes objects of one kind and name.
type patch struct {
	Target struct{ Kind, Name string }
	Patch  string
}

// fits reports whether the patch applies to an object.
func (p *patch) fits(object runtime.Object) bool {
	meta, ok := object.(metav1.Object)
	return ok && object.GetObjectKind().GroupVersionKind().Kind == p.Target.Kind &&
		regexp.MustCompile("^("+p.Target.Name+")$").MatchString(meta.GetName())
}

func (p *patch) apply(t *testing.T, object runtime.Object) []byte {
	t.Helper()
	operations, err := yaml.YAMLToJSON([]byte(p.Patch))
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := jsonpatch.DecodePatch(operations)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	if text, err = decoded.Apply(text); err != nil {
		t.Fatal(err)
	}
	return text
}

// patchesOf returns the patches of a component.
func patchesOf(t *testing.T, name string) []patch {
	t.Helper()
	var component struct{ Patches []patch }
	if err := yaml.Unmarshal(Read(t, filepath.Join(Dir(t), "components", name, "kustomization.yaml")), &component); err != nil {
		t.Fatal(err)
	}
	return component.Patches
}

// The webhook component makes `serve` answer, with flags that it knows, at a port to which the
// Service leads and to which the NetworkPolicy allows connections.
func TestWebhookComponentFits(t *testing.T) {
	var changed []string
	for _, object := range slices.Concat(slices.Collect(maps.Values(Objects(t)))...) {
		for _, p := range patchesOf(t, "admission-steering-webhook") {
			if !p.fits(object) {
				continue
			}
			text := p.apply(t, object)
			if !strings.Contains(string(text), `"webhook"`) {
				t.Errorf("it has no port of that name: %s", text)
			}
			if p.Target.Kind == "Deployment" {
				var deployment appsv1.Deployment
				if err := json.Unmarshal(text, &deployment); err != nil {
					t.Fatal(err)
				}
				container := deployment.Spec.Template.Spec.Containers[0]
				checkFlags(t, container.Args)
				if l := container.Lifecycle; l == nil || l.PreStop == nil || l.PreStop.Sleep == nil || l.PreStop.Sleep.Seconds < 1 {
					t.Error("it stops to answer while the Service still leads to it, so pods come unsteered in a rolling update")
				}
			}
			changed = append(changed, p.Target.Kind+"/"+object.(metav1.Object).GetName()) //nolint:forcetypeassert // it fits
		}
	}
	slices.Sort(changed)
	if diff := cmp.Diff([]string{"Deployment/evenkeel", "NetworkPolicy/evenkeel", "Service/evenkeel"}, changed); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
}

// The component for upgrades adds the plain HTTP port to the Deployments, Services and
// NetworkPolicies of processes that answer kube-scheduler, and to no others.
func TestUpgradeComponentFits(t *testing.T) {
	var changed []string
	for _, object := range slices.Concat(slices.Collect(maps.Values(Objects(t)))...) {
		for _, p := range patchesOf(t, "insecure-http") {
			if !p.fits(object) {
				continue
			}
			secure, plain := "8443", "8888"
			if p.Target.Kind == "NetworkPolicy" {
				secure, plain = `"extender"`, `"insecure"`
			}
			if text := string(p.apply(t, object)); !strings.Contains(text, secure) || !strings.Contains(text, plain) {
				t.Errorf("it does not have both ports: %s", text)
			}
			changed = append(changed, p.Target.Kind+"/"+object.(metav1.Object).GetName()) //nolint:forcetypeassert // it fits
		}
	}
	slices.Sort(changed)
	var want []string
	for _, kind := range []string{"Deployment", "NetworkPolicy", "Service"} {
		want = append(want, kind+"/evenkeel", kind+"/evenkeel-extender")
	}
	if diff := cmp.Diff(want, changed); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
}
