package stage

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// EarlierYAML returns the YAML blocks, in order, from the text about a legacy system with
// the given file name. The texts are not part of the checkout but next to it. If they are
// missing, it returns nothing.
func (f *Fixture) EarlierYAML(name string) []string {
	f.T.Helper()
	root, err := evenkeel.Root(f.T.Context())
	if err != nil {
		f.T.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "..", "shared", "earlier-systems", name))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		f.T.Fatal(err)
	}
	var blocks []string
	for i, part := range strings.Split("\n"+string(text), "\n```") {
		if block, isYAML := strings.CutPrefix(part, "yaml\n"); isYAML && i%2 == 1 {
			blocks = append(blocks, block+"\n")
		}
	}
	return blocks
}

// At returns Evenkeel as of an earlier commit. It skips the case if the checkout does not
// contain the commit.
func At(t *testing.T, commit string) evenkeel.Earlier {
	t.Helper()
	e, err := evenkeel.At(t.Context(), commit)
	if errors.Is(err, evenkeel.ErrNoHistory) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}
