package build

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/hack/release/testkit"
)

func TestPlatforms(t *testing.T) {
	allowed := []Platform{{OS: "linux", Arch: "amd64"}, {OS: "linux", Arch: "arm64"}}
	cases := map[string]struct {
		list string
		want []Platform
		err  string
	}{
		"both":             {list: "linux/arm64,linux/amd64", want: []Platform{{OS: "linux", Arch: "arm64"}, {OS: "linux", Arch: "amd64"}}},
		"one":              {list: "linux/amd64", want: allowed[:1]},
		"one is not there": {list: "linux/amd64,linux/riscv64", err: `platform "linux/riscv64": allowed are linux/amd64, linux/arm64`},
		"no architecture":  {list: "linux", err: `platform "linux": allowed are linux/amd64, linux/arm64`},
		"twice":            {list: "linux/amd64,linux/amd64", err: `platform "linux/amd64" is given twice`},
		"none":             {list: "", err: `platform "": allowed are linux/amd64, linux/arm64`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Platforms(tc.list, allowed)
			if diff := cmp.Diff(tc.err, text(err)); diff != "" {
				t.Fatalf("error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("platforms (-want +got):\n%s", diff)
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestNamed(t *testing.T) {
	p, err := Named("evenkeel")
	if err != nil || p.variable != "main.version" {
		t.Errorf("evenkeel: %+v, %v", p, err)
	}
	_, err = Named("kubelet")
	if diff := cmp.Diff(`program "kubelet": allowed are evenkeel, kube-scheduler`, text(err)); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

// The commit determines the time and the revision. SOURCE_DATE_EPOCH overrides the time.
func TestCheckout(t *testing.T) {
	dir := testkit.Checkout(t, map[string]string{"a": "a"})
	revision, err := git(t.Context(), dir, "rev-parse", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	want := Source{Dir: dir, Version: "v1.2.3", Revision: revision, Time: testkit.Committed}
	got, err := Checkout(t.Context(), dir, "v1.2.3", "")
	if diff := cmp.Diff(want, got); diff != "" || err != nil || got.Dirty() {
		t.Errorf("clean: %v, dirty %v (-want +got):\n%s", err, got.Dirty(), diff)
	}
	if err := os.WriteFile(filepath.Join(dir, "b"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	want.Revision, want.Time = revision+"-dirty", time.Unix(1700000000, 0).UTC()
	got, err = Checkout(t.Context(), dir, "v1.2.3", "1700000000")
	if diff := cmp.Diff(want, got); diff != "" || err != nil || !got.Dirty() {
		t.Errorf("with a new file: %v, dirty %v (-want +got):\n%s", err, got.Dirty(), diff)
	}
}

// Without git, the time must be given.
func TestCheckoutWithoutGit(t *testing.T) {
	cases := map[string]struct{ version, epoch, err string }{
		"a time is enough":     {version: "v1", epoch: "1700000000"},
		"no time":              {version: "v1", err: "set SOURCE_DATE_EPOCH"},
		"a word for a time":    {version: "v1", epoch: "today", err: `SOURCE_DATE_EPOCH "today": want seconds since 1970, such as 1790000000`},
		"a time before 1970":   {version: "v1", epoch: "-1", err: `SOURCE_DATE_EPOCH "-1": want seconds since 1970`},
		"no version":           {epoch: "1", err: `version "": allowed are letters, digits`},
		"flags for the linker": {version: "v1 -X main.a=b", epoch: "1", err: `version "v1 -X main.a=b": allowed are letters, digits`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GIT_CEILING_DIRECTORIES", os.TempDir())
			got, err := Checkout(t.Context(), t.TempDir(), tc.version, tc.epoch)
			if (err == nil) != (tc.err == "") || !strings.Contains(text(err), tc.err) {
				t.Errorf("error %v, want %q", err, tc.err)
			}
			if err == nil && !got.Dirty() {
				t.Errorf("%+v: what has no commit cannot be clean", got)
			}
		})
	}
}

// The same sources in two folders, one of them with irrelevant changes, compile to the same bytes,
// and the program reports its version.
func TestCompile(t *testing.T) {
	files := testkit.Program("evenkeel")
	program, err := Named("evenkeel")
	if err != nil {
		t.Fatal(err)
	}
	var binaries [2][]byte
	path := filepath.Join(t.TempDir(), "evenkeel")
	for i := range binaries {
		dir := testkit.Checkout(t, files)
		files["README"] = "another commit"
		source, err := Checkout(t.Context(), dir, "v1.2.3", "")
		if err != nil {
			t.Fatal(err)
		}
		if err := source.Compile(t.Context(), program, Platform{OS: "linux", Arch: "amd64"}, path); err != nil {
			t.Fatal(err)
		}
		if binaries[i], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(binaries[0], binaries[1]) {
		t.Error("the same sources gave different bytes")
	}
	if (Platform{OS: runtime.GOOS, Arch: runtime.GOARCH}) != (Platform{OS: "linux", Arch: "amd64"}) {
		t.Skip("it cannot be run here")
	}
	out, err := exec.CommandContext(t.Context(), path).CombinedOutput()
	if diff := cmp.Diff("version v1.2.3\n", string(out)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestCompileErrors(t *testing.T) {
	dir := testkit.Checkout(t, map[string]string{"go.mod": "module example.org/a\n\ngo 1.26\n", "cmd/evenkeel/main.go": "package main\nfunc main() { nothing() }\n"})
	program, err := Named("evenkeel")
	if err != nil {
		t.Fatal(err)
	}
	source := Source{Dir: dir, Version: "v1"}
	err = source.Compile(t.Context(), program, Platform{OS: "linux", Arch: "amd64"}, filepath.Join(t.TempDir(), "a"))
	for _, want := range []string{"compiling evenkeel for linux/amd64", "cmd/evenkeel/main.go:2:15: undefined: nothing"} {
		if !strings.Contains(text(err), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
