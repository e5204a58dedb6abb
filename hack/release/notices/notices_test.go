package notices

import (
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/hack/release/build"
)

// modules creates folders with files, and returns the package in each named folder. The first
// element of a package's path is its module.
func modules(t *testing.T, files map[string]string, packages ...string) (all []build.Package) {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range packages {
		module, _, _ := strings.Cut(name, "/")
		all = append(all, build.Package{
			Dir:    filepath.Join(root, filepath.FromSlash(name)),
			Module: build.Module{Path: "example.org/" + module, Version: "v1.0.0", Dir: filepath.Join(root, module)},
		})
	}
	return all
}

// If a module contains code copied from another, the license of that code is included if the code
// is linked. A text that several modules have is included once.
func TestOf(t *testing.T) {
	packages := modules(t, map[string]string{
		"a/LICENSE": "permission\n", "a/NOTICE.txt": "made by a", "a/license.go": "package a", "a/README.md": "read", "a/LICENSES/b": "not linked",
		"a/used/copied/in/in.go": "package in", "a/used/copied/COPYING": "copyleft", "a/unused/LICENSE": "not linked",
		"b/LICENCE.md": "permission\r\n", "b/Apache-LICENSE": "permission too", "b/licensed.txt": "about cars",
		"c/PATENTS": "grant", "c/LICENSE-MIT": "permission",
	}, "b", "a/used/copied/in", "a", "c", "c")
	got, err := Of(packages)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Repeat("=", 80)
	want := `This program contains software of these modules. Their licenses follow.

    example.org/a v1.0.0
    example.org/b v1.0.0
    example.org/c v1.0.0

` + line + `
example.org/a v1.0.0: LICENSE
example.org/b v1.0.0: LICENCE.md
example.org/c v1.0.0: LICENSE-MIT

permission

` + line + `
example.org/a v1.0.0: NOTICE.txt

made by a

` + line + `
example.org/a v1.0.0: used/copied/COPYING

copyleft

` + line + `
example.org/b v1.0.0: Apache-LICENSE

permission too

` + line + `
example.org/c v1.0.0: PATENTS

grant
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A module without a license is an error, because nobody may distribute it.
func TestAModuleWithoutALicense(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"nothing":         {"a/a.go": "package a"},
		"a notice":        {"a/a.go": "package a", "a/NOTICE": "made by a"},
		"further down":    {"a/b/b.go": "package b", "a/b/LICENSE": "permission for b"},
		"only in Go code": {"a/license.go": "package a"},
	} {
		t.Run(name, func(t *testing.T) {
			one := "a"
			if name == "further down" {
				one = "a/b"
			}
			_, err := Of(modules(t, files, one))
			if err == nil || !strings.Contains(err.Error(), "example.org/a v1.0.0 has no license in") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// The notices contain the license of every module that Go recorded in a binary, and that of Go
// itself.
func TestOfARealBinary(t *testing.T) {
	const name = "../cmd/release"
	binary := filepath.Join(t.TempDir(), "release")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, name).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil || len(info.Deps) == 0 {
		t.Fatalf("the binary lists no modules: %v", err)
	}
	linked, err := build.Linked(t.Context(), ".", name, build.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Of(linked)
	if err != nil {
		t.Fatal(err)
	}
	for _, dep := range info.Deps {
		if !strings.Contains(string(got), "\n"+dep.Path+" "+dep.Version+": LICENSE") {
			t.Errorf("%s %s has no license", dep.Path, dep.Version)
		}
	}
	if !strings.Contains(string(got), "\nstdlib: LICENSE") || !strings.Contains(string(got), "The Go Authors") {
		t.Error("Go has no license")
	}
}

// All modules of the shipped programs have licenses, on every platform.
func TestShippedPrograms(t *testing.T) {
	for program, platforms := range map[string]string{
		"evenkeel": "darwin/amd64,darwin/arm64,linux/amd64,linux/arm64", "kube-scheduler": "linux/amd64,linux/arm64",
	} {
		for platform := range strings.SplitSeq(platforms, ",") {
			t.Run(program+" for "+platform, func(t *testing.T) {
				shipped, err := build.Named(program)
				if err != nil {
					t.Fatal(err)
				}
				system, arch, _ := strings.Cut(platform, "/")
				linked, err := build.Source{Dir: "../../.."}.Linked(t.Context(), shipped, build.Platform{OS: system, Arch: arch})
				if err != nil {
					t.Fatal(err)
				}
				text, err := Of(linked)
				if err != nil {
					t.Fatal(err)
				}
				for _, want := range []string{"\n    k8s.io/kubernetes v1.", "\n    stdlib\n", "third_party/forked/golang/LICENSE\n"} {
					if !strings.Contains(string(text), want) {
						t.Errorf("%q is missing", want)
					}
				}
				if strings.Contains(string(text), "github.com/evenkeel/evenkeel") {
					t.Error("our own module is listed as somebody else's")
				}
			})
		}
	}
}
