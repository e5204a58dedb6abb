package build

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/hack/release/testkit"
)

// What is linked depends on the platform. A module that replaces another is named instead of it,
// and the program's own packages are left out.
func TestLinked(t *testing.T) {
	dir := testkit.Checkout(t, map[string]string{
		"go.mod": "module example.org/a\n\ngo 1.26\n\nrequire (\n\texample.org/b v1.0.0\n\texample.org/c v1.0.0\n)\n\n" +
			"replace (\n\texample.org/b => ./b\n\texample.org/c => ./c\n)\n",
		"cmd/evenkeel/main.go":  "package main\n\nimport (\n\t_ \"unsafe\"\n\n\t_ \"example.org/a/own\"\n\t_ \"example.org/b/in\"\n)\n\nfunc main() {}\n",
		"cmd/evenkeel/linux.go": "//go:build linux\n\npackage main\n\nimport _ \"example.org/c\"\n",
		"own/own.go":            "package own\n",
		"b/go.mod":              "module example.org/b\n", "b/in/in.go": "package in\n", "b/out/out.go": "package out\n",
		"c/go.mod": "module example.org/c\n", "c/c.go": "package c\n",
	})
	program, err := Named("evenkeel")
	if err != nil {
		t.Fatal(err)
	}
	for system, want := range map[string][]string{"darwin": {"./b: b/in"}, "linux": {"./b: b/in", "./c: c"}} {
		t.Run(system, func(t *testing.T) {
			program.With = nil
			linked, err := Source{Dir: dir}.Linked(t.Context(), program, Platform{OS: system, Arch: "arm64"})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			standard := 0
			for _, p := range linked {
				if p.Module.Path == Stdlib {
					standard++
					if !strings.HasPrefix(p.Dir, filepath.Join(p.Module.Dir, "src")) {
						t.Errorf("%q is not in Go's folder %q", p.Dir, p.Module.Dir)
					}
					continue
				}
				below, err := filepath.Rel(dir, p.Dir)
				if err != nil || !strings.HasPrefix(p.Dir, p.Module.Dir) {
					t.Errorf("%q is not in its module's folder %q: %v", p.Dir, p.Module.Dir, err)
				}
				got = append(got, p.Module.String()+": "+below)
			}
			if diff := cmp.Diff(want, got); diff != "" || standard == 0 {
				t.Errorf("%d packages of Go's own (-want +got)\n%s", standard, diff)
			}
		})
	}
}

func TestLinkedErrors(t *testing.T) {
	dir := testkit.Checkout(t, map[string]string{"go.mod": "module example.org/a\n\ngo 1.26\n"})
	_, err := Linked(t.Context(), dir, "./cmd/evenkeel", Platform{OS: "linux", Arch: "amd64"})
	if err == nil || !strings.Contains(err.Error(), "listing the packages of ./cmd/evenkeel for linux/amd64: ") {
		t.Errorf("error %v", err)
	}
}

// The linked packages include those of programs that ship with a program. The repository's own
// packages are left out, even though such a program is in a nested module.
func TestLinkedWithAnotherProgram(t *testing.T) {
	dir := testkit.Checkout(t, testkit.Program("evenkeel"))
	program, err := Named("evenkeel")
	if err != nil {
		t.Fatal(err)
	}
	linked, err := Source{Dir: dir}.Linked(t.Context(), program, Platform{OS: "linux", Arch: "arm64"})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range linked {
		if p.Module.Path != Stdlib {
			t.Errorf("%s is attributed to another module: %s", p.Dir, p.Module)
		}
	}
	alone, err := Linked(t.Context(), dir, "./cmd/evenkeel", Platform{OS: "linux", Arch: "arm64"})
	if err != nil || len(linked) <= len(alone) {
		t.Errorf("%d packages with the other program, %d without: %v", len(linked), len(alone), err)
	}
}
