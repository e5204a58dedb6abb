package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mapRow is a line of the table of rooms in docs/architecture.md: the room,
// whether it is marked pure, what is inside.
var mapRow = regexp.MustCompile("(?m)^\\| `([a-z0-9/-]+)` \\| (✓?) ?\\| \\S.*\\|$")

// The map shows each room once, pure rooms as such, and none that is not there.
func TestTheMapShowsTheRooms(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	var shown, have []string
	for _, row := range mapRow.FindAllStringSubmatch(string(text), -1) {
		shown = append(shown, describe(row[1], row[2] != ""))
	}
	for _, pkg := range packages(t) {
		if !within(pkg.room, "hack") {
			have = append(have, describe(pkg.room, isPure(pkg.room)))
		}
	}
	slices.Sort(shown)
	slices.Sort(have)
	if diff := cmp.Diff(have, shown); diff != "" {
		t.Errorf("docs/architecture.md's table of rooms (-code +table):\n%s", diff)
	}
}

func describe(room string, pure bool) string {
	if pure {
		return room + ", pure"
	}
	return room
}
