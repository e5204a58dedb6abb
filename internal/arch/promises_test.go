package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	promised = regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+)`")
	tested   = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Za-z0-9]+)\(`)
)

// What docs/promises.md names as the test of a promise is one, and each promise
// has one.
func TestPromisesAreTested(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "promises.md"))
	if err != nil {
		t.Fatal(err)
	}
	unit, endToEnd := map[string]bool{}, map[string]bool{}
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		into := unit
		if strings.Contains(filepath.ToSlash(path), "test/cluster/") {
			into = endToEnd
		}
		for _, name := range tested.FindAllSubmatch(source, -1) {
			into[string(name[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || strings.HasPrefix(cells[1], " promise") || strings.HasPrefix(cells[1], "-") {
			continue
		}
		rows++
		if !promised.MatchString(cells[2] + cells[3]) {
			t.Errorf("no test is named for the promise %q", strings.TrimSpace(cells[1]))
		}
		for cell, known := range map[string]map[string]bool{cells[2]: unit, cells[3]: endToEnd} {
			for _, name := range promised.FindAllStringSubmatch(cell, -1) {
				if !known[name[1]] {
					t.Errorf("%s of the promise %q is no such test", name[1], strings.TrimSpace(cells[1]))
				}
			}
		}
	}
	if rows < 20 {
		t.Errorf("the table has %d promises: it was not read", rows)
	}
}
