package kubelets

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func readTar(t *testing.T, content []byte) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	for files := tar.NewReader(bytes.NewReader(content)); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		if found[header.Name], err = io.ReadAll(files); err != nil {
			t.Fatal(err)
		}
	}
}

// From each name of the image, digests lead to a layer that has the program alone.
func TestImage(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(binary, []byte("machine code"), 0o600); err != nil {
		t.Fatal(err)
	}
	content, err := imageOf(binary)
	if err != nil {
		t.Fatal(err)
	}
	parts := readTar(t, content)
	blob := func(d descriptor) []byte {
		t.Helper()
		part, ok := parts["blobs/sha256/"+d.Digest[len("sha256:"):]]
		if sum := fmt.Sprintf("sha256:%x", sha256.Sum256(part)); !ok || len(part) != d.Size || sum != d.Digest {
			t.Fatalf("%s of %d bytes: there is %v with %d bytes and digest %s", d.Digest, d.Size, ok, len(part), sum)
		}
		return part
	}
	var index struct{ Manifests []descriptor }
	if err := json.Unmarshal(parts["index.json"], &index); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, d := range index.Manifests {
		names[d.Annotations["io.containerd.image.name"]] = true
		var manifest struct {
			Config descriptor
			Layers []descriptor
		}
		if err := json.Unmarshal(blob(d), &manifest); err != nil {
			t.Fatal(err)
		}
		var config struct {
			Config struct{ Entrypoint []string }
			RootFS struct {
				DiffIDs []string `json:"diff_ids"`
			}
		}
		if err := json.Unmarshal(blob(manifest.Config), &config); err != nil {
			t.Fatal(err)
		}
		if len(manifest.Layers) != 1 || len(config.RootFS.DiffIDs) != 1 || config.RootFS.DiffIDs[0] != manifest.Layers[0].Digest {
			t.Fatalf("layers %v, their contents %v", manifest.Layers, config.RootFS.DiffIDs)
		}
		files := readTar(t, blob(manifest.Layers[0]))
		if got := string(files[config.Config.Entrypoint[0][1:]]); len(files) != 1 || got != "machine code" {
			t.Errorf("%d files, the program is %q", len(files), got)
		}
	}
	if !names[Image] || !names[pauseImage] {
		t.Errorf("names %v", names)
	}
}
