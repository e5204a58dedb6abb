// Package krew writes the manifest with which krew, kubectl's plugin manager,
// installs a release.
package krew

import (
	"bytes"
	_ "embed"
	"fmt"
	"text/template"

	"github.com/evenkeel/evenkeel/hack/release/build"
)

// Archive is what krew downloads for a platform.
type Archive struct {
	Platform build.Platform
	URL, Sum string
}

//go:embed evenkeel.yaml.tmpl
var manifest string

// Manifest returns the manifest for the archives of a version.
func Manifest(version string, archives []Archive) ([]byte, error) {
	t, err := template.New("evenkeel.yaml.tmpl").Parse(manifest)
	if err != nil {
		return nil, fmt.Errorf("reading the template of krew's manifest: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, struct {
		Version  string
		Archives []Archive
	}{version, archives}); err != nil {
		return nil, fmt.Errorf("writing krew's manifest: %w", err)
	}
	return b.Bytes(), nil
}
