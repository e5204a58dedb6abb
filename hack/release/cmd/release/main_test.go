package main

import (
	"bytes"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/hack/release/archive"
	"github.com/evenkeel/evenkeel/hack/release/testkit"
)

// checkout returns the source of a release, with a program that compiles fast.
func checkout(t *testing.T) string {
	t.Helper()
	files := testkit.Program("evenkeel")
	files["CHANGELOG.md"] = "# Changes\n\n## [Unreleased]\n\n## [1.2.3] - 2026-03-04\n\nAll new.\n"
	return testkit.Checkout(t, files)
}

// released runs the command into a new folder and returns its files.
func released(t *testing.T, args ...string) map[string][]byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "v1.2.3")
	if err := run(t.Context(), append([]string{"--version", "v1.2.3", "--out", out}, args...), io.Discard); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, entry := range entries {
		if files[entry.Name()], err = os.ReadFile(filepath.Join(out, entry.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// packaged returns a chart as helm packages it, with a different time in each run.
func packaged(t *testing.T, days int) string {
	t.Helper()
	at := testkit.Committed.AddDate(0, 0, days)
	content, err := archive.TarGz([]archive.File{{Name: "evenkeel/Chart.yaml", Mode: 0o644, Content: []byte("name: evenkeel\n")}}, at)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "evenkeel-1.2.3.tgz")
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// Two checkouts in two folders, and two packaged charts, result in the same release, byte for byte.
// The release has a checksum of each file, and krew's manifest has those of the archives.
func TestRelease(t *testing.T) {
	const platforms = "linux/amd64,darwin/arm64"
	files := released(t, "--source", checkout(t), "--platforms", platforms, "--chart", packaged(t, 1))
	again := released(t, "--source", checkout(t), "--platforms", platforms, "--chart", packaged(t, 2))
	for name, content := range files {
		if !bytes.Equal(content, again[name]) {
			t.Errorf("%s is not the same when it is made again", name)
		}
	}
	want := []string{
		"NOTES.md", "SHA256SUMS", "evenkeel-1.2.3.tgz", "evenkeel-sim-v1.2.3-darwin-arm64.cdx.json", "evenkeel-sim-v1.2.3-linux-amd64.cdx.json", "evenkeel-v1.2.3-darwin-arm64.cdx.json", "evenkeel-v1.2.3-darwin-arm64.tar.gz",
		"evenkeel-v1.2.3-linux-amd64.cdx.json", "evenkeel-v1.2.3-linux-amd64.tar.gz", "krew-evenkeel.yaml",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(files))); diff != "" {
		t.Fatalf("files (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("All new.\n", string(files["NOTES.md"])); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	for _, name := range want {
		if line := archive.Sum(files[name]) + "  " + name + "\n"; name != "SHA256SUMS" && !bytes.Contains(files["SHA256SUMS"], []byte(line)) {
			t.Errorf("the checksums lack %s", line)
		}
		if strings.HasSuffix(name, ".tar.gz") {
			checkArchive(t, name, files)
		}
	}
}

func checkArchive(t *testing.T, name string, files map[string][]byte) {
	t.Helper()
	for _, line := range []string{
		"uri: https://github.com/evenkeel/evenkeel/releases/download/v1.2.3/" + name + "\n", "sha256: " + archive.Sum(files[name]) + "\n",
	} {
		if !bytes.Contains(files["krew-evenkeel.yaml"], []byte(line)) {
			t.Errorf("krew's manifest lacks %s", line)
		}
	}
	unpacked, err := archive.Untar(files[name])
	if err != nil {
		t.Fatal(err)
	}
	var entries []string
	for _, f := range unpacked {
		entries = append(entries, f.Name)
		if strings.HasPrefix(f.Name, "evenkeel") && (f.Mode != 0o755 || !bytes.Contains(f.Content, []byte("v1.2.3"))) {
			t.Errorf("%s: the program has mode %o, or not the version", name, f.Mode)
		}
		if f.Name == "THIRD_PARTY_NOTICES" && !bytes.Contains(f.Content, []byte("\nstdlib: LICENSE\n")) {
			t.Errorf("%s: the notices lack the license of Go's library:\n%s", name, f.Content)
		}
	}
	if diff := cmp.Diff([]string{"LICENSE", "THIRD_PARTY_NOTICES", "evenkeel", "evenkeel-sim"}, entries); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
	for _, entry := range entries {
		if line := "    - from: " + entry + "\n"; !bytes.Contains(files["krew-evenkeel.yaml"], []byte(line)) {
			t.Errorf("krew installs the archive without %s", entry)
		}
	}
	bill := strings.TrimSuffix(name, ".tar.gz") + ".cdx.json"
	if !bytes.Contains(files[bill], []byte(`"purl": "pkg:golang/stdlib@`)) {
		t.Errorf("%s does not list Go's library:\n%s", bill, files[bill])
	}
}

func TestWhatIsNotReleased(t *testing.T) {
	clean, changed := checkout(t), checkout(t)
	if err := os.WriteFile(filepath.Join(changed, "new"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	used := t.TempDir()
	if err := os.WriteFile(filepath.Join(used, "old.tar.gz"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	chart := filepath.Join(t.TempDir(), "evenkeel-1.2.2.tgz")
	if err := os.WriteFile(chart, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		args []string
		want string
	}{
		"no version":              {want: `version "": want one such as v1.2.3`},
		"a version without notes": {args: []string{"--version", "v9.0.0"}, want: `CHANGELOG.md: there is no section "9.0.0"`},
		"changed files":           {args: []string{"--version", "v1.2.3", "--source", changed}, want: "files differ from the commit"},
		"no checkout":             {args: []string{"--version", "v1.2.3", "--source", used}, want: "looking for what a release needs"},
		"an old folder":           {args: []string{"--version", "v1.2.3", "--out", used}, want: "has files: want an empty folder"},
		"no folder":               {args: []string{"--version", "v1.2.3", "--out", ""}, want: "--out is missing"},
		"a platform":              {args: []string{"--version", "v1.2.3", "--platforms", "plan9/arm"}, want: `platform "plan9/arm": allowed are darwin/amd64, darwin/arm64, linux/amd64, linux/arm64`},
		"another version's chart": {args: []string{"--version", "v1.2.3", "--chart", chart}, want: "want evenkeel-1.2.3.tgz, with the version of the release"},
		"an argument":             {args: []string{"v1.2.3"}, want: `arguments ["v1.2.3"]: there are only flags`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"--source", clean, "--out", filepath.Join(t.TempDir(), "out")}, tc.args...)
			if err := run(t.Context(), args, io.Discard); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
}
