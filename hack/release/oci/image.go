// Package oci makes container images without a container engine: an index with one image
// per platform, each with a binary on top of an empty or a given base. The resulting
// bytes depend only on the inputs.
package oci

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/evenkeel/evenkeel/hack/release/build"
)

// User is the user that a container runs as. It is numeric, so that a kubelet can see
// that it is not root.
const User = "65532:65532"

// Options are common to all platforms of an image.
type Options struct {
	// Program is the binary's name. The image runs /<name>.
	Program string
	// Time is the image's creation time.
	Time time.Time
	// Labels are labels of the images, and annotations of the index.
	Labels map[string]string
	// Base is a folder with an OCI layout to build on, which provides its own certificates
	// and users. Without a base, the image contains only the binary, the CA certificates of
	// browsers (Prometheus may use a public CA) and a name for its user.
	Base string
	// License is the program's own license.
	License []byte
}

// Binary is a program for a platform.
type Binary struct {
	Platform build.Platform
	Path     string
	// With maps names of other programs in the image to their paths.
	With map[string]string
	// Notices holds the licenses of everything that is linked into these programs.
	Notices []byte
}

// Index makes the images for the binaries.
func Index(o Options, binaries []Binary) (v1.ImageIndex, error) {
	if len(binaries) == 0 {
		return nil, errors.New("making an image: there is no binary")
	}
	base, err := baseOf(o)
	if err != nil {
		return nil, err
	}
	index := v1.ImageIndex(empty.Index)
	for _, b := range binaries {
		image, err := imageOf(o, b, base)
		if err != nil {
			return nil, fmt.Errorf("making the image for %s: %w", b.Platform, err)
		}
		platform := &v1.Platform{OS: b.Platform.OS, Architecture: b.Platform.Arch}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
	}
	annotated, ok := mutate.Annotations(index, o.Labels).(v1.ImageIndex)
	if !ok {
		return nil, errors.New("making an image: its index cannot be annotated")
	}
	return annotated, nil
}

// imageOf puts a binary on its base.
func imageOf(o Options, b Binary, base func(build.Platform) (v1.Image, error)) (v1.Image, error) {
	files, err := binaryFiles(o, b)
	if err != nil {
		return nil, err
	}
	image, err := base(b.Platform)
	if err != nil {
		return nil, err
	}
	image, err = withLayer(image, "the binaries", files, o.Time)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("reading the base's configuration: %w", err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = b.Platform.OS, b.Platform.Arch
	config.Created = v1.Time{Time: o.Time}
	config.Config = v1.Config{Entrypoint: []string{"/" + o.Program}, User: User, Labels: o.Labels, Env: config.Config.Env}
	return mutate.ConfigFile(image, config)
}

// baseOf returns the base of a platform's image.
func baseOf(o Options) (func(build.Platform) (v1.Image, error), error) {
	if o.Base == "" {
		image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
		files, err := rootFiles()
		if err != nil {
			return nil, err
		}
		image, err = withLayer(image, "certificates and users", files, o.Time)
		return func(build.Platform) (v1.Image, error) { return image, err }, err
	}
	index, err := layout.ImageIndexFromPath(o.Base)
	if err != nil {
		return nil, fmt.Errorf("reading base %q, which has to be a folder with an OCI layout: %w", o.Base, err)
	}
	return func(p build.Platform) (v1.Image, error) {
		image, err := find(index, p)
		if err == nil && image == nil {
			err = fmt.Errorf("it has no image for %s", p)
		}
		if err != nil {
			return nil, fmt.Errorf("reading base %q: %w", o.Base, err)
		}
		return image, nil
	}, nil
}

// find looks for a platform in an index and in the indexes that it lists. It returns nil
// if there is none.
func find(index v1.ImageIndex, p build.Platform) (v1.Image, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	for _, d := range manifest.Manifests {
		switch {
		case d.MediaType.IsIndex():
			inner, err := index.ImageIndex(d.Digest)
			if err != nil {
				return nil, err
			}
			if found, err := find(inner, p); err != nil || found != nil {
				return found, err
			}
		case d.MediaType.IsImage() && d.Platform != nil && d.Platform.OS == p.OS && d.Platform.Architecture == p.Arch:
			return index.Image(d.Digest)
		}
	}
	return nil, nil
}

// Write writes an index to a folder as an OCI layout, replacing an existing layout. Any
// other files are left in place and cause an error.
func Write(dir string, index v1.ImageIndex, tag string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("writing an image: %w", err)
	}
	if len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(dir, "oci-layout")); err != nil {
			return fmt.Errorf("writing an image to %q: the folder has other files: want an empty one, or an OCI layout to replace", dir)
		}
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("replacing an image: %w", err)
		}
	}
	to, err := layout.Write(dir, empty.Index)
	if err == nil {
		err = to.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": tag}))
	}
	if err != nil {
		return fmt.Errorf("writing an image to %q: %w", dir, err)
	}
	return nil
}
