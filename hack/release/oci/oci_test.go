package oci

import (
	"bytes"
	"crypto/x509"
	"debug/elf"
	"encoding/binary"
	"encoding/pem"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/evenkeel/evenkeel/hack/release/archive"
	"github.com/evenkeel/evenkeel/hack/release/build"
)

var (
	amd64   = build.Platform{OS: "linux", Arch: "amd64"}
	arm64   = build.Platform{OS: "linux", Arch: "arm64"}
	created = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
)

// program returns the minimum that is accepted as a binary for a machine: an ELF header with one
// program header of the given type.
func program(t *testing.T, machine elf.Machine, header elf.ProgType) []byte {
	t.Helper()
	head := elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT),
		Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1,
	}
	var b bytes.Buffer
	for _, part := range []any{head, elf.Prog64{Type: uint32(header)}} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func file(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "evenkeel")
	if err := os.WriteFile(path, content, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func options() Options {
	return Options{Program: "evenkeel", Time: created, License: []byte("license"), Labels: map[string]string{"org.opencontainers.image.version": "v1.2.3", "a": "b"}}
}

// binaries returns one binary for each platform, in new files each time.
func binaries(t *testing.T) []Binary {
	t.Helper()
	return []Binary{
		{Platform: amd64, Path: file(t, program(t, elf.EM_X86_64, elf.PT_LOAD)), Notices: []byte("of amd64")},
		{Platform: arm64, Path: file(t, program(t, elf.EM_AARCH64, elf.PT_LOAD)), Notices: []byte("of arm64")},
	}
}

// written writes a layout and reads it back.
func written(t *testing.T, o Options) (dir string, index v1.ImageIndex) {
	t.Helper()
	made, err := Index(o, binaries(t))
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "image")
	if err := Write(dir, made, "v1.2.3"); err != nil {
		t.Fatal(err)
	}
	outer, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := outer.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	// There is one entry, as crane push and other tools expect.
	if len(manifest.Manifests) != 1 || manifest.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "v1.2.3" {
		t.Fatalf("entries %+v, want one with the version's tag", manifest.Manifests)
	}
	index, err = outer.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return dir, index
}

func digest(t *testing.T, index v1.ImageIndex) string {
	t.Helper()
	hash, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return hash.String()
}

// A layout that is made again has the same files. Another time or label results in different ones.
func TestTheSameTwice(t *testing.T) {
	dir, index := written(t, options())
	again, same := written(t, options())
	if diff := cmp.Diff(digest(t, index), digest(t, same)); diff != "" {
		t.Errorf("digest (-first +second):\n%s", diff)
	}
	if diff := cmp.Diff(contents(t, dir), contents(t, again)); diff != "" {
		t.Errorf("files (-first +second):\n%s", diff)
	}
	later, labelled := options(), options()
	later.Time = created.Add(time.Second)
	labelled.Labels = map[string]string{"a": "c"}
	for name, o := range map[string]Options{"time": later, "label": labelled} {
		if _, other := written(t, o); digest(t, other) == digest(t, index) {
			t.Errorf("another %s has the same digest", name)
		}
	}
}

// contents returns the checksums of the files of a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, dir)] = archive.Sum(content)
		return err
	})
	if err != nil || len(all) < 8 { // layout, two indexes, two manifests, two configurations, layers
		t.Fatalf("%d files, %v", len(all), err)
	}
	return all
}

// image returns the image of a platform, after checking everything to which it refers by a digest.
func image(t *testing.T, index v1.ImageIndex, p build.Platform) v1.Image {
	t.Helper()
	if err := validate.Index(index); err != nil {
		t.Fatal(err)
	}
	found, err := find(index, p)
	if err != nil || found == nil {
		t.Fatalf("image for %s: %v, %v", p, found, err)
	}
	return found
}

func TestImage(t *testing.T) {
	_, index := written(t, options())
	manifest, err := index.IndexManifest()
	if err != nil || manifest.MediaType != types.OCIImageIndex || manifest.Annotations["a"] != "b" {
		t.Errorf("index %+v, %v", manifest, err)
	}
	for _, b := range binaries(t) {
		t.Run(b.Platform.Arch, func(t *testing.T) {
			got := image(t, index, b.Platform)
			config, err := got.ConfigFile()
			if err != nil {
				t.Fatal(err)
			}
			want := v1.Config{Entrypoint: []string{"/evenkeel"}, User: "65532:65532", Labels: options().Labels}
			if diff := cmp.Diff(want, config.Config); diff != "" {
				t.Errorf("configuration (-want +got):\n%s", diff)
			}
			if config.OS != "linux" || config.Architecture != b.Platform.Arch || !config.Created.Equal(created) || len(config.History) != 2 {
				t.Errorf("configuration %+v", config)
			}
			if mt, err := got.MediaType(); err != nil || mt != types.OCIManifestSchema1 {
				t.Errorf("media type %s, %v", mt, err)
			}
			content, err := os.ReadFile(b.Path)
			if err != nil {
				t.Fatal(err)
			}
			layers := unpacked(t, got)
			files := []archive.File{
				{Name: "evenkeel", Mode: 0o755, Content: content},
				{Name: "licenses/", Mode: 0o755, Content: []byte{}},
				{Name: "licenses/LICENSE", Mode: 0o644, Content: []byte("license")},
				{Name: "licenses/THIRD_PARTY_NOTICES", Mode: 0o644, Content: []byte("of " + b.Platform.Arch)},
			}
			if diff := cmp.Diff(files, layers[1]); diff != "" {
				t.Errorf("the binary's layer (-want +got):\n%s", diff)
			}
			checkRoot(t, layers[0])
		})
	}
}

// unpacked returns the files of each layer.
func unpacked(t *testing.T, image v1.Image) (all [][]archive.File) {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	for _, layer := range layers {
		if mt, err := layer.MediaType(); err != nil || mt != types.OCILayer {
			t.Errorf("a layer's media type is %s, %v", mt, err)
		}
		compressed, err := layer.Compressed()
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
		all = append(all, files)
	}
	return all
}

// checkRoot checks that the user has a name, and that every certificate is readable and belongs to
// a CA.
func checkRoot(t *testing.T, files []archive.File) {
	t.Helper()
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
		switch f.Name {
		case "etc/passwd":
			if !bytes.Contains(f.Content, []byte("\nnonroot:x:65532:65532:")) {
				t.Errorf("%s has no user 65532:\n%s", f.Name, f.Content)
			}
		case "etc/ssl/certs/ca-certificates.crt":
			n, rest := 0, f.Content
			for block := (*pem.Block)(nil); len(rest) > 0; n++ {
				if block, rest = pem.Decode(rest); block == nil {
					t.Fatalf("after %d certificates: %q", n, rest)
				}
				if c, err := x509.ParseCertificate(block.Bytes); err != nil || !c.IsCA {
					t.Errorf("certificate %d: %v, is of a CA: %v", n, err, c != nil && c.IsCA)
				}
			}
			if n < 80 { // Mozilla trusts about 140
				t.Errorf("%d certificates", n)
			}
		}
	}
	want := []string{"etc/", "etc/group", "etc/passwd", "etc/ssl/", "etc/ssl/certs/", "etc/ssl/certs/ca-certificates.crt"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// An image that is built on a base has the base's layers and environment, and the binary. It has
// its own user and entrypoint.
func TestBase(t *testing.T) {
	base, _ := written(t, Options{Program: "base", Time: created, Labels: map[string]string{"of": "the base"}})
	o := options()
	o.Base = base
	_, index := written(t, o)
	got := image(t, index, arm64)
	config, err := got.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	want := v1.Config{Entrypoint: []string{"/evenkeel"}, User: "65532:65532", Labels: o.Labels}
	if diff := cmp.Diff(want, config.Config); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	var names []string
	for _, layer := range unpacked(t, got) {
		names = append(names, layer[0].Name)
	}
	if diff := cmp.Diff([]string{"etc/", "base", "evenkeel"}, names); diff != "" {
		t.Errorf("first file of each layer (-want +got):\n%s", diff)
	}
}

func TestInvalidImages(t *testing.T) {
	good := file(t, program(t, elf.EM_X86_64, elf.PT_LOAD))
	dynamic, text := file(t, program(t, elf.EM_X86_64, elf.PT_INTERP)), file(t, []byte("#!/bin/sh\n"))
	folder := t.TempDir()
	single, err := Index(options(), []Binary{{Platform: amd64, Path: good}})
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(t.TempDir(), "base")
	if err := Write(base, single, "v1"); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		base     string
		binaries []Binary
		want     string
	}{
		"no binary":                  {want: "there is no binary"},
		"a binary that is not there": {binaries: []Binary{{Platform: amd64, Path: "nowhere"}}, want: `reading the binary "nowhere"`},
		"a script":                   {binaries: []Binary{{Platform: amd64, Path: text}}, want: "reading the binary " + `"` + text + `"`},
		"another architecture":       {binaries: []Binary{{Platform: arm64, Path: good}}, want: `is for EM_X86_64, want EM_AARCH64`},
		"another system":             {binaries: []Binary{{Platform: build.Platform{OS: "darwin", Arch: "arm64"}, Path: good}}, want: `platform "darwin/arm64": allowed are [linux/amd64 linux/arm64]`},
		"linked dynamically":         {binaries: []Binary{{Platform: amd64, Path: dynamic}}, want: "is linked dynamically, want CGO_ENABLED=0"},
		"a base that is no layout":   {base: folder, binaries: []Binary{{Platform: amd64, Path: good}}, want: `reading base "` + folder + `", which has to be a folder with an OCI layout`},
		"a base without the platform": {
			base: base, binaries: []Binary{{Platform: arm64, Path: file(t, program(t, elf.EM_AARCH64, elf.PT_LOAD))}}, want: `reading base "` + base + `": it has no image for linux/arm64`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := options()
			o.Base = tc.base
			if _, err := Index(o, tc.binaries); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}

// A layout is replaced as a whole. A folder with any other content is kept.
func TestWriteReplacesLayoutsAlone(t *testing.T) {
	dir, index := written(t, options())
	want := contents(t, dir)
	stale := filepath.Join(dir, "blobs", "stale")
	if err := os.WriteFile(stale, []byte("stale"), 0o644); err != nil {
		t.Fatal(err)
	}
	again, err := Index(options(), binaries(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, again, "v1.2.3"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, contents(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	mine := filepath.Join(t.TempDir(), "mine")
	if err := os.WriteFile(mine, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Write(filepath.Dir(mine), index, "v1"); err == nil || !strings.Contains(err.Error(), "the folder has other files") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Errorf("a file of somebody else's: %v", err)
	}
}
