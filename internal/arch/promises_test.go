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
	named  = regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+)`")
	tested = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Za-z0-9]+)\(`)
)

// tests lists the tests of all modules by name, those of test/cluster as
// end-to-end cases.
func tests(t *testing.T) (unit, endToEnd map[string]bool) {
	t.Helper()
	unit, endToEnd = map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
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
	return unit, endToEnd
}

// tableRows returns the cells of the rows of all tables of a document, which has
// at least so many.
func tableRows(t *testing.T, atLeast int, path ...string) [][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{root}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	within := false // a table: its first line is the heading
	for line := range strings.Lines(string(text)) {
		row := strings.HasPrefix(line, "|")
		if row && within && !strings.HasPrefix(line, "|-") {
			rows = append(rows, strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|"))
		}
		within = row
	}
	if len(rows) < atLeast {
		t.Errorf("the tables of %s have %d rows: they were not read", filepath.Join(path...), len(rows))
	}
	return rows
}

// What docs/promises.md names as the test of a promise is one, and each promise
// has one.
func TestPromisesAreTested(t *testing.T) {
	unit, endToEnd := tests(t)
	for _, cells := range tableRows(t, 20, "docs", "promises.md") {
		promise := strings.TrimSpace(cells[0])
		if len(cells) != 3 || !named.MatchString(cells[1]+cells[2]) {
			t.Errorf("no test is named for the promise %q", promise)
			continue
		}
		for cell, known := range map[string]map[string]bool{cells[1]: unit, cells[2]: endToEnd} {
			for _, name := range named.FindAllStringSubmatch(cell, -1) {
				if !known[name[1]] {
					t.Errorf("%s of the promise %q is no such test", name[1], promise)
				}
			}
		}
	}
}

// Each claim of SECURITY.md's tables is beside a test, and that test exists.
func TestThreatsAreTested(t *testing.T) {
	unit, endToEnd := tests(t)
	for _, cells := range tableRows(t, 15, "SECURITY.md") {
		proof := cells[len(cells)-1]
		if len(cells) != 3 || !named.MatchString(proof) {
			t.Errorf("no test is named for what holds %q", strings.TrimSpace(cells[0]))
		}
		for _, name := range named.FindAllStringSubmatch(proof, -1) {
			if !unit[name[1]] && !endToEnd[name[1]] {
				t.Errorf("%s, beside %q, is no such test", name[1], strings.TrimSpace(cells[0]))
			}
		}
	}
}
