// Package sbom writes the bill of materials of a Go binary in CycloneDX format, based on
// what the Go linker recorded in it: the modules that were actually compiled in, with
// versions and checksums. It does not contain the modules' licenses, because the binary
// does not record them.
package sbom

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"github.com/evenkeel/evenkeel/hack/release/build"
)

// Subject describes the binary.
type Subject struct {
	Name, Version string
	Platform      build.Platform
	Time          time.Time
}

// Of reads a binary and describes it.
func Of(binary string, s Subject) ([]byte, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("reading the modules of %q: %w", binary, err)
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", binary, err)
	}
	return describe(info, s, sha256.Sum256(content))
}

func describe(info *debug.BuildInfo, s Subject, sum [sha256.Size]byte) ([]byte, error) {
	main := cdx.Component{
		BOMRef: "main", Type: cdx.ComponentTypeApplication, Name: s.Name, Version: s.Version,
		PackageURL: packageURL(info.Main.Path, s.Version),
		Hashes:     &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: fmt.Sprintf("%x", sum)}},
		Licenses:   &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
		Properties: &[]cdx.Property{{Name: "go:platform", Value: s.Platform.String()}},
	}
	goVersion := strings.TrimPrefix(info.GoVersion, "go")
	components := []cdx.Component{component("stdlib", goVersion, "")}
	depends := []string{components[0].BOMRef}
	for _, module := range info.Deps { // sorted by path
		version := module.Version
		switch {
		case module.Replace == nil:
		case module.Replace.Version == "": // another module of the checkout
			version = s.Version
		default:
			module, version = module.Replace, module.Replace.Version
		}
		c := component(module.Path, version, module.Sum)
		components, depends = append(components, c), append(depends, c.BOMRef)
	}
	bom := cdx.NewBOM()
	bom.SerialNumber = "urn:uuid:" + uuid(sum)
	bom.Metadata = &cdx.Metadata{Timestamp: s.Time.UTC().Format(time.RFC3339), Component: &main}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: main.BOMRef, Dependencies: &depends}}
	var b bytes.Buffer
	if err := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		return nil, fmt.Errorf("writing the bill of materials of %s: %w", s.Name, err)
	}
	return b.Bytes(), nil
}

// component describes a module that is compiled in. Go's checksum covers all files of the
// module, not an archive, and is therefore not among the hashes.
func component(path, version, sum string) cdx.Component {
	url := packageURL(path, version)
	c := cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: url}
	if sum != "" {
		c.Properties = &[]cdx.Property{{Name: "go:sum", Value: sum}}
	}
	return c
}

// packageURL returns the name by which scanners look up modules.
func packageURL(path, version string) string {
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
}

// uuid returns the same UUID for the same binary: version 8 of RFC 9562, whose contents
// are implementation-defined.
func uuid(sum [sha256.Size]byte) string {
	sum[6] = sum[6]&0x0f | 0x80
	sum[8] = sum[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
