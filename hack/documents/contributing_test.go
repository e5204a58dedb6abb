package documents

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	fenced = regexp.MustCompile("(?ms)^```.*?^```")
	// quotedPath is a path in backticks: `policy/types.go`, `strategies/<name>/<name>.go`.
	quotedPath = regexp.MustCompile("`((?:[A-Za-z0-9_.<>-]+/)+[A-Za-z0-9_.<>-]*)`")
)

// Every path in instructions exists, up to the part that readers choose.
func TestPathsOfInstructionsExist(t *testing.T) {
	for _, file := range []string{"CONTRIBUTING.md", "docs/architecture.md"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		found := quotedPath.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1)
		if len(found) < 10 {
			t.Errorf("%s names %d paths: they were not found", file, len(found))
		}
		for _, match := range found {
			there, _, chosen := strings.Cut(match[1], "<")
			if chosen {
				there = path.Dir(there + "x")
			}
			if _, err := os.Stat(filepath.Join(root, there)); err != nil {
				t.Errorf("%s: there is no %s, which `%s` is in or is", file, there, match[1])
			}
		}
	}
}
