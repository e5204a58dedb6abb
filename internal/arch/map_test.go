package arch

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mapRow is a line of the table of rooms in docs/architecture.md: the room,
// whether it is marked pure, what is inside.
var mapRow = regexp.MustCompile("(?m)^\\| `([a-z0-9/*-]+)` \\| (✓?) ?\\| \\S.*\\|$")

// The map shows each room once, pure rooms as such, and none that is not there.
// A row such as usage/* is for the rooms there that are not pure and have no row
// of their own.
func TestTheMapShowsTheRooms(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	var shown, have []string
	siblings := map[string]bool{}
	for _, row := range mapRow.FindAllStringSubmatch(string(text), -1) {
		shown = append(shown, describe(row[1], row[2] != ""))
	}
	for _, pkg := range packages(t) {
		row := describe(pkg.room, isPure(pkg.room))
		switch together := path.Dir(pkg.room) + "/*"; {
		case within(pkg.room, "hack"):
		case isPure(pkg.room) || slices.Contains(shown, row) || !slices.Contains(shown, together):
			have = append(have, row)
		case !siblings[together]:
			siblings[together] = true
			have = append(have, together)
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
