package sbom

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/hack/release/build"
)

var subject = Subject{
	Name: "evenkeel", Version: "v1.2.3", Platform: build.Platform{OS: "linux", Arch: "arm64"}, Time: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
}

func read(t *testing.T, text []byte) cdx.BOM {
	t.Helper()
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(text), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	return bom
}

// A replaced module is not in the binary, but Go's own library is. A module that is replaced by a
// folder belongs to the checkout and has its version.
func TestDescribe(t *testing.T) {
	info := &debug.BuildInfo{
		GoVersion: "go1.26.8", Main: debug.Module{Path: "github.com/evenkeel/evenkeel", Version: "(devel)"},
		Deps: []*debug.Module{
			{Path: "example.org/a", Version: "v1.0.0+incompatible", Sum: "h1:aa"},
			{Path: "example.org/b", Version: "v0.0.0", Replace: &debug.Module{Path: "example.org/c", Version: "v2.0.0", Sum: "h1:cc"}},
			{Path: "example.org/d", Version: "v0.0.0", Replace: &debug.Module{Path: "..", Version: ""}},
		},
	}
	text, err := describe(info, subject, sha256.Sum256([]byte("binary")))
	if err != nil {
		t.Fatal(err)
	}
	again, err := describe(info, subject, sha256.Sum256([]byte("binary")))
	if err != nil || !bytes.Equal(text, again) {
		t.Errorf("the same binary has two bills; %v", err)
	}
	bom := read(t, text)
	type row struct{ Name, Version, URL, Sum string }
	var got []row
	for _, c := range *bom.Components {
		r := row{Name: c.Name, Version: c.Version, URL: c.PackageURL}
		if c.Properties != nil {
			r.Sum = (*c.Properties)[0].Value
		}
		got = append(got, r)
	}
	want := []row{
		{Name: "stdlib", Version: "1.26.8", URL: "pkg:golang/stdlib@1.26.8"},
		{Name: "example.org/a", Version: "v1.0.0+incompatible", URL: "pkg:golang/example.org/a@v1.0.0%2Bincompatible", Sum: "h1:aa"},
		{Name: "example.org/c", Version: "v2.0.0", URL: "pkg:golang/example.org/c@v2.0.0", Sum: "h1:cc"},
		{Name: "example.org/d", Version: "v1.2.3", URL: "pkg:golang/example.org/d@v1.2.3"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("components (-want +got):\n%s", diff)
	}
	main := bom.Metadata.Component
	if main.Name != "evenkeel" || main.Version != "v1.2.3" || main.PackageURL != "pkg:golang/github.com/evenkeel/evenkeel@v1.2.3" ||
		bom.Metadata.Timestamp != "2026-03-04T05:06:07Z" || (*main.Properties)[0].Value != "linux/arm64" {
		t.Errorf("metadata in\n%s", text)
	}
	if diff := cmp.Diff(4, len(*(*bom.Dependencies)[0].Dependencies)); diff != "" {
		t.Errorf("dependencies (-want +got):\n%s", diff)
	}
	other, err := describe(info, subject, sha256.Sum256([]byte("another")))
	if err != nil || read(t, other).SerialNumber == bom.SerialNumber {
		t.Errorf("another binary has the serial number %s as well; %v", bom.SerialNumber, err)
	}
}

// The bill of materials of a real binary lists every module that Go recorded in it.
func TestOfARealBinary(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "release")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../cmd/release").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := Of(binary, subject)
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil || len(info.Deps) == 0 {
		t.Fatalf("the binary lists no modules: %v", err)
	}
	bom := read(t, text)
	if diff := cmp.Diff(len(info.Deps)+1, len(*bom.Components)); diff != "" {
		t.Errorf("components (-want +got):\n%s", diff)
	}
	for _, dep := range info.Deps {
		if !bytes.Contains(text, []byte(`"name": "`+dep.Path+`"`)) || !bytes.Contains(text, []byte(dep.Sum)) {
			t.Errorf("%s %s is missing", dep.Path, dep.Sum)
		}
	}
}

func TestNoBinary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{path, path + "2"} {
		if _, err := Of(file, subject); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: error %v", file, err)
		}
	}
}
