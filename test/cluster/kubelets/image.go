package kubelets

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"runtime"

	"github.com/evenkeel/evenkeel/test/cluster"
)

const (
	// Image contains only the node program. By default, the program waits, like a pause
	// container; with arguments, it uses CPU and memory.
	Image      = "local.evenkeel.io/burn:1"
	pauseImage = "local.evenkeel.io/pause:1"
)

// Media types of the parts of an image.
const (
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar"
)

// descriptor refers to a part of an image.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// archive is an OCI archive while it is being written.
type archive struct {
	buffer bytes.Buffer
	tar    *tar.Writer
}

func newArchive() *archive {
	a := &archive{}
	a.tar = tar.NewWriter(&a.buffer)
	return a
}

func (a *archive) add(name string, mode int64, content []byte) error {
	if err := a.tar.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(content))}); err != nil {
		return err
	}
	_, err := a.tar.Write(content)
	return err
}

func (a *archive) bytes() ([]byte, error) {
	err := a.tar.Close()
	return a.buffer.Bytes(), err
}

// blob adds a part, named by its digest.
func (a *archive) blob(mediaType string, content []byte) (descriptor, error) {
	sum := fmt.Sprintf("%x", sha256.Sum256(content))
	return descriptor{MediaType: mediaType, Digest: "sha256:" + sum, Size: len(content)}, a.add("blobs/sha256/"+sum, 0o644, content)
}

func (a *archive) object(mediaType string, object any) (descriptor, error) {
	content, err := json.Marshal(object)
	if err != nil {
		return descriptor{}, err
	}
	return a.blob(mediaType, content)
}

// writeImage writes an OCI archive with the node program, under both names of the image.
func writeImage(binDir, path string) error {
	content, err := imageOf(program(binDir))
	if err == nil {
		err = os.WriteFile(path, content, 0o644)
	}
	if err != nil {
		return fmt.Errorf("making the image: %w", err)
	}
	return nil
}

func imageOf(binary string) ([]byte, error) {
	content, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	files := newArchive()
	if err := files.add(cluster.NodeProgram, 0o755, content); err != nil {
		return nil, err
	}
	layer, err := files.bytes()
	if err != nil {
		return nil, err
	}
	image := newArchive()
	layerPart, err := image.blob(layerType, layer)
	if err != nil {
		return nil, err
	}
	configPart, err := image.object(configType, map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Entrypoint": []string{path.Join("/", cluster.NodeProgram), "burn"}, "User": "65534"},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{layerPart.Digest}},
	})
	if err != nil {
		return nil, err
	}
	manifest, err := image.object(manifestType, map[string]any{
		"schemaVersion": 2, "mediaType": manifestType, "config": configPart, "layers": []descriptor{layerPart},
	})
	if err != nil {
		return nil, err
	}
	var names []descriptor
	for _, name := range []string{Image, pauseImage} {
		named := manifest
		named.Annotations = map[string]string{"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name}
		names = append(names, named)
	}
	index, err := json.Marshal(map[string]any{"schemaVersion": 2, "manifests": names})
	if err != nil {
		return nil, err
	}
	if err := image.add("index.json", 0o644, index); err != nil {
		return nil, err
	}
	if err := image.add("oci-layout", 0o644, []byte(`{"imageLayoutVersion":"1.0.0"}`)); err != nil {
		return nil, err
	}
	return image.bytes()
}
