package stage

import (
	"os"
	"path/filepath"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// Certificates holds the files for mutual TLS, as they are on a control plane and in the
// extender's pods.
type Certificates struct {
	f *Fixture
	// Dir is the folder written by `evenkeel certificates`. Mounted is the extender's Secret
	// as mounted by the kubelet.
	Dir, Mounted string
}

// Certificates makes certificates and puts them into place.
func (f *Fixture) Certificates() *Certificates {
	f.T.Helper()
	dir := f.T.TempDir()
	c := &Certificates{f: f, Dir: filepath.Join(dir, "pki"), Mounted: filepath.Join(dir, "mounted")}
	c.Renew()
	return c
}

// Renew renews all certificates except the CA and applies the Secrets. It does not wait
// for processes to read them.
func (c *Certificates) Renew() {
	t := c.f.T
	t.Helper()
	if got := Run(t.Context(), t, t.TempDir(), "certificates", "--directory", c.Dir); got.Code != 0 {
		t.Fatalf("making certificates: %s", got.Stderr)
	}
	if err := evenkeel.Apply(t.Context(), c.f.Cluster, filepath.Join(c.Dir, "secrets.yaml"), false); err != nil {
		t.Fatal(err)
	}
	secret, err := c.f.Client().CoreV1().Secrets(evenkeel.Namespace).Get(t.Context(), "evenkeel-server-tls", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.mount(secret)
}

// mount replaces the files as the kubelet does: all at once, by swapping a symbolic link.
func (c *Certificates) mount(secret *v1.Secret) {
	t := c.f.T
	t.Helper()
	version := c.Mounted + "-" + secret.ResourceVersion
	if err := os.MkdirAll(version, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range secret.Data {
		if err := os.WriteFile(filepath.Join(version, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(version, version+"-link"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(version+"-link", c.Mounted); err != nil {
		t.Fatal(err)
	}
}

// Extender returns the shipped extender entry for kube-scheduler, with the given address
// and these files.
func (c *Certificates) Extender(address string) schedulerv1.Extender {
	c.f.T.Helper()
	root, err := evenkeel.Root(c.f.T.Context())
	if err != nil {
		c.f.T.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "deploy", "kube-scheduler.yaml"))
	if err != nil {
		c.f.T.Fatal(err)
	}
	var config schedulerv1.KubeSchedulerConfiguration
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(string(text), "/etc/kubernetes/evenkeel/", c.Dir+"/")), &config); err != nil {
		c.f.T.Fatal(err)
	}
	entry := config.Extenders[0]
	entry.URLPrefix = "https://" + address
	return entry
}
