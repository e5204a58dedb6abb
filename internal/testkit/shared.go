package testkit

import (
	"os"
	"path/filepath"
	"testing"
)

// EarlierSystem returns a file about an earlier system. Such files are stored next to the
// checkout, not in it. If the file is missing, the test is skipped.
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
