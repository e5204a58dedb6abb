package cluster

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The module file of each release requires all parts of Kubernetes at the same patch of that
// release, the one that docs/compatibility.md names.
func TestReleases(t *testing.T) {
	dir, err := ModuleDir(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	releases, err := Releases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(releases) < 2 || !slices.Contains(releases, DefaultRelease) {
		t.Fatalf("releases %s, want some beside %s", releases, DefaultRelease)
	}
	documented, err := os.ReadFile(filepath.Join(dir, "..", "..", "docs", "compatibility.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, release := range releases {
		version, err := release.version(t.Context(), dir)
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.HasPrefix(version, "v"+string(release)+".") {
			t.Errorf("the modules of %s are those of Kubernetes %s", release, version)
		}
		if patch := strings.TrimPrefix(version, "v"); !strings.Contains(string(documented), " "+patch+" ") {
			t.Errorf("docs/compatibility.md does not name %s", patch)
		}
		file := filepath.Join(dir, "go.mod")
		if release != DefaultRelease {
			file = filepath.Join(dir, versions, string(release)+".mod")
		}
		wantParts(t, file, strings.Replace(version, "v1", "v0", 1))
	}
}

var replaced = regexp.MustCompile(`(?m)^\tk8s\.io/[a-z-]+ => (k8s\.io/[a-z-]+) (v0\.[0-9]+\.[0-9]+)$`)

// wantParts checks that a module file requires the parts of Kubernetes at a version.
func wantParts(t *testing.T, file, version string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found := replaced.FindAllStringSubmatch(string(content), -1)
	if len(found) == 0 {
		t.Errorf("%s: no part of Kubernetes has a version", file)
	}
	for _, part := range found {
		if part[2] != version {
			t.Errorf("%s: %s is %s, want %s", file, part[1], part[2], version)
		}
	}
}

func TestParseRelease(t *testing.T) {
	for name, known := range map[string]bool{string(DefaultRelease): true, "1.35": true, "1.2": false, "v1.35": false, "": false} {
		if got, err := ParseRelease(t.Context(), name); (err == nil) != known || known && got != Release(name) {
			t.Errorf("release %q: %q, %v, want it known: %t", name, got, err, known)
		}
	}
}

// By default, `make test-matrix` runs each release.
func TestMakefileHasTheReleases(t *testing.T) {
	releases, err := Releases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	want := "\nMATRIX ?="
	for _, release := range releases {
		want += " " + string(release)
	}
	if !strings.Contains(string(content), want+"\n") {
		t.Errorf("the Makefile has no line %q", want[1:])
	}
}
