package handshake

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/scenario"
)

// The image that `make image` writes is unpacked as a container runtime would unpack it, and its
// entrypoint cools the nodes of request-skew. Both the program and the simulator next to it report
// the version with which the image was made.
//
//e2e:tier all
func TestBinaryOfTheImage(t *testing.T) {
	const version = "v0.0.0-e2e"
	layout := filepath.Join(t.TempDir(), "image")
	if err := makeImage(t.Context(), layout, version); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	entrypoint, err := unpackImage(layout, root)
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(root, entrypoint)
	out, err := exec.CommandContext(t.Context(), binary, "--version").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "evenkeel version "+version {
		t.Errorf("--version prints %q, %v", out, err)
	}
	out, err = exec.CommandContext(t.Context(), binary, "simulate", "--generate-series", "20", "--steps", "24", "--compare", "none", "-o", "json").CombinedOutput()
	if err != nil || !strings.Contains(string(out), version) {
		t.Errorf("simulate prints %s, %v", out, err)
	}

	fixed := stage.New(t)
	story, err := scenario.RequestSkew(t.Context(), fixed.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	if err := fixed.WaitMetrics(t.Context()); err != nil {
		t.Fatal(err)
	}
	listen, metrics := fixed.FreeAddress(), fixed.FreeAddress()
	f := begin(fixed, listen)
	p := f.StartAs("evenkeel", binary, "serve", "--policy-config-file", f.Policy(stage.RealUsage, stage.Fast), "--descheduling-interval", "3s",
		"--leader-elect=false", "--listen-address", listen, "--metrics-address", metrics)
	if err := p.WaitServing(t.Context(), "http://"+listen+"/livez"); err != nil {
		t.Fatal(err)
	}
	f.waitCool(2 * time.Minute)
	f.waitSettled(listen, metrics, 3, "hog", "web", "bg")
	moves, _ := f.Ledger(listen)
	wantSkewCooled(f, story, f.judge(moves))
	status, body, err := evenkeel.Get(t.Context(), "http://"+metrics+"/metrics")
	if err != nil || !strings.Contains(body, `version="`+version+`"`) {
		t.Errorf("/metrics answers %d, %v, without the version", status, err)
	}
}

// makeImage builds the image for this machine's architecture.
func makeImage(ctx context.Context, layout, version string) (err error) {
	root, err := evenkeel.Root(ctx)
	if err != nil {
		return err
	}
	binDir, err := cluster.DefaultBinDir(ctx)
	if err != nil {
		return err
	}
	release, err := cluster.Lock(binDir) // only one compilation at a time
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	command := exec.CommandContext(ctx, "go", "run", "./cmd/image", "--version", version, "--source", root, "--out", layout, "--platforms", "linux/"+runtime.GOARCH)
	command.Dir = filepath.Join(root, "hack", "release")
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("making the image: %w\n%s", err, out)
	}
	return nil
}

// descriptor is a reference from one OCI document to another.
type descriptor struct{ MediaType, Digest string }

// unpackImage writes the files of a layout's image to a folder, and returns the image's entrypoint.
// It relies only on the OCI specification.
func unpackImage(layout, root string) (entrypoint string, err error) {
	manifest, err := manifestOf(layout)
	if err != nil {
		return "", err
	}
	for _, layer := range manifest.Layers {
		content, err := blob(layout, layer)
		if err != nil {
			return "", err
		}
		if err := unpackLayer(content, root); err != nil {
			return "", fmt.Errorf("unpacking layer %s: %w", layer.Digest, err)
		}
	}
	content, err := blob(layout, manifest.Config)
	if err != nil {
		return "", err
	}
	var config struct {
		OS, Architecture string
		Config           struct {
			Entrypoint []string
			User       string
		}
	}
	if err := json.Unmarshal(content, &config); err != nil {
		return "", fmt.Errorf("reading the configuration: %w", err)
	}
	if config.OS != "linux" || config.Architecture != runtime.GOARCH || len(config.Config.Entrypoint) != 1 || config.Config.User != "65532:65532" {
		return "", fmt.Errorf("configuration %s", content)
	}
	return config.Config.Entrypoint[0], nil
}

// manifest is the manifest of an image, or an index that lists other manifests.
type manifest struct {
	Config    descriptor
	Manifests []descriptor
	Layers    []descriptor
}

// manifestOf returns the manifest of a layout's only image, and follows indexes.
func manifestOf(layout string) (m manifest, err error) {
	content, err := os.ReadFile(filepath.Join(layout, "index.json"))
	for err == nil {
		m = manifest{}
		if err = json.Unmarshal(content, &m); err != nil || len(m.Layers) > 0 {
			break
		}
		if len(m.Manifests) != 1 {
			return m, fmt.Errorf("an index lists %d manifests, want one: %s", len(m.Manifests), content)
		}
		content, err = blob(layout, m.Manifests[0])
	}
	if err != nil {
		err = fmt.Errorf("looking for the image's manifest: %w", err)
	}
	return m, err
}

// blob reads the content to which a descriptor refers, and checks its digest.
func blob(layout string, d descriptor) ([]byte, error) {
	algorithm, sum, _ := strings.Cut(d.Digest, ":")
	content, err := os.ReadFile(filepath.Join(layout, "blobs", algorithm, sum))
	if err == nil && fmt.Sprintf("%x", sha256.Sum256(content)) != sum {
		err = fmt.Errorf("blob %s has another digest", d.Digest)
	}
	return content, err
}

// unpackLayer writes the files of a compressed layer to a folder.
func unpackLayer(layer []byte, root string) error {
	plain, err := gzip.NewReader(bytes.NewReader(layer))
	if err != nil {
		return err
	}
	below, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer below.Close()
	for files := tar.NewReader(plain); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if header.Typeflag == tar.TypeDir {
			err = below.MkdirAll(strings.TrimSuffix(header.Name, "/"), header.FileInfo().Mode().Perm())
		} else {
			err = unpackFile(below, header, files)
		}
		if err != nil {
			return err
		}
	}
}

func unpackFile(below *os.Root, header *tar.Header, from io.Reader) error {
	file, err := below.OpenFile(header.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, header.FileInfo().Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, file.Close())
}
