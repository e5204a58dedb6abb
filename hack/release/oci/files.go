package oci

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/evenkeel/evenkeel/hack/release/archive"
	"github.com/evenkeel/evenkeel/hack/release/build"
	"github.com/evenkeel/evenkeel/hack/release/notices"
)

// rootFiles returns the system files that a binary needs. They are the same on every
// platform.
func rootFiles() ([]archive.File, error) {
	certificates, err := roots()
	if err != nil {
		return nil, err
	}
	folder := func(name string) archive.File { return archive.File{Name: name, Mode: 0o755} }
	file := func(name, content string) archive.File {
		return archive.File{Name: name, Mode: 0o644, Content: []byte(content)}
	}
	return []archive.File{
		folder("etc/"), folder("etc/ssl/"), folder("etc/ssl/certs/"),
		file("etc/passwd", "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n"),
		file("etc/group", "root:x:0:\nnonroot:x:65532:\n"),
		file("etc/ssl/certs/ca-certificates.crt", string(certificates)), // the first path that Go tries
	}, nil
}

// CertificatesPackage is the package, among this module's dependencies, that contains the
// CA certificates.
const CertificatesPackage = "golang.org/x/crypto/x509roots/fallback/bundle"

// roots returns the CA certificates that Mozilla trusts, from the pinned module.
// Certificates with conditions are left out, because a certificate file cannot express
// these.
func roots() ([]byte, error) {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, fmt.Errorf("writing the CA certificates: %w", err)
		}
	}
	return b.Bytes(), nil
}

// binaryFiles returns a binary, the programs that ship with it and, at the path where
// image scanners look for them, the licenses of the image's contents.
func binaryFiles(o Options, b Binary) ([]archive.File, error) {
	paths := map[string]string{o.Program: b.Path}
	maps.Copy(paths, b.With)
	var files []archive.File
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		if err := checkBinary(b.Platform, paths[name]); err != nil {
			return nil, err
		}
		content, err := os.ReadFile(paths[name])
		if err != nil {
			return nil, fmt.Errorf("reading the binary: %w", err)
		}
		files = append(files, archive.File{Name: name, Mode: 0o755, Content: content})
	}
	return append(files, archive.File{Name: "licenses/", Mode: 0o755},
		archive.File{Name: "licenses/LICENSE", Mode: 0o644, Content: o.License},
		archive.File{Name: "licenses/" + notices.FileName, Mode: 0o644, Content: b.Notices}), nil
}

// withLayer adds a layer with files to an image.
func withLayer(image v1.Image, what string, files []archive.File, at time.Time) (v1.Image, error) {
	var plain bytes.Buffer
	if err := archive.Tar(&plain, files, at); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(plain.Bytes())), nil }
	layer, err := tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer),
		tarball.WithCompressionLevel(gzip.BestCompression), tarball.WithCompressedCaching)
	if err != nil {
		return nil, fmt.Errorf("making the layer of %s: %w", what, err)
	}
	return mutate.Append(image, mutate.Addendum{
		Layer:   layer,
		History: v1.History{Created: v1.Time{Time: at}, CreatedBy: "hack/release", Comment: what},
	})
}

// machines maps the architectures of images to their ELF names.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// checkBinary checks that a binary runs on the platform of its image and needs no shared
// libraries, which the image does not contain.
func checkBinary(platform build.Platform, path string) error {
	machine, known := machines[platform.Arch]
	if platform.OS != "linux" || !known {
		return fmt.Errorf("platform %q: allowed are %s", platform, Platforms)
	}
	file, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("reading the binary %q: %w", path, err)
	}
	defer func() { _ = file.Close() }() // opened only for reading
	if file.Machine != machine {
		return fmt.Errorf("the binary %q is for %v, want %v", path, file.Machine, machine)
	}
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("the binary %q is linked dynamically, want CGO_ENABLED=0: the image has no libraries", path)
		}
	}
	return nil
}

// Platforms lists the platforms for which images are made.
var Platforms = []build.Platform{{OS: "linux", Arch: "amd64"}, {OS: "linux", Arch: "arm64"}}
