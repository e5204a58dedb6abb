package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	at    = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	files = []File{
		{Name: "b", Mode: 0o755, Content: []byte("binary")}, {Name: "a/c", Mode: 0o644, Content: []byte("text")}, {Name: "a/", Mode: 0o755, Content: []byte{}},
	}
)

// The result does not depend on the order of files, and unpacks to the same files.
func TestTarGz(t *testing.T) {
	packed, err := TarGz(files, at)
	if err != nil {
		t.Fatal(err)
	}
	again, err := TarGz([]File{files[2], files[0], files[1]}, at)
	if err != nil || !bytes.Equal(packed, again) {
		t.Errorf("the same files in another order gave other bytes; %v", err)
	}
	unpacked, err := Untar(packed)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]File{files[2], files[1], files[0]}, unpacked); diff != "" {
		t.Errorf("unpacked (-want +got):\n%s", diff)
	}
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	if !plain.ModTime.IsZero() || plain.Name != "" {
		t.Errorf("the compression's header has the time %v and the name %q, want none", plain.ModTime, plain.Name)
	}
	header, err := tar.NewReader(plain).Next()
	if err != nil || !header.ModTime.Equal(at) || header.Typeflag != tar.TypeDir || header.Uid != 0 {
		t.Errorf("first header %+v, %v; want a folder of root's, changed at %v", header, err, at)
	}
}

func TestDuplicateNames(t *testing.T) {
	_, err := TarGz([]File{{Name: "a"}, {Name: "b"}, {Name: "a"}}, at)
	if err == nil || err.Error() != "archiving a: it is there twice" {
		t.Errorf("error %v", err)
	}
}

// A tool may write the time and its own name into an archive. Repacking the archives of two such
// runs gives the same result.
func TestRepack(t *testing.T) {
	var repacked [2][]byte
	for i := range repacked {
		var b bytes.Buffer
		compressed := gzip.NewWriter(&b)
		compressed.Comment, compressed.ModTime = "Helm", at.Add(time.Duration(i)*time.Hour)
		out := tar.NewWriter(compressed)
		header := &tar.Header{Name: "Chart.yaml", Mode: 0o644, Size: 4, ModTime: at.Add(time.Duration(i) * time.Hour), Uname: "me"}
		if err := out.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write([]byte("name")); err != nil {
			t.Fatal(err)
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		if err := compressed.Close(); err != nil {
			t.Fatal(err)
		}
		var err error
		if repacked[i], err = Repack(b.Bytes(), at); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(repacked[0], repacked[1]) {
		t.Error("two runs gave different bytes")
	}
	unpacked, err := Untar(repacked[0])
	if diff := cmp.Diff([]File{{Name: "Chart.yaml", Mode: 0o644, Content: []byte("name")}}, unpacked); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestBrokenArchives(t *testing.T) {
	packed, err := TarGz(files, at)
	if err != nil {
		t.Fatal(err)
	}
	for name, broken := range map[string][]byte{"no archive": []byte("text"), "cut off": packed[:len(packed)/2], "empty": nil} {
		t.Run(name, func(t *testing.T) {
			if _, err := Repack(broken, at); err == nil || !strings.HasPrefix(err.Error(), "unpacking") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// The list is sorted and does not contain itself. The SHA-256 of "abc" is from FIPS 180-2.
func TestSums(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"b": "abc", "a": "", SumsName: "old"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Sums(dir)
	want := "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a\n" +
		"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  b\n"
	if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
