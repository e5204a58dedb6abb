package testkit

import (
	"os"
	"path/filepath"
	"testing"
)

// EarlierSystem returns the text about an earlier system with that file name,
// which stands beside the checkout and not in it; the test is skipped where it
// does not.
func EarlierSystem(t *testing.T, name string) []byte {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		text, err := os.ReadFile(filepath.Join(folder, "..", "shared", "earlier-systems", name))
		if err == nil {
			return text
		}
		above := filepath.Dir(folder)
		if above == folder {
			t.Skipf("the text %q about an earlier system is not here", name)
		}
		folder = above
	}
}
