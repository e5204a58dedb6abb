package main

import (
	"os"
	"path/filepath"
	"testing"
)

// Only the seccomp profile is taken out of a container's settings; numbers keep all their
// digits.
func TestWithoutSeccomp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	before := `{"linux":{"resources":{"memory":{"limit":9007199254740993}},"seccomp":{"defaultAction":"SCMP_ACT_ERRNO"}},"ociVersion":"1.2.1"}`
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := withoutSeccomp(path); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"linux":{"resources":{"memory":{"limit":9007199254740993}}},"ociVersion":"1.2.1"}`; string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
}
