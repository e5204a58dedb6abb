package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"

	"github.com/evenkeel/evenkeel/hack/release/archive"
	"github.com/evenkeel/evenkeel/hack/release/testkit"
)

// made runs the command on a new checkout, and returns what it printed and the index of the layout.
func made(t *testing.T, out string) (printed, index string) {
	t.Helper()
	source := testkit.Checkout(t, testkit.Program("evenkeel"))
	var b bytes.Buffer
	args := []string{"--version", "v1.2.3", "--source", source, "--out", out, "--platforms", "linux/amd64"}
	if err := run(t.Context(), args, &b); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(out, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), string(content)
}

// The image is the same when it is made in another folder. Its labels contain the commit and the
// version, and its bill of materials is next to it.
func TestImage(t *testing.T) {
	out, other := filepath.Join(t.TempDir(), "image"), filepath.Join(t.TempDir(), "image")
	printed, index := made(t, out)
	_, again := made(t, other)
	if diff := cmp.Diff(index, again); diff != "" {
		t.Errorf("the same sources gave another image (-first +second):\n%s", diff)
	}
	for _, name := range []string{".linux-amd64.cdx.json", ".evenkeel-sim.linux-amd64.cdx.json"} {
		bill, err := os.ReadFile(out + name)
		if err != nil || !bytes.Contains(bill, []byte(`"version": "v1.2.3"`)) {
			t.Errorf("bill of materials: %v\n%s", err, bill)
		}
	}
	if !strings.HasPrefix(printed, out+": sha256:") || !strings.Contains(printed, "\n  linux/amd64: ") {
		t.Errorf("printed %q", printed)
	}
	outer, err := layout.ImageIndexFromPath(out)
	if err != nil {
		t.Fatal(err)
	}
	entry, err := outer.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	inner, err := outer.ImageIndex(entry.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := inner.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	checkLicenses(t, inner, manifest.Manifests[0].Digest)
	labels := manifest.Annotations
	revision := labels["org.opencontainers.image.revision"]
	delete(labels, "org.opencontainers.image.revision")
	delete(labels, "org.opencontainers.image.description")
	want := map[string]string{
		"org.opencontainers.image.title": "Evenkeel", "org.opencontainers.image.version": "v1.2.3", "org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.created": "2026-03-04T05:06:07Z", "org.opencontainers.image.source": "https://github.com/evenkeel/evenkeel",
		"org.opencontainers.image.documentation": "https://github.com/evenkeel/evenkeel/blob/main/docs/README.md",
	}
	if diff := cmp.Diff(want, labels); diff != "" || len(revision) != 40 {
		t.Errorf("revision %q, labels (-want +got):\n%s", revision, diff)
	}
}

// checkLicenses checks that an image has both programs, and the licenses of everything in it: the
// programs, Go's library and the CA certificates.
func checkLicenses(t *testing.T, index v1.ImageIndex, digest v1.Hash) {
	t.Helper()
	image, err := index.Image(digest)
	if err != nil {
		t.Fatal(err)
	}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	compressed, err := layers[len(layers)-1].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(compressed)
	if err != nil {
		t.Fatal(err)
	}
	files, err := archive.Untar(content)
	if err != nil {
		t.Fatal(err)
	}
	for name, wants := range map[string][]string{
		"evenkeel": {"v1.2.3"}, "evenkeel-sim": {"v1.2.3"},
		"licenses/LICENSE":             {"license\n"},
		"licenses/THIRD_PARTY_NOTICES": {"\nstdlib: LICENSE\n", "\ngolang.org/x/crypto/x509roots/fallback v"},
	} {
		i := slices.IndexFunc(files, func(f archive.File) bool { return f.Name == name })
		if i < 0 {
			t.Errorf("the image has no %s", name)
			continue
		}
		for _, want := range wants {
			if !bytes.Contains(files[i].Content, []byte(want)) {
				t.Errorf("%s lacks %q:\n%.1000s", name, want, files[i].Content)
			}
		}
	}
}

func TestInvalidImages(t *testing.T) {
	source := testkit.Checkout(t, testkit.Program("evenkeel"))
	cases := map[string]struct {
		args []string
		want string
	}{
		"no folder":       {args: []string{"--out", ""}, want: "--out is missing"},
		"a program":       {args: []string{"--program", "kubelet"}, want: `program "kubelet": allowed are evenkeel, kube-scheduler`},
		"a platform":      {args: []string{"--platforms", "darwin/arm64"}, want: `platform "darwin/arm64": allowed are linux/amd64, linux/arm64`},
		"no version":      {args: []string{"--version", ""}, want: `version "": allowed are letters, digits`},
		"an argument":     {args: []string{"evenkeel"}, want: `arguments ["evenkeel"]: there are only flags`},
		"no base":         {args: []string{"--base", "nowhere", "--platforms", "linux/amd64"}, want: `reading base "nowhere", which has to be a folder with an OCI layout`},
		"another program": {args: []string{"--program", "kube-scheduler"}, want: "reading the version of k8s.io/kubernetes"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"--version", "v1", "--source", source, "--out", filepath.Join(t.TempDir(), "image")}, tc.args...)
			if err := run(t.Context(), args, io.Discard); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}
